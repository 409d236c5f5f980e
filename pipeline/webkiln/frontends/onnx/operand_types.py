"""The types of a node's operands, for messages about nodes that violate the standard."""

import onnx
import onnx.shape_inference

from webkiln.frontends.onnx.graphs import graphs_of
from webkiln.frontends.onnx.weightless import REJECTIONS


def operand_types(model: onnx.ModelProto, op: str, name: str) -> str:
    """The operands of the node with this operator and name, such as `x [1, 3, 4, 4] and w [3]`; ''
    if the node is not found, or if fewer than two operands have a known shape.
    """
    try:
        model = onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    except REJECTIONS:
        return ""
    for graph in graphs_of(model.graph):
        shapes = _shapes(graph)
        for node in graph.node:
            if node.op_type == op and node.name == (name or node.name):
                known = [f"{item} {shapes[item]}" for item in node.input if item in shapes]
                return "" if len(known) < 2 else f"{', '.join(known[:-1])} and {known[-1]}"
    return ""


def _shapes(graph: onnx.GraphProto) -> dict[str, str]:
    shapes = {item.name: list[int | str](item.dims) for item in graph.initializer}
    for item in (*graph.input, *graph.value_info):
        if item.type.tensor_type.HasField("shape"):
            dims = item.type.tensor_type.shape.dim
            sizes = [size.dim_param or (size.dim_value or "?") for size in dims]
            shapes.setdefault(item.name, sizes)
    return {name: f"[{', '.join(map(str, sizes))}]" for name, sizes in shapes.items()}
