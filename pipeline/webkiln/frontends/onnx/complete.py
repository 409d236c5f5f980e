"""The onnx package's verdict on complete models."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx
import onnx.checker
import onnx.shape_inference

from webkiln.errors import SourceError
from webkiln.frontends.onnx.graphs import nested_graphs
from webkiln.frontends.onnx.tensors import with_data
from webkiln.frontends.onnx.weightless import REJECTIONS
from webkiln.frontends.protobuf.large_arrays import array_bytes, array_length, is_reference

MAX_COMPLETE_BYTES = 1 << 30


def is_accepted_unchanged(model: onnx.ModelProto, folder: Path | None) -> bool:
    """Whether the onnx package accepts a model with all its arrays and declared shapes. The model
    is modified.
    """
    parts = (model.graph, *model.functions)
    if sum(array_length(tensor.raw_data) for tensor in _arrays(parts)) > MAX_COMPLETE_BYTES:
        return False
    try:
        for tensor in _arrays(parts):
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                tensor.CopyFrom(with_data(tensor, folder, tensor.name))
            elif is_reference(tensor.raw_data):
                tensor.raw_data = array_bytes(tensor.raw_data)
        onnx.checker.check_model(model, full_check=True)
    except (*REJECTIONS, SourceError):
        return False
    return True


def _arrays(parts: Iterable[onnx.GraphProto | onnx.FunctionProto]) -> Iterator[onnx.TensorProto]:
    for part in parts:
        if isinstance(part, onnx.GraphProto):
            yield from part.initializer
        for node in part.node:
            for item in node.attribute:
                yield from (*([item.t] if item.HasField("t") else ()), *item.tensors)
            yield from _arrays(nested_graphs(node))
