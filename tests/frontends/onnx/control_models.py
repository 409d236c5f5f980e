"""Models with branches and loops."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.onnx.models import floats, model

node = helper.make_node


def branches(condition):
    """x + 1 or x * x, selected by the condition that the nodes compute."""
    then = helper.make_graph([node("Add", ["x", "one"], ["a"])], "then", [], [floats("a", 3)])
    other = helper.make_graph([node("Mul", ["x", "x"], ["b"])], "else", [], [floats("b", 3)])
    nodes = [*condition, node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    weights = [
        numpy_helper.from_array(np.array(1, np.float32), "one"),
        numpy_helper.from_array(np.array(2, np.int64), "two"),
    ]
    return model(nodes, [floats("x", 3)], [floats("y", 3)], weights)


def doubled(limit, until):
    """x, doubled until its sum exceeds `until`, at most `limit` times; None for any number."""
    body = helper.make_graph(
        [
            node("Add", ["v", "v"], ["w"]),
            node("ReduceSum", ["w"], ["s"], keepdims=0),
            node("Less", ["s", "until"], ["more"]),
            node("Identity", ["w"], ["seen"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            floats("v", 3),
        ],
        [
            helper.make_tensor_value_info("more", TensorProto.BOOL, []),
            floats("w", 3),
            *([floats("seen", 3)] if limit is not None else []),
        ],
    )
    outputs = [floats("y", 3), *([floats("all", None, 3)] if limit is not None else [])]
    weights = [numpy_helper.from_array(np.array(until, np.float32), "until")]
    weights += (
        [numpy_helper.from_array(np.array(limit, np.int64), "limit")] if limit is not None else []
    )
    loop = node(
        "Loop",
        ["limit" if limit is not None else "", "", "x"],
        [item.name for item in outputs],
        body=body,
    )
    return model([loop], [floats("x", 3)], outputs, weights)


KNOWN = [
    node("Shape", ["x"], ["s"]),
    node("Squeeze", ["s"], ["n"]),
    node("Greater", ["n", "two"], ["c"]),
]
DATA = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "one"], ["c"])]
