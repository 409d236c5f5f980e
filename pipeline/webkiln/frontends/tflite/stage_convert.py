"""spec.json of a LiteRT model -> its structure in the IR."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln.frontends.converted import Converted
from webkiln.frontends.nodes.stage import converted_nodes
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.ir.graph import Graph


@contextmanager
def converted(data: Mapping[str, Any], inputs: Mapping[str, Path], params: Mapping[str, Any]) -> Iterator[Converted]:
    with converted_nodes(TfliteConverter, data, inputs, params) as made:
        yield replace(made, files={"labels.json": fitting(data["labels"], made.graph)})


def fitting(labels: Mapping[str, list[str]], graph: Graph) -> dict[str, list[str]]:
    """Those that are as many as the last axis of their output has places."""
    shapes = {name: graph.type(variable).shape for name, variable in graph.outputs.items()}
    return {name: list(lines) for name, lines in labels.items() if shapes.get(name) and shapes[name][-1] == len(lines)}
