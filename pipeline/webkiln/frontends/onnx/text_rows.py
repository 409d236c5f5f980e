"""Nodes that arrange rows of tokens as a file arranges the strings that they come from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

KEEPS_ORDER = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze")


@dataclass
class NodeList:
    """Nodes and constants that are added to a graph."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def add(
        self, op: str, inputs: Sequence[str], target: str | None = None, **attributes: Any
    ) -> str:
        name = target or f"text/{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name="text", **attributes))
        return name

    def constant(self, value: int | list[int]) -> str:
        name = f"text/constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, np.int64), name))
        return name

    def applied(self, moves: Sequence[onnx.NodeProto], source: str) -> str:
        """The output of copies of nodes, the first of which reads `source`."""
        for node in moves:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.name, copy.input[0] = "text", source
            source = f"text/{len(self.nodes)}"
            del copy.output[:]
            copy.output.append(source)
            self.nodes.append(copy)
        return source


def arrange_rows(made: NodeList, rows: str, moves: Sequence[onnx.NodeProto], target: str) -> None:
    """Arrange `rows`, a tensor of the strings' shape and a last axis of tokens, as `moves` arrange
    the strings: by reshaping if the order of the strings stays, else by the numbers of the rows.
    """
    if not moves:
        made.add("Identity", [rows], target)
        return
    first_tokens = made.add("Gather", [rows, made.constant(0)], axis=-1)
    count = made.add("Gather", [made.add("Shape", [rows]), made.constant([-1])])
    if all(node.op_type in KEEPS_ORDER for node in moves):
        shape = made.add("Shape", [made.applied(moves, first_tokens)])
        made.add("Reshape", [rows, made.add("Concat", [shape, count], axis=0)], target)
        return
    shape = made.add("Shape", [first_tokens])
    total = made.add("ReduceProd", [shape], keepdims=0)
    numbers = made.add("Range", [made.constant(0), total, made.constant(1)])
    chosen = made.applied(moves, made.add("Reshape", [numbers, shape]))
    flat = made.add("Concat", [made.constant([-1]), count], axis=0)
    made.add("Gather", [made.add("Reshape", [rows, flat]), chosen], target)
