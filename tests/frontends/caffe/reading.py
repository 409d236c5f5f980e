"""Definitions as the tests read them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from webkiln.frontends.caffe.companions import companion_of
from webkiln.frontends.caffe.converter import CaffeConverter
from webkiln.frontends.caffe.load import read_model
from webkiln.ir.graph import Graph


def converted(path: Path, shapes: Mapping[str, Sequence[int | str]] | None = None) -> Graph:
    """The graph of a definition with its weights."""
    companion = next((file for _, file in companion_of(path)), None)
    return CaffeConverter().convert(*read_model(path, companion, shapes))
