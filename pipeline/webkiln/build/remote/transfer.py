"""Receiving a blob into a file: an interrupted transfer is continued, and what arrived is hashed."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from webkiln.build.action import Blob
from webkiln.build.files import beside
from webkiln.build.remote.remote import CHUNK, Remote, RemoteError
from webkiln.errors import OutputError


@contextmanager
def alone(path: Path) -> Iterator[BinaryIO]:
    """A file to continue, or another one beside it where another process is writing to it."""
    file = path.open("ab+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        free = False  # locked, or taken over by the store since it was opened
    if not free:
        file.close()
        file = beside(path).open("ab+")
    with file:
        yield file


def received(remote: Remote, blob: Blob, file: BinaryIO) -> bool:
    """Read what a file lacks of a blob; whether it then has the bytes. One that was begun earlier
    is
    read overwrite where they are others. Raises RemoteError where it ends early, OutputError where the
    file cannot be written.
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
    """Read a blob from `size` on; the size that the file then has, too large by one chunk at most."""
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
