"""Shared by the random tests of builds: rounds with regular reports, and a command line."""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

EVERY = 10
"""Rounds between reports."""


class Rounds(Protocol):
    """`counts`: the events so far. A round raises AssertionError if builds differ."""

    counts: Counter[str]

    def round(self, number: int) -> None: ...


def run_rounds(rounds: Rounds, builds: int) -> Counter[str]:
    """Run rounds, and report progress on stderr. Returns the counts."""
    for number in range(builds):
        rounds.round(number)
        if (number + 1) % EVERY == 0:
            output = ", ".join(f"{count} {name}" for name, count in sorted(rounds.counts.items()))
            print(
                f"{number + 1} of {builds} builds without a difference: {output}",
                file=sys.stderr,
                flush=True,
            )
    return rounds.counts


def main(soak: Callable[[Path, int, int], Counter[str]]) -> None:
    """Run with `[BUILDS] [SEED]` of the command line, by default 500 and 0, and
    print the counts.
    """
    arguments = [int(value) for value in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as scratch:
        counts = soak(Path(scratch), *(arguments + [500, 0][len(arguments) :]))
    print("\n".join(f"{number:7d} {name}" for name, number in sorted(counts.items())))
