"""spec.json of a LiteRT model -> graph."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln.frontends.core.conversion import Conversion
from webkiln.frontends.nodes.stage import convert_nodes, matching_labels
from webkiln.frontends.tflite.converter import TfliteConverter


@contextmanager
def converted(
    data: Mapping[str, Any], inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> Iterator[Conversion]:
    with convert_nodes(TfliteConverter, data, inputs, params) as result:
        yield replace(result, files={"labels.json": matching_labels(data["labels"], result.graph)})
