"""Converts a channels-last network of webkiln's IR into calls of TensorFlow.js. Activations are
fused as by the TensorFlow.js converter.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.ir.graph import Graph, Node
from webkiln.ir.types import Array

FUSED = {"Relu": "relu", "Clip": "relu6"}
PLAIN = {
    "Add": (),
    "Sub": (),
    "Mul": (),
    "Div": (),
    "MatMul": (),
    "Square": (),
    "Rsqrt": (),
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "Silu": (),
    "Gelu": (),
    "Softmax": ("axis",),
    "Concat": ("axis",),
    "LeakyRelu": ("alpha",),
    "Clip": ("min", "max"),
    "Reshape": ("shape",),
    "Transpose": ("perm",),
    "Einsum": ("equation",),
    "Slice": ("starts", "sizes", "steps"),
    "ReduceMean": ("axes", "keepdims"),
    "Pad": ("low", "high", "value"),
    "MaxPool": ("window", "strides", "pad_low", "pad_high"),
    "AvgPool": ("window", "strides", "pad_low", "pad_high"),
}
"""Operator -> the attributes that bench_networks.mjs reads. Convolutions and recurrences have
functions below.
"""


def export(graph: Graph, known_values: Mapping[str, Array], folder: Path) -> None:
    """Write `calls.json` and `calls.bin` (float32). Raises NotImplementedError for an unsupported
    operator.
    """
    constants: dict[str, Array] = {}
    calls, renamed = _calls(
        [node for node in graph.nodes if node.name not in known_values], known_values, constants
    )
    entries, offset = {}, 0
    with (folder / "calls.bin").open("wb") as file:
        for name, value in constants.items():
            file.write(np.ascontiguousarray(value, np.float32).tobytes())
            entries[name] = {"offset": offset, "shape": value.shape}
            offset += value.size
    outputs = {key: renamed.get(name, name) for key, name in graph.outputs.items()}
    (folder / "calls.json").write_text(
        json.dumps({"constants": entries, "calls": calls, "outputs": outputs})
    )


def _calls(
    nodes: Sequence[Node], known_values: Mapping[str, Array], constants: dict[str, Array]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The calls of nodes in order, and the new names of outputs. A ReLU after a convolution is
    fused into it; its output gets the name of the convolution.
    """
    readers = Counter(name for node in nodes for name in node.inputs)
    calls: list[dict[str, Any]] = []
    renamed: dict[str, str] = {}
    for node in nodes:
        constants |= {
            name: known_values[name]
            for name in node.inputs
            if name in known_values and node.op != "Conv"
        }
        producer = calls[-1] if calls else {"op": "", "name": ""}
        if (
            _rectifies(node)
            and producer["op"].endswith("Conv")
            and producer["name"] == node.inputs[0]
            and readers[node.inputs[0]] == 1
        ):
            producer["activation"] = FUSED[node.op]
            renamed[node.name] = producer["name"]
            continue
        call = _CONVERTERS.get(node.op, _plain)(node, known_values, constants)
        call["inputs"] = [renamed.get(name, name) for name in call["inputs"]]
        calls.append(call)
    return calls, renamed


def _rectifies(node: Node) -> bool:
    attrs = node.attrs.as_dict()
    return node.op == "Relu" or (node.op == "Clip" and (attrs["min"], attrs["max"]) == (0, 6))


def _plain(
    node: Node, known_values: Mapping[str, Array], constants: dict[str, Array]
) -> dict[str, Any]:
    if node.op not in PLAIN:
        raise NotImplementedError(f"{node.name}: {node.op}")
    attrs = node.attrs.as_dict()
    return {
        "op": node.op,
        "names": node.outputs,
        "name": node.name,
        "inputs": list(node.inputs),
    } | {name: attrs[name] for name in PLAIN[node.op]}


def _scan(
    node: Node, known_values: Mapping[str, Array], constants: dict[str, Array]
) -> dict[str, Any]:
    """A loop in JavaScript over calls, as in a recurrent layer of TensorFlow.js."""
    attrs = node.attrs.as_dict()
    body = attrs["body"]
    if attrs["out_axes"] or attrs["reverse"]:
        raise NotImplementedError(
            f"{node.name}: a recurrence with outputs of each step, or from the last one"
        )
    calls, renamed = _calls(body.nodes, known_values, constants)
    step = {
        "inputs": list(body.inputs),
        "calls": calls,
        "outputs": [renamed.get(name, name) for name in body.outputs.values()],
    }
    return {
        "op": "Scan",
        "names": node.outputs,
        "name": node.name,
        "inputs": list(node.inputs),
        "axes": attrs["axes"],
        "body": step,
    }


def _conv(
    node: Node, known_values: Mapping[str, Array], constants: dict[str, Array]
) -> dict[str, Any]:
    x, kernel, *bias = node.inputs
    attrs = node.attrs.as_dict()
    weights = known_values[kernel].transpose(attrs["w_dims"])
    depthwise = attrs["groups"] > 1
    if attrs["x_dilation"]:
        return _conv_transpose(node, attrs, weights, known_values, constants)
    if depthwise and weights.shape[:2] != (attrs["groups"], 1):
        raise NotImplementedError(f"{node.name}: a convolution of groups")
    constants[kernel] = weights.transpose((2, 3, 0, 1) if depthwise else (2, 3, 1, 0))
    constants |= {name: known_values[name] for name in bias}
    padding = {name: attrs[name] for name in ("strides", "dilation", "pad_low", "pad_high")}
    return {
        "op": "DepthwiseConv" if depthwise else "Conv",
        "names": node.outputs,
        "name": node.name,
        "inputs": [x, kernel, *bias],
        **padding,
    }


def _conv_transpose(
    node: Node,
    attrs: Mapping[str, Any],
    weights: Array,
    known_values: Mapping[str, Array],
    constants: dict[str, Array],
) -> dict[str, Any]:
    """TensorFlow.js flips the kernel, with the output channels before the input channels."""
    if {*attrs["strides"], *attrs["dilation"], attrs["groups"]} != {1}:
        raise NotImplementedError(
            f"{node.name}: a transposed convolution with strides, dilation or groups"
        )
    x, kernel, *bias = node.inputs
    constants[kernel] = np.flip(weights, (2, 3)).transpose(2, 3, 0, 1)
    constants |= {name: known_values[name] for name in bias}
    sides = {name: attrs[name] for name in ("pad_low", "pad_high")}
    return {
        "op": "ConvTranspose",
        "names": node.outputs,
        "name": node.name,
        "inputs": [x, kernel, *bias],
        "strides": attrs["x_dilation"],
        **sides,
    }


_CONVERTERS = {"Conv": _conv, "Scan": _scan}
