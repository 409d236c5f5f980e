"""Which models a folder or an archive holds. Run, to unpack an archive within limits: python -m
webkiln.frontends.inspect.archive_listing ARCHIVE FOLDER

An archive is unpacked in a process of its own: plain files alone, with names that stay inside, and
no more bytes than they may be.
"""

import os
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO, Any

from webkiln.errors import SourceError, UserError
from webkiln.frontends.core.formats import recognise
from webkiln.frontends.core.model_format import ZIP, ModelFormat
from webkiln.frontends.core.probe import check_apart, looked_at
from webkiln.frontends.core.unsupported_formats import ForeignFormat

BEGINNINGS = (ZIP, b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
TAR = (257, b"ustar")
MAX_MEMBERS = 10_000
MAX_BYTES = 4 << 30
MAX_RATIO = 1000
RATIO_FREE_BYTES = 1 << 20
CHUNK = 1 << 20
DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    LZMAError,
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    NotImplementedError,
)


@dataclass(frozen=True)
class Holding:
    """A model in a folder: its place there, and what it is."""

    path: Path
    format: ModelFormat | ForeignFormat


def is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(512)
    return start.startswith(BEGINNINGS) or start[TAR[0] :].startswith(TAR[1])


def holdings(folder: Path) -> list[Holding]:
    """The models that webkiln reads, without the files that belong to others; where there are none,
    those that it recognises.
    """
    found = list(_recognised(folder))
    own = [item for item in found if isinstance(item.format, ModelFormat)]
    beside: set[Path] = set()
    kept = []
    for item in own:
        if item.path not in beside and isinstance(item.format, ModelFormat):
            kept.append(item)
            with suppress(UserError, ImportError, OSError):
                beside |= {path for _, path in item.format.beside(item.format.main(item.path))}
    return kept or found


def _recognised(folder: Path) -> Iterator[Holding]:
    """In a folder and those below it, in their order; links and hidden files are passed by."""
    count = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not (Path(place) / name).is_symlink()
        )
        for name in list(folders):
            found = recognise(Path(place) / name)
            if isinstance(found, ModelFormat):
                folders.remove(name)
                yield Holding(Path(place) / name, found)
        for name in sorted(files):
            path = Path(place) / name
            count += 1
            if count > MAX_MEMBERS:
                raise SourceError(
                    f"{folder}: holds more than {MAX_MEMBERS} files; give the model among them"
                )
            if (
                not name.startswith(".")
                and path.is_file()
                and not path.is_symlink()
                and (format_ := recognise(path)) is not None
            ):
                yield Holding(path, format_)


def unpack_apart(path: Path, folder: Path) -> None:
    """Unpack an archive; SourceError for one that is damaged, leads out of the folder or is larger
    than it may be.
    """
    advice = "unpack it, and give the model in it"
    check_apart(
        "webkiln.frontends.inspect.archive_listing",
        path,
        [str(folder)],
        done="unpacked",
        reader="what unpacks it",
        advice=advice,
    )


def unpack(path: Path, folder: Path) -> None:
    try:
        with path.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        if is_zip:
            _unzip(path, folder)
        else:
            _untar(path, folder)
    except DAMAGED as error:
        what = " ".join(str(error).split())[:200] or type(error).__name__
        raise SourceError(
            f"{path.name}: is no model that is known, and no archive that can be unpacked ({what})"
        ) from None


class _Room:
    """Counts what is unpacked."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder, self.count, self.bytes = path, folder, 0, 0

    def place(self, name: str, size: int) -> Path:
        """Where a member goes."""
        parts = PurePosixPath(name.replace("\\", "/"))
        self.count, self.bytes = self.count + 1, self.bytes + size
        if (
            parts.is_absolute()
            or ".." in parts.parts
            or ":" in name
            or "\0" in name
            or not parts.parts
        ):
            raise SourceError(
                f"{self.path.name}: its member {name!r} leads out of the archive; refused"
            )
        if self.count > MAX_MEMBERS or self.bytes > MAX_BYTES or size < 0:
            raise SourceError(
                f"{self.path.name}: unpacks to more than {MAX_MEMBERS} files or {MAX_BYTES} bytes;"
                " unpack it, and give the model in it"
            )
        target = self.folder.joinpath(*parts.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def _unzip(path: Path, folder: Path) -> None:
    room = _Room(path, folder)
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.is_dir() or stat.S_ISLNK(info.external_attr >> 16):
                continue
            if (
                info.file_size > RATIO_FREE_BYTES
                and info.file_size > MAX_RATIO * info.compress_size
            ):
                raise SourceError(
                    f"{path.name}: its member {info.filename!r} claims {info.file_size} bytes from"
                    f" {info.compress_size}; refused"
                )
            target = room.place(info.filename, info.file_size)
            with archive.open(info) as source:
                _copy(source, target, info.file_size)


def _untar(path: Path, folder: Path) -> None:
    room = _Room(path, folder)
    with tarfile.open(path, "r:*") as archive:
        for info in archive:
            if info.size > MAX_BYTES:
                room.place(info.name, info.size)
            if (
                info.isreg()
                and not info.issparse()
                and (source := archive.extractfile(info)) is not None
            ):
                target = room.place(info.name, info.size)
                with source:
                    _copy(source, target, info.size)


def _copy(source: IO[bytes] | Any, target: Path, size: int) -> None:
    with target.open("xb") as file:
        while size > 0 and (chunk := source.read(min(CHUNK, size))):
            size -= len(chunk)
            file.write(chunk)


def main() -> int:
    path, folder = map(Path, sys.argv[1:])
    return looked_at(path, lambda: unpack(path, folder))


if __name__ == "__main__":
    sys.exit(main())
