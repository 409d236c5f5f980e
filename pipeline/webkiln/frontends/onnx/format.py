"""The ONNX format: a file with optional external data."""

import re

from webkiln.frontends.core.model_format import ModelFormat
from webkiln.frontends.onnx.external import external_files

PREFIX = re.compile(rb"\x08[\x01-\x20](\x12[\x00-\x7f][\x20-\x7e]|\x3a|\x42)")
"""A protobuf message that starts with the IR version, followed by the producer, the graph or the
opsets. The graph is field 7.
"""

ONNX = ModelFormat(
    name="onnx",
    title="an ONNX model",
    suffixes=(".onnx",),
    fits=lambda header: PREFIX.match(header.start) is not None and b"\x3a" in header.start,
    companion_files=external_files,
    parameters={
        "load": ("cut",),
        "convert": ("plugins", "dims", "input_shapes", "values"),
        "reference": ("cut", "dims", "input_shapes", "values", "samples"),
    },
    extra_files=("labels.json", "texts.json"),
    may_have_open_sizes=True,
)
