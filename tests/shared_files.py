"""Files that one worker of a test run creates and all of them read."""

from collections.abc import Callable
from pathlib import Path

from filelock import FileLock


def create_once(path: Path, create: Callable[[Path], None]) -> Path:
    """Return `path`, after the first process has created it with `create`. Other processes wait. If
    `create` raises, no file remains, and the next caller tries again.
    """
    with FileLock(f"{path}.lock"):
        if not path.exists():
            unfinished = path.with_name(f"unfinished-{path.name}")
            create(unfinished)
            unfinished.replace(path)
    return path
