"""Reads definitions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from webkiln.frontends.caffe.companions import companion_of
from webkiln.frontends.caffe.converter import CaffeConverter
from webkiln.frontends.caffe.load import read_model
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.ir.graph import Graph


def converted(path: Path, shapes: Mapping[str, Sequence[int | str]] | None = None) -> Graph:
    """The graph of a definition with its weights."""
    companion = next((file for _, file in companion_of(path)), None)
    return CaffeConverter().convert(*read_model(path, companion, shapes))


def described(text: str, folder: Path) -> NodeModel:
    (folder / "net.prototxt").write_text(text)
    return read_model(folder / "net.prototxt")[0]


def relu(bottom: str = "data", top: str = "y", more: str = "") -> str:
    return f'layer {{ name: "{top}" type: "ReLU" bottom: "{bottom}" top: "{top}" {more} }}\n'
