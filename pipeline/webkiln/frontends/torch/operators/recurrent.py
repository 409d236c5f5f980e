"""RNN, GRU and LSTM: one or two directions. Products with the input are computed for all steps at
once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.recurrent import lstm_update
from webkiln.ops.pieces import element, part, stacked, transposed

CellStep = Callable[[GraphBuilder, Tensor, list[Tensor]], list[Tensor]]


@dataclass(frozen=True, slots=True)
class CellWeights:
    """The weights of one layer and direction: of the input [gates * H, I], of the state [gates * H,
    H or the projection], biases, projection.
    """

    kernel: Tensor
    recurrent: Tensor
    bias: Tensor | None
    recurrent_bias: Tensor | None
    projection: Tensor | None


def affine(b: GraphBuilder, x: Tensor, kernel: Tensor, bias: Tensor | None) -> Tensor:
    y = b.op("MatMul", [x, transposed(b, kernel, (1, 0))])
    return y if bias is None else b.op("Add", [y, bias])


def gates(b: GraphBuilder, x: Tensor, count: int) -> list[Tensor]:
    width = x.shape[-1] // count
    return [part(b, x, x.type.rank - 1, number * width, width) for number in range(count)]


def lstm_step(w: CellWeights) -> CellStep:
    """Gates i, f, g, o."""

    def step(b: GraphBuilder, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        h, memory = states
        arguments = gates(b, b.op("Add", [x, affine(b, h, w.recurrent, w.recurrent_bias)]), 4)
        shown, following = lstm_update(
            arguments, memory, lambda y: b.op("Sigmoid", [y]), lambda y: b.op("Tanh", [y])
        )
        return [shown if w.projection is None else affine(b, shown, w.projection, None), following]

    return step


def gru_step(w: CellWeights) -> CellStep:
    """Gates r, z, n. r multiplies the product of the state after its bias."""

    def step(b: GraphBuilder, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        (h,) = states
        from_input, from_state = (
            gates(b, x, 3),
            gates(b, affine(b, h, w.recurrent, w.recurrent_bias), 3),
        )
        r, z = (b.op("Sigmoid", [b.op("Add", [from_input[n], from_state[n]])]) for n in range(2))
        new = b.op("Tanh", [b.op("Add", [from_input[2], b.op("Mul", [r, from_state[2]])])])
        return [b.op("Add", [b.op("Mul", [1.0 - z, new]), b.op("Mul", [z, h])])]

    return step


def plain_step(activation: str) -> Callable[[CellWeights], CellStep]:
    return lambda w: (
        lambda b, x, states: [
            b.op(
                activation, [b.op("Add", [x, affine(b, states[0], w.recurrent, w.recurrent_bias)])]
            )
        ]
    )


def layers(
    c: AtenCall, params: Sequence[Tensor], directions: int, projected: bool
) -> list[list[CellWeights]]:
    """The weights by layer and direction."""
    biased = bool(c["has_biases"])
    each = 2 + 2 * biased + projected
    cells = []
    for start in range(0, len(params), each):
        kernel, recurrent, *more = params[start : start + each]
        bias, recurrent_bias = (more[0], more[1]) if biased else (None, None)
        cells.append(
            CellWeights(kernel, recurrent, bias, recurrent_bias, more[-1] if projected else None)
        )
    return [cells[start : start + directions] for start in range(0, len(cells), directions)]


def run(
    c: AtenCall,
    make: Callable[[CellWeights], CellStep],
    firsts: Sequence[Tensor],
    *,
    projected: bool = False,
) -> list[Tensor]:
    """All outputs, and the last states [layers * directions, N, H]."""
    if c["batch_sizes"] is not None:
        raise c.unsupported(
            "has a packed sequence as input", "Pass a padded tensor with rows of equal length"
        )
    if c.get("dropout", 0.0) and c.get("train", False):
        raise c.unsupported("applies dropout", "Call model.eval() before it is exported")
    x = c.tensor("input")
    first = bool(c["batch_first"])
    x = transposed(c.b, x, (1, 0, 2)) if first else x
    directions = 2 if c["bidirectional"] else 1
    lasts: list[list[Tensor]] = [[] for _ in firsts]
    for number, row in enumerate(layers(c, c["params"], directions, projected)):
        outputs = []
        for direction, weights in enumerate(row):
            index = number * directions + direction
            starts = [element(c.b, item, 0, index) for item in firsts]
            from_input = affine(c.b, x, weights.kernel, weights.bias)
            ends, y = scanned(c, make(weights), starts, from_input, reverse=direction == 1)
            outputs.append(y)
            for pile, end in zip(lasts, ends, strict=True):
                pile.append(end)
        x = outputs[0] if len(outputs) == 1 else c.op("Concat", *outputs, axis=2)
    return [
        transposed(c.b, x, (1, 0, 2)) if first else x,
        *(stacked(c.b, pile, 0) for pile in lasts),
    ]


def scanned(
    c: AtenCall, step: CellStep, starts: list[Tensor], from_input: Tensor, *, reverse: bool
) -> tuple[list[Tensor], Tensor]:
    def body(
        b: GraphBuilder, states: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        following = step(b, slices[0], states)
        return following, [following[0]]

    ends, piles = c.b.scan(starts, [from_input], body, axis=0, reverse=reverse)
    return ends, piles[0]


def lstm(c: AtenCall) -> list[Tensor]:
    states = list(c["hx"])
    return run(c, lstm_step, states, projected=states[0].shape[-1] != states[1].shape[-1])


def simple(make: Callable[[CellWeights], CellStep]) -> AtenHandler:
    return lambda c: run(c, make, [c.tensor("hx")])


def cell(make: Callable[[CellWeights], CellStep]) -> AtenHandler:
    """One step, for a row of states."""

    def handler(c: AtenCall) -> Tensor | list[Tensor]:
        hx = c["hx"]
        states = list(hx) if isinstance(hx, tuple) else [hx]
        weights = CellWeights(
            c.tensor("w_ih"), c.tensor("w_hh"), c.optional("b_ih"), c.optional("b_hh"), None
        )
        result = make(weights)(
            c.b, affine(c.b, c.tensor("input"), weights.kernel, weights.bias), states
        )
        return result if isinstance(hx, tuple) else result[0]

    return handler


RECURRENT: dict[str, AtenHandler] = {
    "lstm": lstm,
    "gru": simple(gru_step),
    "rnn_tanh": simple(plain_step("Tanh")),
    "rnn_relu": simple(plain_step("Relu")),
    "lstm_cell": cell(lstm_step),
    "gru_cell": cell(gru_step),
    "rnn_tanh_cell": cell(plain_step("Tanh")),
    "rnn_relu_cell": cell(plain_step("Relu")),
}
