"""LSTM and GRU cells and LSTM sequences as single operators.

https://www.tensorflow.org/api_docs/python/tf/raw_ops/BlockLSTM
"""

from collections.abc import Mapping, Sequence

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import is_symbolic
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import part

OLD, NEW = (0, 1, 2, 3), (0, 2, 1, 3)
"""The positions of the gates input, cell, forget, output. In `BlockLSTMV2`, forget is second."""


def affine(b: GraphBuilder, x: Tensor, h: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    return b.op("MatMul", [b.op("Concat", [x, h], {"axis": 1}), kernel]) + bias


def pieces(b: GraphBuilder, x: Tensor, count: int) -> list[Tensor]:
    width = x.shape[1] // count
    return [part(b, x, 1, number * width, width) for number in range(count)]


class BlockCell:
    """The options and weights of a node, whose operands from `first` on are x, memory, h, kernel,
    three peepholes, bias.
    """

    def __init__(
        self, call: NodeCall, first: int, order: Sequence[int], *, forget: float, clip: float
    ) -> None:
        self.kernel, *self.peepholes, self.bias = (
            call.tensor(first + number) for number in range(3, 8)
        )
        self.order, self.forget, self.clip = (
            order,
            call.attr("forget_bias", forget),
            call.attr("cell_clip", clip),
        )
        self.peeks = call.flag("use_peephole")

    def step(self, b: GraphBuilder, x: Tensor, memory: Tensor, h: Tensor) -> list[Tensor]:
        """The seven outputs: i, cs, f, o, ci, co, h."""
        kernel, bias, *peepholes = (
            b.capture(item) for item in (self.kernel, self.bias, *self.peepholes)
        )
        gates = pieces(b, affine(b, x, h, kernel, bias), 4)
        input_gate, new, forget, output = (gates[index] for index in self.order)
        if self.peeks:
            input_gate, forget = input_gate + memory * peepholes[0], forget + memory * peepholes[1]
        i, ci, f = (
            b.op("Sigmoid", [input_gate]),
            b.op("Tanh", [new]),
            b.op("Sigmoid", [forget + self.forget if self.forget else forget]),
        )
        cs = ci * i + memory * f
        if self.clip > 0:
            cs = b.op("Clip", [cs], {"min": -self.clip, "max": self.clip})
        o = b.op("Sigmoid", [output + cs * peepholes[2] if self.peeks else output])
        co = b.op("Tanh", [cs])
        return [i, cs, f, o, ci, co, co * o]


def lstm_cell(call: NodeCall) -> list[Tensor]:
    cell = BlockCell(call, 0, OLD, forget=1.0, clip=3.0)
    return cell.step(call.builder, *call.tensors()[:3])


def lstm(order: Sequence[int], *, forget: float, clip: float) -> NodeHandler:
    """[time, N, in], up to `seq_len_max` steps. All outputs of each step, followed by zeros."""

    def handler(call: NodeCall) -> list[Tensor]:
        cell = BlockCell(call, 1, order, forget=forget, clip=clip)
        x, memory, h = (call.tensor(number) for number in range(1, 4))
        steps, length = x.shape[0], call.sizes(0)[0]
        if length != steps and (is_symbolic(length) or is_symbolic(steps)):
            raise call.unsupported(
                "runs fewer steps than the sequence has; their number is set at run time",
                "Set the size with --dim",
            )
        missing = 0 if length == steps else max(steps - length, 0)
        sequence = part(call.builder, x, 0, 0, length) if missing else x

        def step(
            b: GraphBuilder, states: list[Tensor], slices: list[Tensor]
        ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
            outputs = cell.step(b, slices[0], *states)
            return [outputs[1], outputs[6]], outputs

        _, piles = call.builder.scan([memory, h], [sequence], step, axis=0)
        return [
            call.op("Pad", [pile], {"low": (0, 0, 0), "high": (missing, 0, 0), "value": 0})
            if missing
            else pile
            for pile in piles
        ]

    return handler


def gru_cell(call: NodeCall) -> list[Tensor]:
    """r, u, c, h."""
    b = call.builder
    x, h, gates, kernel, gate_bias, bias = call.tensors()
    r, u = pieces(b, b.op("Sigmoid", [affine(b, x, h, gates, gate_bias)]), 2)
    c = b.op("Tanh", [affine(b, x, h * r, kernel, bias)])
    return [r, u, c, (1.0 - u) * c + u * h]


RECURRENT: Mapping[str, NodeHandler] = {
    "LSTMBlockCell": lstm_cell,
    "BlockLSTM": lstm(OLD, forget=1.0, clip=3.0),
    "BlockLSTMV2": lstm(NEW, forget=0.0, clip=0.0),
    "GRUBlockCell": gru_cell,
}
