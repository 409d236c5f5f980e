"""Which files hold the external data of an ONNX file, without reading the model: they are inputs of
the build as the model is.
"""

import mmap
from pathlib import Path, PurePosixPath

from webkiln.errors import SourceError

MARK = b"\x0a\x08location\x12"
"""How an entry `location` of external data begins in protobuf; its value follows, after its length.
"""
LONGEST = 4096
"""More than any path has."""


def external_files(model: Path) -> list[tuple[str, Path]]:
    """The files beside or below a model that it may name, by their names in it; a link must not
    lead
    elsewhere, unless the model is one to the same folder. What is named but not there is told when
    the model is read.
    """
    if not model.is_file() or not model.stat().st_size:
        return []
    found: dict[str, Path] = {}
    with model.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(MARK)
        while at >= 0:
            length, start = _varint(data, at + len(MARK))
            name = data[start : start + min(length, LONGEST)].decode(errors="replace")
            if path := _beside(model, name):
                found[name] = path
            at = data.find(MARK, start)
    return sorted(found.items())


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A number of protobuf, seven bits a byte with the lowest first, and where it ends."""
    value, shift = 0, 0
    while at < len(data):
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80 or shift > 28:
            break
    return value, at


def _beside(model: Path, name: str) -> Path | None:
    place, path = PurePosixPath(name), model.parent / name
    try:
        if (
            not name
            or place.is_absolute()
            or ".." in place.parts
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
