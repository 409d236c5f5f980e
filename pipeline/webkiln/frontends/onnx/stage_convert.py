"""spec.json of an ONNX model -> its structure in the IR, and the names of its classes where it has
them.
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
    with convert_nodes(OnnxConverter, data, inputs, params) as made:
        texts = data.get("texts", [])
        labels = matching_labels(dict.fromkeys(made.graph.outputs, texts), made.graph)
        if texts and not labels:
            what = f"calls its {len(texts)} classes by texts, and no output has a place for each"
            raise UnsupportedError(data["name"], [(data["name"], what, ADVICE)])
        yield replace(made, files={"labels.json": labels})
