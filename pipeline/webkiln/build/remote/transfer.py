"""Downloads a blob into a file. Interrupted downloads are continued, and the bytes are hashed."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from webkiln.build.action import Blob
from webkiln.build.files import temporary_path
from webkiln.build.remote.remote import CHUNK, Remote, RemoteError
from webkiln.errors import OutputError


@contextmanager
def alone(path: Path) -> Iterator[BinaryIO]:
    """A file to continue, or a new one next to it if another process is writing to it."""
    file = path.open("ab+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        free = False  # locked, or moved into the store since it was opened
    if not free:
        file.close()
        file = temporary_path(path).open("ab+")
    with file:
        yield file


def received(remote: Remote, blob: Blob, file: BinaryIO) -> bool:
    """Download the missing bytes of a blob. Whether the file then matches the digest. An earlier
    part that does not match is downloaded again. Raises RemoteError where the blob ends early,
    OutputError where the file cannot be written.
    """
    digest, size = _content(file)
    resumed = size > 0
    if size < blob.bytes:
        size = _append(remote, blob, size, file, digest)
    if resumed and (size, digest.hexdigest()) != (blob.bytes, blob.sha256):
        file.truncate(0)
        digest = hashlib.sha256()
        size = _append(remote, blob, 0, file, digest)
    return (size, digest.hexdigest()) == (blob.bytes, blob.sha256)


def _content(file: BinaryIO) -> tuple["hashlib._Hash", int]:
    file.seek(0)
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
    return digest, size


def _append(remote: Remote, blob: Blob, size: int, file: BinaryIO, digest: "hashlib._Hash") -> int:
    """Read a blob from `size` on. Returns the size of the file, at most one chunk too large."""
    for chunk in remote.read(blob, size):
        try:
            file.write(chunk)
        except OSError as error:
            raise OutputError(
                f"{file.name}: cannot be written: {error.strerror}; free space"
            ) from error
        digest.update(chunk)
        size += len(chunk)
        if size > blob.bytes:
            break
    file.flush()
    if size < blob.bytes:
        raise RemoteError(f"{blob.sha256} ended after {size} of {blob.bytes} bytes")
    return size
