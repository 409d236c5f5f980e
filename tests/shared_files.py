"""Files that one worker of a test run makes, and all of them read."""

from collections.abc import Callable
from pathlib import Path

from filelock import FileLock


def made_once(path: Path, make: Callable[[Path], None]) -> Path:
    """The file at `path`, which the first process that asks writes by `make`, while others wait for
    it. Where `make` raises, there is none, and the next one that asks tries again.
    """
    with FileLock(f"{path}.lock"):
        if not path.exists():
            unfinished = path.with_name(f"unfinished-{path.name}")
            make(unfinished)
            unfinished.replace(path)
    return path
