"""The weight files of a TensorFlow.js model. They are inputs of the build, like the model.json."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

from webkiln.errors import SourceError

MAX_BYTES = 64 << 20
MAX_SHARDS = 10_000
PREFIX_BYTES = 64


def shard_files(model: Path) -> list[tuple[str, Path]]:
    """The files that a `model.json` names, as (name, path). Return [] if it is not a valid model;
    loading it reports the reason. Missing files are omitted.
    """
    if not model.is_file() or model.stat().st_size > MAX_BYTES:
        return []
    with model.open("rb") as file:
        if file.read(PREFIX_BYTES).lstrip()[:1] != b"{":
            return []
    try:
        names = shard_names(model.name, json.loads(model.read_bytes()))
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return sorted((name, path) for name in names if (path := shard_path(model, name)) is not None)


def shard_names(source: str, data: Any) -> list[str]:
    """The paths of all shards. Raise SourceError if one leads outside the folder, or if there are
    too many.
    """
    shards = []
    for group in data["weightsManifest"]:
        for name in group["paths"]:
            parsed = PurePosixPath(str(name))
            if (
                not isinstance(name, str)
                or not parsed.parts
                or parsed.is_absolute()
                or ".." in parsed.parts
                or set("\\:\0") & set(name)
            ):
                raise SourceError(
                    f"{source}: its weights are at {name!r}, which is outside the model's folder;"
                    " refused"
                )
            shards.append(name)
    if len(shards) > MAX_SHARDS or len(set(shards)) != len(shards):
        raise SourceError(
            f"{source}: lists {len(shards)} weight files; expected at most {MAX_SHARDS}, each once"
        )
    return shards


def shard_path(model: Path, name: str) -> Path | None:
    """The path of a shard in the model's folder; None if it does not exist.

    Raise SourceError for a symbolic link to a file elsewhere. If the model itself is a link, the
    folder of its target is also allowed.
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
