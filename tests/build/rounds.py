"""Shared by the soaks of builds: rounds with a report now and then, and a command line."""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

EVERY = 10
"""Rounds between reports."""


class Rounds(Protocol):
    """`counts` are the events so far. A round raises AssertionError where builds differ."""

    counts: Counter[str]

    def round(self, number: int) -> None: ...


def run_rounds(made: Rounds, builds: int) -> Counter[str]:
    """Run rounds, and report on stderr. Returns the counts."""
    for number in range(builds):
        made.round(number)
        if (number + 1) % EVERY == 0:
            output = ", ".join(f"{count} {name}" for name, count in sorted(made.counts.items()))
            print(
                f"{number + 1} of {builds} builds without a difference: {output}",
                file=sys.stderr,
                flush=True,
            )
    return made.counts


def main(soak: Callable[[Path, int, int], Counter[str]]) -> None:
    """Run `[BUILDS] [SEED]` of the command line, by default 500 and 0, and print the counts."""
    given = [int(value) for value in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as scratch:
        counted = soak(Path(scratch), *(given + [500, 0][len(given) :]))
    print("\n".join(f"{number:7d} {name}" for name, number in sorted(counted.items())))
