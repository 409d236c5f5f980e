"""Find the external data files of an ONNX file without parsing it. They are inputs of the build,
like the model.
"""

import mmap
from pathlib import Path, PurePosixPath

from webkiln.errors import SourceError

LOCATION_KEY = b"\x0a\x08location\x12"
"""The encoded key `location` of an external data entry; the length and the value follow."""
MAX_PATH_BYTES = 4096
"""More than any path has."""


def external_files(model: Path) -> list[tuple[str, Path]]:
    """The files in the model's folder that the model may name, as (name, path). Missing files are
    omitted; reading the model reports them.

    Raise SourceError for a symbolic link to a file elsewhere. If the model itself is a link, the
    folder of its target is also allowed.
    """
    if not model.is_file() or not model.stat().st_size:
        return []
    files: dict[str, Path] = {}
    with model.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(LOCATION_KEY)
        while at >= 0:
            length, start = _varint(data, at + len(LOCATION_KEY))
            name = data[start : start + min(length, MAX_PATH_BYTES)].decode(errors="replace")
            if path := _data_file(model, name):
                files[name] = path
            at = data.find(LOCATION_KEY, start)
    return sorted(files.items())


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Decode a protobuf varint; return it and the offset after it."""
    value, shift = 0, 0
    while at < len(data):
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80 or shift > 28:
            break
    return value, at


def _data_file(model: Path, name: str) -> Path | None:
    parsed, path = PurePosixPath(name), model.parent / name
    try:
        if (
            not name
            or parsed.is_absolute()
            or ".." in parsed.parts
            or "\0" in name
            or not path.is_file()
        ):
            return None
    except OSError:
        return None
    if not {model.parent.resolve(), model.resolve().parent} & set(path.resolve().parents):
        raise SourceError(
            f"{model.name}: its data is in {name!r}, a symbolic link to a file outside the model's"
            " folder; refused, copy the file there"
        )
    return path
