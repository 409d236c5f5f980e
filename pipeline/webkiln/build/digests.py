"""Digests of files, remembered by (path, inode, size, mtime, ctime) so that a no-op build reads no file twice."""

import os
import time
from pathlib import Path
from threading import Lock
from typing import Any

from webkiln import canonical
from webkiln.build.files import write_atomic

SETTLED_NS = 2_000_000_000


class FileDigests:
    """The memo behind every content digest of a file outside the store.

    A file younger than two seconds is read every time: two edits within one tick of the clock leave equal stamps.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._dirty = False
        self._rows: dict[str, list[Any]] = {}
        self._derived: dict[str, Any] = {}
        try:
            data = canonical.read(path)
            self._rows, self._derived = dict(data["files"]), dict(data["derived"])
        except (OSError, ValueError, KeyError, TypeError):
            self._dirty = True

    def digest(self, path: Path) -> str:
        """The SHA-256 of a file's bytes; raises OSError where there is no such file."""
        name = os.fspath(path)
        stat = os.stat(name)
        stamp = [stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
        row = self._rows.get(name)
        if row is not None and row[:4] == stamp:
            return str(row[4])
        value = canonical.file_digest(path)
        if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > SETTLED_NS:
            with self._lock:
                self._rows[name] = [*stamp, value]
                self._dirty = True
        return value

    def derived(self, key: str) -> Any:
        """Something computed from content alone, stored under a key that names the content; None if unknown."""
        return self._derived.get(key)

    def remember(self, key: str, value: Any) -> None:
        with self._lock:
            self._derived[key] = value
            self._dirty = True

    def save(self) -> None:
        if self._dirty:
            with self._lock:
                write_atomic(self._path, canonical.dumps({"files": self._rows, "derived": self._derived}))
                self._dirty = False
