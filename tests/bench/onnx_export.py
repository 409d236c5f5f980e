"""Converts a channels-last network of webkiln's IR into an ONNX model with channels first, the
layout for which onnxruntime is optimised.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

from webkiln.ir.graph import Graph, Node
from webkiln.ir.types import Array

FIRST = {4: (0, 3, 1, 2)}
"""Rank -> the order of dimensions in the ONNX model."""

Attributes = Mapping[str, Any]


class _Writer:
    def __init__(self, graph: Graph, constants: Mapping[str, Array]) -> None:
        self.graph, self.constants = graph, constants
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.renamed: dict[str, str] = {}

    def constant(self, name: str, value: Array) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def read(self, name: str) -> str:
        """The ONNX name of a variable. A constant becomes an initializer."""
        if name not in self.constants:
            return self.renamed.get(name, name)
        return self.constant(f"{name}/{len(self.initializers)}", self.constants[name])

    def along_channels(self, name: str, rank: int) -> str:
        value = self.constants.get(name)
        if value is None or value.ndim not in (1, 4) or rank != 4:
            return self.read(name)
        transposed_value = value.transpose(FIRST[4]) if value.ndim == 4 else value.reshape(-1, 1, 1)
        return self.constant(f"{name}/{len(self.initializers)}", transposed_value)

    def transposed(self, name: str, to: str, order: Sequence[int]) -> str:
        self.nodes.append(
            helper.make_node("Transpose", [name], [to], perm=[int(axis) for axis in order])
        )
        return to

    def add(self, op: str, node: Node, inputs: list[str], **attrs: Any) -> None:
        self.nodes.append(helper.make_node(op, inputs, [node.name], **attrs))


def _axis(axis: int, rank: int) -> int:
    return FIRST[rank].index(axis) if rank in FIRST else axis


def _padding(attrs: Attributes) -> list[int]:
    return [*attrs["pad_low"], *attrs["pad_high"]]


def _conv(writer: _Writer, node: Node, attrs: Attributes) -> None:
    x, kernel, *bias = node.inputs
    weights = writer.constants[kernel].transpose(attrs["w_dims"])
    if attrs["x_dilation"]:
        _conv_transpose(writer, node, attrs, weights)
        return
    inputs = [
        writer.read(x),
        writer.constant(f"{node.name}/kernel", weights),
        *map(writer.read, bias),
    ]
    writer.add(
        "Conv",
        node,
        inputs,
        strides=attrs["strides"],
        dilations=attrs["dilation"],
        group=attrs["groups"],
        pads=_padding(attrs),
        kernel_shape=weights.shape[2:],
    )


def _conv_transpose(writer: _Writer, node: Node, attrs: Attributes, weights: Array) -> None:
    """ONNX flips the kernel, and crops the output where webkiln pads the dilated input."""
    if {*attrs["strides"], *attrs["dilation"], attrs["groups"]} != {1}:
        raise NotImplementedError(
            f"{node.name}: a transposed convolution with strides, dilation or groups"
        )
    crops = [
        size - 1 - pad
        for side in ("pad_low", "pad_high")
        for size, pad in zip(weights.shape[2:], attrs[side], strict=True)
    ]
    transposed_value = np.flip(weights, (2, 3)).swapaxes(0, 1)
    inputs = [
        writer.read(node.inputs[0]),
        writer.constant(f"{node.name}/kernel", transposed_value),
        *map(writer.read, node.inputs[2:]),
    ]
    writer.add(
        "ConvTranspose",
        node,
        inputs,
        strides=attrs["x_dilation"],
        pads=crops,
        kernel_shape=transposed_value.shape[2:],
    )


def _pool(op: str) -> Callable[[_Writer, Node, Attributes], None]:
    def write(writer: _Writer, node: Node, attrs: Attributes) -> None:
        options = (
            {"count_include_pad": int(attrs["count_include_pad"])} if op == "AveragePool" else {}
        )
        writer.add(
            op,
            node,
            [writer.read(node.inputs[0])],
            kernel_shape=attrs["window"],
            strides=attrs["strides"],
            pads=_padding(attrs),
            **options,
        )

    return write


def _pad(writer: _Writer, node: Node, attrs: Attributes) -> None:
    order = FIRST[len(attrs["low"])]
    widths = np.array([attrs[side][axis] for side in ("low", "high") for axis in order], np.int64)
    value = np.array(attrs["value"], np.float32)
    inputs = [
        writer.read(node.inputs[0]),
        writer.constant(f"{node.name}/widths", widths),
        writer.constant(f"{node.name}/value", value),
    ]
    writer.add("Pad", node, inputs)


def _mean(writer: _Writer, node: Node, attrs: Attributes) -> None:
    if sorted(attrs["axes"]) != [1, 2] or attrs["keepdims"]:
        raise NotImplementedError(f"{node.name}: a mean over {attrs['axes']}")
    pooled = f"{node.name}/pooled"
    writer.nodes.append(
        helper.make_node("GlobalAveragePool", [writer.read(node.inputs[0])], [pooled])
    )
    writer.add("Flatten", node, [pooled])


def _clip(writer: _Writer, node: Node, attrs: Attributes) -> None:
    bounds = [
        writer.constant(f"{node.name}/{side}", np.array(attrs[side], np.float32))
        for side in ("min", "max")
    ]
    writer.add("Clip", node, [writer.read(node.inputs[0]), *bounds])


def _leaky_relu(writer: _Writer, node: Node, attrs: Attributes) -> None:
    writer.add("LeakyRelu", node, list(map(writer.read, node.inputs)), alpha=attrs["alpha"])


def _broadcast(writer: _Writer, node: Node, attrs: Attributes) -> None:
    rank = writer.graph.type(node.name).rank
    writer.add(node.op, node, [writer.along_channels(name, rank) for name in node.inputs])


def _plain(writer: _Writer, node: Node, attrs: Attributes) -> None:
    writer.add(node.op, node, list(map(writer.read, node.inputs)))


def _reshape(writer: _Writer, node: Node, attrs: Attributes) -> None:
    """Elements are in channels-last order."""
    name = writer.read(node.inputs[0])
    if (rank := writer.graph.type(node.inputs[0]).rank) in FIRST:
        name = writer.transposed(name, f"{node.name}/last", np.argsort(FIRST[rank]))
    shape = writer.constant(f"{node.name}/shape", np.array(attrs["shape"], np.int64))
    if (rank := len(attrs["shape"])) not in FIRST:
        writer.add("Reshape", node, [name, shape])
        return
    writer.nodes.append(helper.make_node("Reshape", [name, shape], [f"{node.name}/shaped"]))
    writer.add("Transpose", node, [f"{node.name}/shaped"], perm=FIRST[rank])


def _silu(writer: _Writer, node: Node, attrs: Attributes) -> None:
    x = writer.read(node.inputs[0])
    writer.nodes.append(helper.make_node("Sigmoid", [x], [f"{node.name}/sigmoid"]))
    writer.add("Mul", node, [x, f"{node.name}/sigmoid"])


def _concat(writer: _Writer, node: Node, attrs: Attributes) -> None:
    writer.add(
        "Concat",
        node,
        list(map(writer.read, node.inputs)),
        axis=_axis(attrs["axis"], writer.graph.type(node.name).rank),
    )


def _softmax(writer: _Writer, node: Node, attrs: Attributes) -> None:
    writer.add(
        "Softmax",
        node,
        [writer.read(node.inputs[0])],
        axis=_axis(attrs["axis"], writer.graph.type(node.name).rank),
    )


WRITERS: dict[str, Callable[[_Writer, Node, Attributes], None]] = {
    "Conv": _conv,
    "MaxPool": _pool("MaxPool"),
    "AvgPool": _pool("AveragePool"),
    "Pad": _pad,
    "ReduceMean": _mean,
    "Clip": _clip,
    "LeakyRelu": _leaky_relu,
    "Add": _broadcast,
    "Sub": _broadcast,
    "Mul": _broadcast,
    "Div": _broadcast,
    "Reshape": _reshape,
    "Silu": _silu,
    "Sigmoid": _plain,
    "MatMul": _plain,
    "Relu": _plain,
    "Tanh": _plain,
    "Concat": _concat,
    "Softmax": _softmax,
}


def export(graph: Graph, constants: Mapping[str, Array]) -> bytes:
    """The bytes of the model. `constants`: the values of weights, constants and the constant
    subgraph. Raises KeyError for an operator without a writer.
    """
    writer = _Writer(graph, constants)
    for node in graph.nodes:
        if node.name not in constants:
            WRITERS[node.op](writer, node, node.attrs.as_dict())

    def value_info(name: str) -> Any:
        shape = graph.type(name).shape
        return helper.make_tensor_value_info(
            name,
            TensorProto.FLOAT,
            [shape[axis] for axis in FIRST.get(len(shape), range(len(shape)))],
        )

    outputs = [value_info(name) for name in graph.outputs.values()]
    onnx_graph = helper.make_graph(
        writer.nodes, graph.name, list(map(value_info, graph.inputs)), outputs, writer.initializers
    )
    model = helper.make_model(onnx_graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    return model.SerializeToString()
