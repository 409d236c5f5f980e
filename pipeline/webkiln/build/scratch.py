"""Scratch folders. Each has a lock file next to it that the operating system releases when the
owning process ends, however it ends.
"""

import fcntl
import os
import shutil
import weakref
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from webkiln.build.files import writing

LOCK = ".lock"


class Scratch:
    """A new folder in `parent`, locked until `close` removes it."""

    def __init__(self, parent: Path, prefix: str = "") -> None:
        self.folder = parent / f"{prefix}{os.getpid()}-{token_hex(6)}"
        lock = _lock_of(self.folder)
        with writing(parent):
            parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self.close = weakref.finalize(self, _remove, self.folder, lock, descriptor)
            self.folder.mkdir()


def sweep(parent: Path, limit: float) -> None:
    """Remove the folders in `parent` that were last changed before `limit` and whose process has
    ended.
    """
    for path in sorted(parent.glob("*")):
        if path.suffix == LOCK and path.with_suffix("").exists():
            continue
        folder, lock = (
            (path.with_suffix(""), path) if path.suffix == LOCK else (path, _lock_of(path))
        )
        with suppress(FileNotFoundError):
            if path.stat().st_mtime >= limit:
                continue
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
            else:
                _remove(folder, lock, descriptor)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + LOCK)


def _remove(folder: Path, lock: Path, descriptor: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        lock.unlink()
    os.close(descriptor)
