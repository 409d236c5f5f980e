"""The content-addressed store: blobs named by their SHA-256. The digest is checked on each read."""

import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from webkiln import canonical
from webkiln.build.action import Blob
from webkiln.build.files import temporary_path, writing
from webkiln.build.remote.shared import SharedCache
from webkiln.errors import OutputError


class Store(Protocol):
    def has(self, blob: Blob) -> bool:
        """Whether a blob exists or is likely available. Does not read it."""

    def fetch(self, blobs: Collection[Blob]) -> None:
        """Download the blobs that are not on this machine, if they are available."""

    def put(self, path: Path) -> Blob:
        """Move the bytes of a file into the store."""

    def materialise(self, blob: Blob, path: Path, *, own: bool) -> bool:
        """Write the blob to `path`. False if it is missing or damaged; then nothing is written.

        With `own`, the caller may change the file; else it may share its bytes with the store.
        """


class LocalStore:
    """A folder of read-only files `ab/abcd...`. Blobs that only the remote cache has are marked by
    empty files `elsewhere/ab/abcd...`, and downloaded when their bytes are needed. Blobs of `base`,
    a folder of the same kind, are read and never changed.
    """

    def __init__(
        self, root: Path, shared: SharedCache | None = None, base: Path | None = None
    ) -> None:
        self.root = root
        self._base = base
        self._damaged: set[str] = set()
        self.elsewhere = root.with_name("elsewhere")
        self._shared = shared

    def path(self, sha256: str) -> Path:
        """The file of a blob, if it exists."""
        own = self._own(sha256)
        if (
            self._base is not None
            and sha256 not in self._damaged
            and not own.exists()
            and (other := self._base / sha256[:2] / sha256).exists()
        ):
            return other
        return own

    def _own(self, sha256: str) -> Path:
        return self.root / sha256[:2] / sha256

    def file(self, blob: Blob) -> Path:
        """The file of a blob, downloaded if necessary. Raises OutputError where it is not
        available.
        """
        self.fetch([blob])
        if not self.is_here(blob):
            raise OutputError(
                f"{self.root}: the blob {blob.sha256} is gone; build again to recreate it"
            )
        return self.path(blob.sha256)

    def read(self, blob: Blob) -> bytes | None:
        """The bytes of a small blob, downloaded if necessary; None where they are missing or
        damaged.
        """
        self.fetch([blob])
        return self.path(blob.sha256).read_bytes() if self._intact(blob) else None

    def has(self, blob: Blob) -> bool:
        return self.is_here(blob) or self._is_elsewhere(blob)

    def mark_remote(self, blobs: Iterable[Blob]) -> None:
        """Mark these as available in the remote cache."""
        with writing(self.elsewhere):
            for blob in blobs:
                if not self.is_here(blob):
                    mark = self._mark(blob)
                    mark.parent.mkdir(parents=True, exist_ok=True)
                    mark.touch()

    def unmark_remote(self, digests: Iterable[str]) -> None:
        """Remove the marks of blobs that the remote cache does not have."""
        for sha256 in digests:
            (self.elsewhere / sha256[:2] / sha256).unlink(missing_ok=True)

    def fetch(self, blobs: Collection[Blob]) -> None:
        missing = [blob for blob in blobs if not self.is_here(blob) and self._is_elsewhere(blob)]
        if not missing or self._shared is None:
            return
        with writing(self.root):
            self._shared.download(missing, self._partial, self._keep)
        for blob in missing:
            self._mark(blob).unlink(missing_ok=True)

    def put(self, path: Path) -> Blob:
        blob = Blob(canonical.file_digest(path), path.stat().st_size)
        if self._intact(blob):
            path.unlink()
            return blob
        self._keep(blob, path)
        return blob

    def materialise(self, blob: Blob, path: Path, *, own: bool) -> bool:
        self.fetch([blob])
        if not self._intact(blob):
            return False
        source = self.path(blob.sha256)
        with suppress(OSError):  # another user owns it, or it is read-only
            os.utime(source, (time.time(), source.stat().st_mtime))
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
        return _names(self.root)

    def marked(self) -> Iterator[Path]:
        """The marks of blobs that only the remote cache has."""
        return (self.elsewhere / name[:2] / name for name in _names(self.elsewhere))

    def _keep(self, blob: Blob, path: Path) -> None:
        """Move a file whose bytes have this digest into the store."""
        target = self._own(blob.sha256)
        with writing(self.root):
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = temporary_path(target)
            try:
                shutil.move(path, temporary)
                temporary.chmod(0o444)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

    def is_here(self, blob: Blob) -> bool:
        """Whether a blob's bytes are on this machine."""
        try:
            return os.stat(self.path(blob.sha256)).st_size == blob.bytes
        except OSError:
            return False

    def _is_elsewhere(self, blob: Blob) -> bool:
        return (
            self._shared is not None and self._shared.may_have(blob) and self._mark(blob).exists()
        )

    def _mark(self, blob: Blob) -> Path:
        return self.elsewhere / blob.sha256[:2] / blob.sha256

    def _partial(self, blob: Blob) -> Path:
        """The file of an incomplete download."""
        path = self.root.with_name("arriving") / blob.sha256
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _intact(self, blob: Blob) -> bool:
        """Read and check a blob. A damaged one is removed."""
        path = self.path(blob.sha256)
        try:
            if path.stat().st_size == blob.bytes and canonical.file_digest(path) == blob.sha256:
                return True
        except OSError:
            return False
        self._own(blob.sha256).unlink(missing_ok=True)
        self._damaged.add(blob.sha256)  # a blob of `base` cannot be removed
        return False


def _names(root: Path) -> Iterator[str]:
    for path in sorted(root.glob("??/*")):
        if not path.name.startswith("."):
            yield path.name
