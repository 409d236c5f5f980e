"""Random edits of a checkout. After each edit, an incremental build must have the same result, byte
for byte, as a clean build.

`python -m tests.build.soak [EDITS] [SEED] [MODEL]`. MODEL is `toy`, whose stages take no time, or
`digits`.
"""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.build.edited_project import Soak


def soak(folder: Path, edits: int, seed: int, model: str = "toy") -> Counter[str]:
    """Make random edits and compare after each. Returns the number of each edit and each kind of
    build. Raises AssertionError for a difference.
    """
    run = Soak(folder, seed, model)
    history: list[str] = []
    try:
        for number in range(edits):
            history.append(run.edit())
            try:
                build = run.check()
            except AssertionError as error:
                raise AssertionError(
                    f"seed {seed}, edit {number} of {model}: {error}; the last edits:"
                    f" {', '.join(history[-8:])}"
                ) from error
            run.counts.update((history[-1], f"built {build}"))
            if sys.stdout.isatty() or (number + 1) % 50 == 0:
                print(f"{number + 1} of {edits} edits of {model} without a difference", flush=True)
    finally:
        run.close()
    return run.counts


def main() -> None:
    edits, seed = (
        int(sys.argv[1]) if len(sys.argv) > 1 else 1000,
        int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 1_000_000,
    )
    for model, count in (
        [(sys.argv[3], edits)]
        if len(sys.argv) > 3
        else [("toy", edits - edits // 10), ("digits", edits // 10)]
    ):
        with tempfile.TemporaryDirectory() as folder:
            for event, times in sorted(soak(Path(folder), count, seed, model).items()):
                print(f"  {times:5} {event}")


if __name__ == "__main__":
    main()
