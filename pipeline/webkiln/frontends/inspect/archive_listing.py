"""List the models in a folder or an archive. Run as `python -m
webkiln.frontends.inspect.archive_listing ARCHIVE FOLDER` to unpack an archive within limits.

An archive is unpacked in a subprocess: regular files only, no paths outside the folder, and a
bounded number of bytes.
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
from webkiln.frontends.core.formats import recognise_format
from webkiln.frontends.core.model_format import ZIP, ModelFormat
from webkiln.frontends.core.probe import check_in_subprocess, run_check
from webkiln.frontends.core.unsupported_formats import UnsupportedFormat

ARCHIVE_MAGIC = (ZIP, b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
TAR_MAGIC = (257, b"ustar")
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
class ModelEntry:
    """A model in a folder: its path and its format."""

    path: Path
    format: ModelFormat | UnsupportedFormat


def is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(512)
    return start.startswith(ARCHIVE_MAGIC) or start[TAR_MAGIC[0] :].startswith(TAR_MAGIC[1])


def find_models(folder: Path) -> list[ModelEntry]:
    """The models in a folder that webkiln reads, without files that belong to another model; if
    there are none, those that it only recognises.
    """
    recognised = list(_recognised_entries(folder))
    readable = [item for item in recognised if isinstance(item.format, ModelFormat)]
    companions: set[Path] = set()
    models = []
    for item in readable:
        if item.path not in companions and isinstance(item.format, ModelFormat):
            models.append(item)
            with suppress(UserError, ImportError, OSError):
                companions |= {
                    path for _, path in item.format.companion_files(item.format.main(item.path))
                }
    return models or recognised


def _recognised_entries(folder: Path) -> Iterator[ModelEntry]:
    """Walk a folder in sorted order; skip links and hidden files."""
    count = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not (Path(parent) / name).is_symlink()
        )
        for name in list(folders):
            detected = recognise_format(Path(parent) / name)
            if isinstance(detected, ModelFormat):
                folders.remove(name)
                yield ModelEntry(Path(parent) / name, detected)
        for name in sorted(files):
            path = Path(parent) / name
            count += 1
            if count > MAX_MEMBERS:
                raise SourceError(
                    f"{folder}: contains more than {MAX_MEMBERS} files; pass the path of the model"
                )
            if (
                not name.startswith(".")
                and path.is_file()
                and not path.is_symlink()
                and (format_ := recognise_format(path)) is not None
            ):
                yield ModelEntry(path, format_)


def unpack_in_subprocess(path: Path, folder: Path) -> None:
    """Unpack an archive in a subprocess. Raise SourceError if it is damaged, has paths outside the
    folder, or exceeds the limits.
    """
    advice = "unpack it, and pass the model in it"
    check_in_subprocess(
        "webkiln.frontends.inspect.archive_listing",
        path,
        [str(folder)],
        done="unpacked",
        reader="the program that unpacks it",
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
        detail = " ".join(str(error).split())[:200] or type(error).__name__
        raise SourceError(
            f"{path.name}: is no model of a known format, and no archive that can be unpacked"
            f" ({detail})"
        ) from None


class _UnpackLimits:
    """Counts files and bytes while an archive is unpacked."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder, self.count, self.bytes = path, folder, 0, 0

    def target_path(self, name: str, size: int) -> Path:
        """The path to which a member is written, with its folder created. Raise SourceError beyond
        the limits.
        """
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
                f"{self.path.name}: its member {name!r} has a path outside the archive; refused"
            )
        if self.count > MAX_MEMBERS or self.bytes > MAX_BYTES or size < 0:
            raise SourceError(
                f"{self.path.name}: unpacks to more than {MAX_MEMBERS} files or {MAX_BYTES} bytes;"
                " unpack it, and pass the model in it"
            )
        target = self.folder.joinpath(*parts.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def _unzip(path: Path, folder: Path) -> None:
    limits = _UnpackLimits(path, folder)
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
            target = limits.target_path(info.filename, info.file_size)
            with archive.open(info) as source:
                _copy(source, target, info.file_size)


def _untar(path: Path, folder: Path) -> None:
    limits = _UnpackLimits(path, folder)
    with tarfile.open(path, "r:*") as archive:
        for info in archive:
            if info.size > MAX_BYTES:
                limits.target_path(info.name, info.size)
            if (
                info.isreg()
                and not info.issparse()
                and (source := archive.extractfile(info)) is not None
            ):
                target = limits.target_path(info.name, info.size)
                with source:
                    _copy(source, target, info.size)


def _copy(source: IO[bytes] | Any, target: Path, size: int) -> None:
    with target.open("xb") as file:
        while size > 0 and (chunk := source.read(min(CHUNK, size))):
            size -= len(chunk)
            file.write(chunk)


def main() -> int:
    path, folder = map(Path, sys.argv[1:])
    return run_check(path, lambda: unpack(path, folder))


if __name__ == "__main__":
    sys.exit(main())
