"""A channels-last network of webkiln's IR as the calls of TensorFlow.js that compute it, with what it can fuse fused, as its converter does."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.ir.graph import Graph, Node
from webkiln.ir.types import Array
from webkiln.ops.table import complete

FUSED = {"Relu": "relu", "Clip": "relu6"}
PLAIN = {
    "Add": (), "Mul": (), "MatMul": (), "Relu": (), "Tanh": (), "Softmax": ("axis",), "Concat": ("axis",), "LeakyRelu": ("alpha",), "Clip": ("min", "max"),
    "ReduceMean": ("axes", "keepdims"), "MaxPool": ("window", "strides", "pad_low", "pad_high"), "AvgPool": ("window", "strides", "pad_low", "pad_high"), "Pad": ("low", "high", "value"),
}  # fmt: skip
"""Operator -> the attributes that bench_networks.mjs reads. Of convolutions it is written out below."""


def export(graph: Graph, fixed: Mapping[str, Array], folder: Path) -> None:
    """Write `calls.json` and `calls.bin` (float32). NotImplementedError names an operator that it does not know."""
    nodes = [node for node in graph.nodes if node.name not in fixed]
    readers: dict[str, list[Node]] = {}
    for node in nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    constants: dict[str, Array] = {}
    calls: list[dict[str, Any]] = []
    renamed: dict[str, str] = {}
    for node in nodes:
        call = _conv(node, fixed, constants) if node.op == "Conv" else _plain(node, fixed, constants)
        producer = calls[-1] if calls else None
        alone = len(readers[node.inputs[0]]) == 1
        if (
            node.op in FUSED
            and producer is not None
            and producer["op"].endswith("Conv")
            and producer["name"] == node.inputs[0]
            and alone
            and _rectifies(node)
        ):
            producer["activation"] = FUSED[node.op]
            renamed[node.name] = producer["name"]
            continue
        call["inputs"] = [renamed.get(name, name) for name in call["inputs"]]
        calls.append(call)
    places, offset = {}, 0
    with (folder / "calls.bin").open("wb") as file:
        for name, value in constants.items():
            file.write(np.ascontiguousarray(value, np.float32).tobytes())
            places[name] = {"offset": offset, "shape": value.shape}
            offset += value.size
    (output,) = graph.outputs.values()
    (folder / "calls.json").write_text(json.dumps({"constants": places, "calls": calls, "output": renamed.get(output, output)}))


def _rectifies(node: Node) -> bool:
    attrs = complete(node)
    return node.op == "Relu" or (attrs["min"], attrs["max"]) == (0, 6)


def _plain(node: Node, fixed: Mapping[str, Array], constants: dict[str, Array]) -> dict[str, Any]:
    if node.op not in PLAIN:
        raise NotImplementedError(f"{node.name}: {node.op}")
    constants |= {name: fixed[name] for name in node.inputs if name in fixed}
    attrs = complete(node)
    return {"op": node.op, "name": node.name, "inputs": list(node.inputs)} | {name: attrs[name] for name in PLAIN[node.op]}


def _conv(node: Node, fixed: Mapping[str, Array], constants: dict[str, Array]) -> dict[str, Any]:
    x, kernel, *bias = node.inputs
    attrs = complete(node)
    weights = fixed[kernel].transpose(attrs["w_dims"])
    depthwise = attrs["groups"] > 1
    if attrs["x_dilation"] or (depthwise and weights.shape[:2] != (attrs["groups"], 1)):
        raise NotImplementedError(f"{node.name}: a transposed convolution, or one of groups")
    constants[kernel] = weights.transpose((2, 3, 0, 1) if depthwise else (2, 3, 1, 0))
    constants |= {name: fixed[name] for name in bias}
    more = {name: attrs[name] for name in ("strides", "dilation", "pad_low", "pad_high")}
    return {"op": "DepthwiseConv" if depthwise else "Conv", "name": node.name, "inputs": [x, kernel, *bias], **more}
