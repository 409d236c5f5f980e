"""A folder as a remote cache, such as one on a network file system: `ac/` contains entries, `cas/`
blobs.

Only regular files below the folder are read. Links are not followed, and pipes and devices do not
block.
"""

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EDQUOT, ELOOP, ENOSPC, ENOTDIR
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from webkiln.build.action import Blob
from webkiln.build.remote.entries import LARGEST
from webkiln.build.remote.remote import (
    CHUNK,
    AbsentError,
    DeniedError,
    FullError,
    RemoteError,
    UnreachableError,
    parts,
)

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderRemote:
    def __init__(self, root: Path) -> None:
        self.root = root
        if not root.is_dir():
            raise UnreachableError(f"the folder {root} does not exist")

    def entry(self, key: str) -> bytes | None:
        with _translated(f"ac/{key}"):
            try:
                with self._opened("ac", key) as file:
                    return file.read(LARGEST + 1)
            except FileNotFoundError:
                return None

    def create(
        self, key: str, entry: bytes, blobs: Sequence[Blob], *, overwrite: bool = False
    ) -> None:
        del blobs
        with (
            _translated(f"ac/{key}"),
            self._folder("ac", key, make=True) as folder,
            _temporary(folder, key) as (temporary, file),
        ):
            file.write(entry)
            file.close()
            if overwrite:
                os.replace(temporary, key, src_dir_fd=folder, dst_dir_fd=folder)
                return
            with suppress(FileExistsError):
                os.link(temporary, key, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        return {blob for blob in blobs if not self._holds(blob)}

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        with _translated(f"cas/{blob.sha256}"), self._opened("cas", blob.sha256) as file:
            size = os.fstat(file.fileno()).st_size
            if size != blob.bytes:
                raise RemoteError(
                    f"cas/{blob.sha256} has {size} bytes there, expected {blob.bytes}"
                )
            file.seek(start)
            while chunk := file.read(CHUNK):
                yield chunk

    def write(self, blob: Blob, path: Path) -> None:
        with (
            _translated(f"cas/{blob.sha256}"),
            self._folder("cas", blob.sha256, make=True) as folder,
            _temporary(folder, blob.sha256) as created,
        ):
            temporary, file = created
            file.writelines(parts(path))
            file.close()
            os.replace(temporary, blob.sha256, src_dir_fd=folder, dst_dir_fd=folder)

    def close(self) -> None:
        return

    def _holds(self, blob: Blob) -> bool:
        with _translated(f"cas/{blob.sha256}"):
            try:
                with self._folder("cas", blob.sha256) as folder:
                    status = os.stat(blob.sha256, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return False
            return stat.S_ISREG(status.st_mode) and status.st_size == blob.bytes

    @contextmanager
    def _opened(self, part: str, name: str) -> Iterator[BinaryIO]:
        with self._folder(part, name) as folder:
            number = os.open(name, FILE, dir_fd=folder)
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise RemoteError(f"{part}/{name} is not a file there")
            yield file

    @contextmanager
    def _folder(self, part: str, name: str, *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder for `name`."""
        number = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for step in (part, name[:2]):
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(step, dir_fd=number)
                above, number = number, os.open(step, FOLDER, dir_fd=number)
                os.close(above)
            yield number
        finally:
            os.close(number)


@contextmanager
def _temporary(folder: int, name: str) -> Iterator[tuple[str, BinaryIO]]:
    """A new file in a folder. It is removed at the end unless it was renamed."""
    temporary = f".{name}.{os.getpid()}-{token_hex(4)}"
    try:
        with os.fdopen(os.open(temporary, FRESH, 0o644, dir_fd=folder), "wb") as file:
            yield temporary, file
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise AbsentError(f"it does not have {what}") from error
    except PermissionError as error:
        raise DeniedError(f"{what}: {error.strerror}") from error
    except OSError as error:
        if error.errno in (ELOOP, ENOTDIR):
            raise RemoteError(
                f"{what}: found a link or a file instead of a folder or a file"
            ) from error
        kind = FullError if error.errno in (ENOSPC, EDQUOT) else RemoteError
        raise kind(f"{what}: {error.strerror or error}") from error
