"""The interface of remote caches: entries by key, and blobs by their SHA-256. Nothing that comes
from one is trusted.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from webkiln.build.action import Blob

CHUNK = 1 << 20
ANSWER_SECONDS = 10.0
"""The maximal time until an answer, or the next part of one."""
SLOWEST = 10_000
"""Bytes a second. A transfer that is slower on average is aborted."""


class RemoteError(Exception):
    """A request to a remote failed. The message contains its answer."""


class UnreachableError(RemoteError):
    """No answer in time."""


class DeniedError(RemoteError):
    """It requires authentication, or denies access."""


class AbsentError(RemoteError):
    """It does not have the requested entry or blob."""


class FullError(RemoteError):
    """It has no space for more."""


class LargeError(RemoteError):
    """It rejects a file of this size."""


class Remote(Protocol):
    """Methods are called from several threads and raise RemoteError."""

    def entry(self, key: str) -> bytes | None:
        """The entry of a key, if it exists."""

    def create(
        self, key: str, entry: bytes, blobs: Sequence[Blob], *, overwrite: bool = False
    ) -> None:
        """Create an entry that names `blobs`, which are stored already. Without `overwrite`, an
        entry that another writer has created meanwhile stays, if the protocol can express that.
        """

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        """The blobs that are not stored."""

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        """The bytes of a blob from `start` on, in parts. Raises RemoteError where it is missing."""

    def write(self, blob: Blob, path: Path) -> None:
        """Store the bytes of a file."""

    def close(self) -> None: ...


def parts(path: Path, size: int = CHUNK) -> Iterator[bytes]:
    """The bytes of a file, `size` at a time."""
    with path.open("rb") as file:
        while chunk := file.read(size):
            yield chunk
