"""What a remote cache is: entries by key, and blobs by their SHA-256. Nothing that comes from one
is trusted.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from webkiln.build.action import Blob

CHUNK = 1 << 20
ANSWER_SECONDS = 10.0
"""An answer, or the next part of one, may take so long."""
SLOWEST = 10_000
"""Bytes a second; a transfer that is slower on average is given up."""


class RemoteError(Exception):
    """What a remote does not do; the message says what it answered."""


class UnreachableError(RemoteError):
    """No answer, or not in time."""


class DeniedError(RemoteError):
    """It wants to know who asks, or does not let them."""


class AbsentError(RemoteError):
    """It does not have what it is asked for."""


class FullError(RemoteError):
    """It takes no more."""


class LargeError(RemoteError):
    """It does not take a file of this size."""


class Remote(Protocol):
    """Methods are called from several threads and raise RemoteError."""

    def entry(self, key: str) -> bytes | None:
        """The entry of a key, if there is one."""

    def create(
        self, key: str, entry: bytes, blobs: Sequence[Blob], *, overwrite: bool = False
    ) -> None:
        """Make an entry that names `blobs`, which are there. Unless it is made `overwrite`, one that
        another writer has made meanwhile stays, where the protocol has a condition for that.
        """

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        """Those of the blobs that are not there."""

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        """The bytes of a blob from `start` on, in parts. Raises RemoteError where it is not there."""

    def write(self, blob: Blob, path: Path) -> None:
        """Store the bytes of a file."""

    def close(self) -> None: ...


def parts(path: Path, size: int = CHUNK) -> Iterator[bytes]:
    """The bytes of a file, `size` at a time."""
    with path.open("rb") as file:
        while chunk := file.read(size):
            yield chunk
