"""Digests of files, remembered by (path, inode, size, mtime, ctime), so that a null build reads no
file.
"""

import os
import time
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from webkiln import canonical
from webkiln.build.file_stamps import TICK_SECONDS, Stamp, is_fresh, stamp
from webkiln.build.files import write_atomic
from webkiln.errors import RecipeError

DIGESTS = "digests.json"
"""The name of the file in a tree's state folder."""
STAMP_MARGIN_NS = 2_000_000_000
ATTEMPTS = 100


class FileState(NamedTuple):
    """The state of a file when it was read: the SHA-256 of its bytes, a stamp that every later
    change replaces, and the time of reading in seconds since the epoch.
    """

    sha256: str
    stamp: Stamp
    time: float

    @property
    def changed(self) -> float:
        """When the file was last changed."""
        return self.stamp[3] / 1e9


class FileDigests:
    """Remembers the content digests of files outside the store.

    Files younger than two seconds are always read: two edits within one tick of the clock leave
    equal stamps.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._dirty = False
        self._rows: dict[str, list[Any]] = {}
        try:
            self._rows = dict(canonical.read(path)["files"])
        except (OSError, ValueError, KeyError, TypeError):
            self._dirty = True

    def digest(self, path: Path) -> str:
        """The SHA-256 of a file's bytes. Raises OSError where the file does not exist."""
        name = os.fspath(path)
        stat = os.stat(name)
        current = [stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
        row = self._rows.get(name)
        if row is not None and row[:4] == current:
            return str(row[4])
        value = canonical.file_digest(path)
        if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > STAMP_MARGIN_NS:
            with self._lock:
                self._rows[name] = [*current, value]
                self._dirty = True
        return value

    def observe(self, path: Path) -> FileState:
        """Read a file that may be changing. Raises OSError where it does not exist, RecipeError
        where it keeps changing.
        """
        name = os.fspath(path)
        for _ in range(ATTEMPTS):
            now, before = time.time(), stamp(name)
            value = self.digest(path)
            if before is not None and stamp(name) == before and not is_fresh(before, now):
                return FileState(value, before, now)
            time.sleep(TICK_SECONDS)
        raise RecipeError(
            f"{path}: keeps changing while it is read; build again when it is written"
        )

    def stamp_of(self, path: Path, digest: str) -> Stamp | None:
        """The stamp of a file if its remembered digest is this one, else None."""
        row, current = self._rows.get(os.fspath(path)), stamp(os.fspath(path))
        matches = row is not None and current is not None and row == [*current, digest]
        return current if matches else None

    def save(self) -> None:
        if self._dirty:
            with self._lock:
                write_atomic(self._path, canonical.dumps({"files": self._rows}))
                self._dirty = False
