"""Which files hold the external data of an ONNX file, without reading the model: they are inputs of the build as the model is."""

import mmap
from pathlib import Path, PurePosixPath

MARK = b"\x0a\x08location\x12"
"""How an entry `location` of external data begins in protobuf; its value follows, after its length."""


def external_files(model: Path) -> list[tuple[str, Path]]:
    """The files beside or below a model that it may name, by their names in it; a link must not lead elsewhere, unless the model is one to
    the same folder. What is named but not there, or lies elsewhere, is told when the model is read."""
    if not model.is_file() or not model.stat().st_size:
        return []
    found: dict[str, Path] = {}
    with model.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(MARK)
        while at >= 0:
            start = at + len(MARK) + 1
            length = data[start - 1] if start <= len(data) else 0
            name = data[start : start + length].decode(errors="replace")
            if path := _beside(model, name):
                found[name] = path
            at = data.find(MARK, start)
    return sorted(found.items())


def _beside(model: Path, name: str) -> Path | None:
    place, path = PurePosixPath(name), model.parent / name
    if not name or place.is_absolute() or ".." in place.parts or "\0" in name or not path.is_file():
        return None
    return path if {model.parent.resolve(), model.resolve().parent} & set(path.resolve().parents) else None
