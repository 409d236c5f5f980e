"""A small model file that is written without a framework and built in no time."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def write_model(path: Path) -> Path:
    """Write y = relu(x @ w) * factor, with a symbolic number of rows."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["b"], "second"),
        helper.make_node("Mul", ["b", "factor"], ["y"], "third"),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4]),
        helper.make_tensor_value_info("factor", TensorProto.FLOAT, []),
    ]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])]
    graph = helper.make_graph(nodes, "graph", inputs, results, [numpy_helper.from_array(W, "w")])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path
    )
    return path
