"""The content-addressed store: bytes by their SHA-256. What a blob's name says is checked whenever it is read."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from webkiln import canonical
from webkiln.build.action import Blob
from webkiln.build.files import beside, writing


class Store(Protocol):
    def has(self, blob: Blob) -> bool:
        """Whether a blob of this digest and size is there; does not read it."""

    def put(self, path: Path) -> Blob:
        """Take over the bytes of a file, which is gone afterwards."""

    def materialise(self, blob: Blob, path: Path, *, own: bool) -> bool:
        """Write the blob to `path`; False, and nothing written, where it is missing or damaged.

        With `own` the caller may change the file; else it may share its bytes with the store.
        """


class LocalStore:
    """A folder of read-only files `ab/abcd...`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, sha256: str) -> Path:
        return self.root / sha256[:2] / sha256

    def has(self, blob: Blob) -> bool:
        try:
            return os.stat(self.path(blob.sha256)).st_size == blob.bytes
        except OSError:
            return False

    def put(self, path: Path) -> Blob:
        blob = Blob(canonical.file_digest(path), path.stat().st_size)
        target = self.path(blob.sha256)
        if self._intact(blob):
            path.unlink()
            return blob
        with writing(self.root):
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = beside(target)
            try:
                shutil.move(path, temporary)
                temporary.chmod(0o444)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
        return blob

    def materialise(self, blob: Blob, path: Path, *, own: bool) -> bool:
        if not self._intact(blob):
            return False
        source = self.path(blob.sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not own:
            try:
                os.link(source, path)
            except OSError:
                shutil.copyfile(source, path)
            return True
        shutil.copyfile(source, path)
        return True

    def digests(self) -> Iterator[str]:
        for path in sorted(self.root.glob("??/*")):
            if not path.name.startswith("."):
                yield path.name

    def _intact(self, blob: Blob) -> bool:
        """Read and check a blob; a damaged one is removed."""
        path = self.path(blob.sha256)
        try:
            if path.stat().st_size == blob.bytes and canonical.file_digest(path) == blob.sha256:
                return True
        except OSError:
            return False
        path.unlink(missing_ok=True)
        return False
