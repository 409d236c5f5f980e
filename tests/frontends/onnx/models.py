"""Small ONNX models, written with the onnx package."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21


def weight(name: str, *shape: int, seed: int = 0) -> onnx.TensorProto:
    values = np.random.default_rng([seed, len(name), *shape]).standard_normal(shape) * 0.4
    return numpy_helper.from_array(values.astype(np.float32), name)


def literal(name: str, values: Sequence[int]) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name: str, *shape: int | str | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Sequence[onnx.TensorProto] = (),
    opset: int = OPSET,
    microsoft: bool = False,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    opsets = [
        helper.make_opsetid("", opset),
        *([helper.make_opsetid("com.microsoft", 1)] if microsoft else []),
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def classifier() -> onnx.ModelProto:
    """Convolution, pooling and a dense layer, with a symbolic batch size."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "kernel", "bias"], ["c__12"], "conv__7", pads=[1, 1, 1, 1]),
        node("Relu", ["c__12"], ["r"], "relu"),
        node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "dense", "dense_bias"], ["g"], "dense", transB=1),
        node("Softmax", ["g"], ["y"]),
    ]
    weights = [
        weight("kernel", 4, 1, 3, 3),
        weight("bias", 4),
        weight("dense", 10, 64),
        weight("dense_bias", 10),
    ]
    return model(nodes, [floats("x", "batch", 1, 8, 8)], [floats("y", "batch", 10)], weights)


def dynamic() -> onnx.ModelProto:
    """Shape arithmetic of exporters: [N, T, 12] -> heads, products, and back."""
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["n"], axis=0),
        node("Gather", ["shape", "one"], ["t"], axis=0),
        node("Unsqueeze", ["n", "axis"], ["n1"]),
        node("Unsqueeze", ["t", "axis"], ["t1"]),
        node("Concat", ["n1", "t1", "heads"], ["split"], axis=0),
        node("Reshape", ["x", "split"], ["a"]),
        node("Transpose", ["a"], ["b"], perm=[0, 2, 1, 3]),
        node("Transpose", ["a"], ["k"], perm=[0, 2, 3, 1]),
        node("MatMul", ["b", "k"], ["scores"]),
        node("Softmax", ["scores"], ["p"]),
        node("MatMul", ["p", "b"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Mul", ["t1", "n1"], ["rows"]),
        node("Concat", ["rows", "width"], ["flat"], axis=0),
        node("Reshape", ["back", "flat"], ["y"]),
    ]
    weights = [
        numpy_helper.from_array(np.array(0), "zero"),
        numpy_helper.from_array(np.array(1), "one"),
        literal("axis", [0]),
        literal("heads", [3, 4]),
        literal("width", [12]),
    ]
    return model(nodes, [floats("x", "N", None, 12)], [floats("y", None, 12)], weights)
