"""Convert spec.json of an ONNX model to its structure in the IR, and write the class names, if
any, and how strings become indices.
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
from webkiln.ir.graph import Graph
from webkiln.ir.notation import size_to_json


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
        strings = [_with_shape(text, conversion.graph) for text in data.get("strings", [])]
        files = {"labels.json": labels, "texts.json": {"texts": strings}}
        yield replace(conversion, files=files)


def _with_shape(text: Mapping[str, Any], graph: Graph) -> dict[str, Any]:
    """The description of strings, with the shapes that the build gave to the indices."""
    shape = [size_to_json(size) for size in graph.type(text["tensor"]).shape]
    return {
        **{name: item for name, item in text.items() if name != "axes"},
        "shape": text["shape"] if text["list"] else shape[: text["axes"]],
        "length": None if text["length"] is None else shape[-1],
    }
