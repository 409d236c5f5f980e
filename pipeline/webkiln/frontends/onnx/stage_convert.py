"""spec.json of an ONNX model -> its structure in the IR."""

from functools import partial

from webkiln.frontends.nodes.stage import converted_nodes
from webkiln.frontends.onnx.converter import OnnxConverter

converted = partial(converted_nodes, OnnxConverter)
