"""Models without large arrays, for the onnx package's checker and inference: the arrays of a parsed
file are references, whose bytes the checker would count.
"""

from collections.abc import Iterator, Mapping
from math import prod

import onnx
import onnx.checker
import onnx.shape_inference
from onnx import helper

from webkiln.frontends.onnx.graphs import graphs_of, nested_graphs, normalise_domain
from webkiln.frontends.protobuf.large_arrays import array_length, is_reference

MAX_CHECKED_BYTES = 1 << 16
"""Larger weights are not passed to the checker; only small ones can be shapes."""
MAX_CHECKED_ELEMENTS = 1 << 10
TREE_OPERATORS = frozenset({"TreeEnsembleClassifier", "TreeEnsembleRegressor"})
"""Operators with one list element per tree node; the checker receives truncated lists."""
SPARSE_OPSET = 11
"""The first opset whose Constant may be sparse."""
REJECTIONS = (
    onnx.checker.ValidationError,
    onnx.shape_inference.InferenceError,
    RuntimeError,
    ValueError,
    TypeError,
)
"""What the onnx package raises for models that it rejects."""
UNKNOWN_DOMAIN = "webkiln.unknown"
"""The domain to which operators unknown to the standard are moved."""


def remove_large_arrays(model: onnx.ModelProto) -> None:
    """Turn the large arrays of all graphs and functions into values of the same dtype and shape,
    and truncate long attribute lists.

    Initialisers become inputs. Constants, and initialisers of nested graphs, become copies of new
    inputs; in functions, which cannot read inputs, sparse constants without values.
    """
    _move_initialisers(model.graph)
    used = {name for part in graphs_of(model.graph) for name in _names(part)}
    for part in graphs_of(model.graph):
        for tensor, position in list(_large_tensors(part)):
            name = _unused(f"{tensor.name}.values", used)
            model.graph.input.append(_declared(name, tensor))
            node = helper.make_node("Identity", [name], [tensor.name])
            _replace(part, position, node)
        _shorten(part)
    for function in model.functions:
        opsets = {normalise_domain(entry.domain): entry.version for entry in function.opset_import}
        for node in function.node:
            for part in nested_graphs(node):
                for inner in graphs_of(part):
                    _empty_constants(inner, opsets)
        _empty_constants(function, opsets)


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    yield from (item.name for item in (*graph.input, *graph.initializer, *graph.output))
    for node in graph.node:
        yield from (*node.input, *node.output)


def _unused(stem: str, used: set[str]) -> str:
    name = stem
    while name in used:
        name += "_"
    used.add(name)
    return name


def is_large(tensor: onnx.TensorProto) -> bool:
    return is_reference(tensor.raw_data) or prod(tensor.dims) * 8 > MAX_CHECKED_BYTES


def _declared(name: str, tensor: onnx.TensorProto) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, tensor.data_type, tensor.dims)


def _move_initialisers(graph: onnx.GraphProto) -> None:
    """Turn large initialisers of the main graph into inputs."""
    large = {item.name: item for item in graph.initializer if is_large(item)}
    missing = large.keys() - {item.name for item in graph.input}
    graph.input.extend(_declared(key, large[key]) for key in sorted(missing))
    small = [item for item in graph.initializer if item.name not in large]
    del graph.initializer[:]
    graph.initializer.extend(small)


def _large_tensors(
    part: onnx.GraphProto | onnx.FunctionProto,
) -> Iterator[tuple[onnx.TensorProto, int | None]]:
    """Yield large arrays named as the tensors that have them, with the position of the Constant,
    or None for an initialiser.
    """
    for number, node in enumerate(part.node):
        if node.op_type == "Constant" and normalise_domain(node.domain) == "" and node.output:
            for item in node.attribute:
                if item.name == "value" and item.HasField("t") and is_large(item.t):
                    header = onnx.TensorProto(
                        name=node.output[0], data_type=item.t.data_type, dims=item.t.dims
                    )
                    yield header, number
    if isinstance(part, onnx.GraphProto):
        for tensor in part.initializer:
            if is_large(tensor):
                yield tensor, None


def _replace(
    part: onnx.GraphProto | onnx.FunctionProto, position: int | None, node: onnx.NodeProto
) -> None:
    """Put a node in place of a Constant, or of the initialiser that it writes."""
    if position is not None:
        part.node[position].CopyFrom(node)
        return
    assert isinstance(part, onnx.GraphProto)
    for items in (part.initializer, part.input):
        kept = [item for item in items if item.name != node.output[0]]
        del items[:]
        items.extend(kept)
    part.node.insert(0, node)


def _empty_constants(part: onnx.GraphProto | onnx.FunctionProto, opsets: Mapping[str, int]) -> None:
    for tensor, position in list(_large_tensors(part)):
        _replace(part, position, _empty_constant(tensor, opsets))
    _shorten(part)


def _empty_constant(tensor: onnx.TensorProto, opsets: Mapping[str, int]) -> onnx.NodeProto:
    if opsets.get("", 1) < SPARSE_OPSET:
        return helper.make_node("Constant", [], [tensor.name], domain=UNKNOWN_DOMAIN)
    sparse = onnx.SparseTensorProto(
        values=onnx.TensorProto(data_type=tensor.data_type, dims=[0]),
        indices=onnx.TensorProto(data_type=onnx.TensorProto.INT64, dims=[0]),
        dims=tensor.dims,
    )
    return helper.make_node("Constant", [], [tensor.name], sparse_value=sparse)


def _shorten(part: onnx.GraphProto | onnx.FunctionProto) -> None:
    """Truncate lists of tree ensembles, and replace large arrays in other attributes by zeros."""
    for node in part.node:
        for item in node.attribute:
            if node.op_type in TREE_OPERATORS:
                for values in (item.ints, item.floats, item.strings):
                    del values[MAX_CHECKED_ELEMENTS:]
            for tensor in (*([item.t] if item.HasField("t") else ()), *item.tensors):
                if is_reference(tensor.raw_data):
                    tensor.raw_data = bytes(array_length(tensor.raw_data))
