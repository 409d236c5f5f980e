"""Which files hold the weights of a TensorFlow.js model: they are inputs of the build as the model
is.
"""

import json
from pathlib import Path, PurePosixPath
from typing import Any

from webkiln.errors import SourceError

MAX_BYTES = 64 << 20
MAX_SHARDS = 10_000
BEGINNING_BYTES = 64


def shard_files(model: Path) -> list[tuple[str, Path]]:
    """The files that a `model.json` names, by their names in it. What is no model, or is not there,
    is told when the model is read.
    """
    if not model.is_file() or model.stat().st_size > MAX_BYTES:
        return []
    with model.open("rb") as file:
        if file.read(BEGINNING_BYTES).lstrip()[:1] != b"{":
            return []
    try:
        names = shard_names(model.name, json.loads(model.read_bytes()))
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return sorted((name, path) for name in names if (path := beside(model, name)) is not None)


def shard_names(source: str, data: Any) -> list[str]:
    """The paths of all shards; SourceError where one leads out of the folder."""
    found = []
    for group in data["weightsManifest"]:
        for name in group["paths"]:
            place = PurePosixPath(str(name))
            if (
                not isinstance(name, str)
                or not place.parts
                or place.is_absolute()
                or ".." in place.parts
                or set("\\:\0") & set(name)
            ):
                raise SourceError(
                    f"{source}: its weights are at {name!r}, which points out of the model's"
                    " folder; refused"
                )
            found.append(name)
    if len(found) > MAX_SHARDS or len(set(found)) != len(found):
        raise SourceError(
            f"{source}: names {len(found)} files of weights (at most {MAX_SHARDS}, none twice);"
            " refused"
        )
    return found


def beside(model: Path, name: str) -> Path | None:
    """The file of a name in the model's folder, if it is there; a link must not lead elsewhere,
    unless the model is one to the same folder.
    """
    path = model.parent / name
    try:
        if not path.is_file():
            return None
    except OSError:
        return None
    if not {model.parent.resolve(), model.resolve().parent} & set(path.resolve().parents):
        raise SourceError(
            f"{model.name}: its weights are in {name!r}, a symbolic link to a file outside the"
            " model's folder; refused, copy the file there"
        )
    return path
