"""Convert spec.json of an ONNX model to its structure in the IR, and write the class names, if
any.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln.errors import UnsupportedError
from webkiln.frontends.core.conversion import Conversion
from webkiln.frontends.nodes.stage import convert_nodes, matching_labels
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.strings import ADVICE


@contextmanager
def converted(
    data: Mapping[str, Any], inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> Iterator[Conversion]:
    with convert_nodes(OnnxConverter, data, inputs, params) as conversion:
        texts = data.get("texts", [])
        by_output = dict.fromkeys(conversion.graph.outputs, texts) | data.get("labels", {})
        labels = matching_labels(by_output, conversion.graph)
        if texts and not labels:
            what = f"names its {len(texts)} classes, but no output has that size"
            raise UnsupportedError(data["name"], [(data["name"], what, ADVICE)])
        yield replace(conversion, files={"labels.json": labels})
