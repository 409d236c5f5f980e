"""Graphs of model files."""

from pathlib import Path
from typing import Any

from webkiln.frontends.nodes.spec import from_json, to_json
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.frontends.tflite.load import read_model
from webkiln.ir.graph import Graph


def graph_of(path: Path, signature: str = "", **options: Any) -> Graph:
    model, blobs = read_model(path, signature)
    assert from_json(to_json(model)) == model
    return TfliteConverter(**options).convert(model, blobs)
