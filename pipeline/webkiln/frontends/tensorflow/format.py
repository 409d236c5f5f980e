"""The format record: SavedModels and frozen graphs of TensorFlow 1 and 2, and TensorFlow.js graph
models.
"""

import re
from pathlib import Path

from webkiln.frontends.core.model_format import FileHeader, ModelFormat
from webkiln.frontends.core.tfjs_manifest import shard_files

SAVED_MODEL = "saved_model.pb"
TFJS = "model.json"
BEGINNING = re.compile(rb"\x08\x01\x12[\x80-\xff]+[\x00-\x7f]\x0a")
"""A protobuf message with schema version 1 and a graph, which starts with its metadata."""
NODE = re.compile(rb"\x0a[\x80-\xff]?[\x01-\x7f]\x0a([\x01-\x7f])[\x20-\x7e]+?\x12[\x01-\x7f][A-Z]")
"""A protobuf message that starts with a node, which starts with its name and its operator."""
FOLDERS = ("variables", "assets")


def _fits(header: FileHeader) -> bool:
    if header.contains(SAVED_MODEL) or header.tensorflow_js == "graph-model":
        return True
    return BEGINNING.match(header.start) is not None or NODE.match(header.start) is not None


def main_file(path: Path) -> Path:
    """The model file in a folder."""
    if not path.is_dir():
        return path
    return path / (SAVED_MODEL if (path / SAVED_MODEL).is_file() else TFJS)


def companions_of(path: Path) -> list[tuple[str, Path]]:
    """The variables and assets of a SavedModel, or the shards of a TensorFlow.js graph model."""
    main = main_file(path)
    if main.name != SAVED_MODEL and shard_files(main):
        return shard_files(main)
    companions = (
        [
            item
            for name in FOLDERS
            for item in sorted((main.parent / name).glob("*"))
            if item.is_file()
        ]
        if main.name == SAVED_MODEL
        else []
    )
    return [(item.relative_to(main.parent).as_posix(), item) for item in companions]


TENSORFLOW = ModelFormat(
    name="tensorflow",
    title="a graph of TensorFlow",
    suffixes=(".pb",),
    fits=_fits,
    main=main_file,
    companion_files=companions_of,
    parameters={
        "load": ("signature", "cut"),
        "convert": ("plugins", "cut", "dims", "input_shapes", "values"),
        "reference": ("signature", "cut", "dims", "input_shapes", "values", "samples"),
    },
    may_have_open_sizes=True,
)
