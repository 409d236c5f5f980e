"""Recurrent layers. Time is the first axis; an input of 0 marks the start of a sequence."""

from collections.abc import Callable, Sequence
from math import prod

from webkiln.frontends.caffe.operators.operands import blob, bottoms
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import filled, part, reshaped

RecurrentStep = Callable[[GraphBuilder, Tensor, Tensor, list[Tensor]], tuple[list[Tensor], Tensor]]
"""(projected inputs, continuation marks, states) -> (next states, output)."""


def lstm(call: NodeCall) -> list[Tensor]:
    """LSTM. Gates: input, forget, output, candidate. Weights: of x, with a bias, of the static
    input, of the state.
    """
    size = call.attr("num_output")

    def step(
        b: GraphBuilder, gates: Tensor, continues: Tensor, states: list[Tensor]
    ) -> tuple[list[Tensor], Tensor]:
        h, c = states
        total = gates + b.op("MatMul", [h * continues, recurrent])
        i, f, o, g = (part(b, total, 1, index * size, size) for index in range(4))
        forget = b.op("Sigmoid", [f]) * continues
        following = forget * c + b.op("Sigmoid", [i]) * b.op("Tanh", [g])
        shown = b.op("Sigmoid", [o]) * b.op("Tanh", [following])
        return [shown, following], shown

    recurrent = _transposed_blob(call, _last(call), (4 * size, size))
    return _unrolled(call, 4 * size, ("h", "c"), step)


def rnn(call: NodeCall) -> list[Tensor]:
    """RNN. Weights: of x, with a bias, of the static input, of the state, of the output, with a
    bias.
    """
    size = call.attr("num_output")

    def step(
        b: GraphBuilder, inputs: Tensor, continues: Tensor, states: list[Tensor]
    ) -> tuple[list[Tensor], Tensor]:
        following = b.op("Tanh", [inputs + b.op("MatMul", [states[0] * continues, recurrent])])
        return [following], b.op("Tanh", [b.op("Add", [b.op("MatMul", [following, out]), bias])])

    first = _last(call) - 2
    recurrent, out = (_transposed_blob(call, number, (size, size)) for number in (first, first + 1))
    bias = blob(call, first + 2, (size,))
    return _unrolled(call, size, ("h",), step)


def _last(call: NodeCall) -> int:
    return int(call.attr("blobs")) - 1


def _transposed_blob(call: NodeCall, index: int, shape: tuple[Size, Size]) -> Tensor:
    return call.op("Transpose", [blob(call, index, shape)], {"perm": (1, 0)})


def _unrolled(
    call: NodeCall, width: int, names: Sequence[str], step: RecurrentStep
) -> list[Tensor]:
    """The outputs of all steps. As in Caffe, states persist between runs until a sequence starts.
    If the layer exposes them, they are inputs and outputs.
    """
    b, operands, size = call.builder, bottoms(call), call.attr("num_output")
    exposed = names if call.attr("expose_hidden") else ()
    if size < 1 or len(operands) not in (2 + len(exposed), 3 + len(exposed)):
        raise call.error(
            f"has {len(operands)} bottoms and {size} outputs; expected"
            " x, the sequence markers, an optional static input"
        )
    x, continues = operands[:2]
    steps, batch, features = x.shape[0], x.shape[1], prod(x.shape[2:])
    kernel = _transposed_blob(call, 0, (width, features))
    inputs = b.op(
        "Add",
        [
            b.op("MatMul", [reshaped(b, x, (steps, batch, features)), kernel]),
            blob(call, 1, (width,)),
        ],
    )
    if len(operands) > 2 + len(exposed):
        same = reshaped(b, operands[2], (batch, prod(operands[2].shape[1:])))
        inputs = b.op(
            "Add",
            [inputs, b.op("MatMul", [same, _transposed_blob(call, 2, (width, same.shape[1]))])],
        )
    if exposed:
        firsts = [reshaped(b, item, (batch, size)) for item in operands[-len(names) :]]
    else:
        if is_symbolic(batch):
            raise call.unsupported(
                f"keeps its state between runs, for {batch} sequences",
                "Set their number with --dim or --input-shape",
            )
        firsts = [
            b.state(f"{call.spec.name}/{name}", filled(b, 0.0, x.dtype, (batch, size)))
            for name in names
        ]

    def body(
        inside: GraphBuilder, states: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        following, shown = step(inside, slices[0], slices[1], states)
        return following, [shown]

    lasts, outputs = b.scan(
        firsts, [inputs, reshaped(b, continues, (steps, batch, 1))], body, axis=0
    )
    if not exposed:
        for name, last in zip(names, lasts, strict=True):
            b.set_state(f"{call.spec.name}/{name}", last)
    return (
        [outputs[0], *(reshaped(b, last, (1, batch, size)) for last in lasts)]
        if exposed
        else [outputs[0]]
    )


RECURRENT: dict[str, NodeHandler] = {"LSTM": lstm, "RNN": rnn}
