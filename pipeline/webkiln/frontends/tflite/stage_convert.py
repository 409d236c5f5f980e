"""spec.json of a LiteRT model -> its structure in the IR."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln.frontends.core.conversion import Converted
from webkiln.frontends.nodes.stage import converted_nodes, fitting
from webkiln.frontends.tflite.converter import TfliteConverter


@contextmanager
def converted(
    data: Mapping[str, Any], inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> Iterator[Converted]:
    with converted_nodes(TfliteConverter, data, inputs, params) as made:
        yield replace(made, files={"labels.json": fitting(data["labels"], made.graph)})
