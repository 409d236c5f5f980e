"""A folder as a remote cache, such as one on a network's file system: `ac/` holds entries, `cas/` blobs."""

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path

from webkiln.build.action import Blob
from webkiln.build.files import beside
from webkiln.build.remote.remote import CHUNK, AbsentError, DeniedError, FullError, RemoteError, UnreachableError


class FolderRemote:
    def __init__(self, root: Path) -> None:
        self.root = root
        if not root.is_dir():
            raise UnreachableError(f"there is no folder {root}")

    def entry(self, key: str) -> bytes | None:
        with _told():
            try:
                return self._place("ac", key).read_bytes()
            except FileNotFoundError:
                return None

    def create(self, key: str, entry: bytes, blobs: Sequence[Blob]) -> None:
        del blobs
        with _told():
            target = self._place("ac", key)
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = beside(target)
            try:
                temporary.write_bytes(entry)
                with suppress(FileExistsError):
                    os.link(temporary, target)
            finally:
                temporary.unlink(missing_ok=True)

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        with _told():
            return {blob for blob in blobs if not self._holds(blob)}

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        with _told(), self._place("cas", blob.sha256).open("rb") as file:
            file.seek(start)
            while chunk := file.read(CHUNK):
                yield chunk

    def write(self, blob: Blob, path: Path) -> None:
        with _told():
            target = self._place("cas", blob.sha256)
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = beside(target)
            try:
                shutil.copyfile(path, temporary)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

    def close(self) -> None:
        return

    def _holds(self, blob: Blob) -> bool:
        try:
            return self._place("cas", blob.sha256).stat().st_size == blob.bytes
        except FileNotFoundError:
            return False

    def _place(self, part: str, name: str) -> Path:
        return self.root / part / name[:2] / name


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise AbsentError(f"it does not have {error.filename}") from error
    except PermissionError as error:
        raise DeniedError(f"{error.filename}: {error.strerror}") from error
    except OSError as error:
        kind = FullError if error.errno in (ENOSPC, EDQUOT) else RemoteError
        raise kind(f"{error.filename}: {error.strerror}") from error
