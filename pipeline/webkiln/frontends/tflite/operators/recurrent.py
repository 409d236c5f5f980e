"""Recurrent layers: on floats, with int8 weights and inputs quantized at each step, and on
integers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators import recurrent_integers
from webkiln.frontends.tflite.operators.fused import activated
from webkiln.frontends.tflite.operators.hybrid import hybrid
from webkiln.frontends.tflite.operators.integers import BYTES, factor, has, is_quantized
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, part, reshaped, total

EPSILON = 1e-8


def product(call: NodeCall, x: Tensor, index: int) -> Tensor:
    """Multiply rows of x by the weights at an operand position."""

    def multiplied(kind: str, factors: Sequence[Tensor]) -> Tensor:
        return call.op(f"MatMul{kind}", factors, {"transpose_b": True})

    if call.type(index).dtype in BYTES:
        rows = x.type.rank - 1
        return hybrid(call, x, index, multiplied, rows, f"scale{index}", inner=1)
    return multiplied("", [x, call.tensor(index)])


def floats(call: NodeCall, index: int) -> Tensor:
    """Weights used elementwise. Quantized ones become floats."""
    x = call.tensor(index)
    return (
        x
        if x.dtype == "float32"
        else call.op("Mul", [cast(call.builder, x, "float32"), factor(call, f"scale{index}")])
    )


SequenceStep = Callable[[NodeCall, list[Tensor], list[Tensor]], tuple[list[Tensor], Tensor]]
"""(states, slices) -> (next states, result)."""


def stepwise(
    call: NodeCall,
    sequences: Sequence[Tensor],
    states: Sequence[Tensor],
    step: SequenceStep,
    *,
    reverse: bool = False,
) -> tuple[list[Tensor], Tensor]:
    """The last states, and the results over time."""
    axis = 0 if call.attr("time_major", 0) else 1

    def body(
        builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        following, result = step(call.with_operands(builder, call.operands), current, slices)
        return following, [result]

    lasts, (results,) = call.builder.scan(list(states), sequences, body, axis=axis, reverse=reverse)
    return lasts, results


@dataclass(frozen=True)
class LstmOperands:
    """The operand positions of an LSTM: the first of each kind, for the gates input, forget, cell,
    output.
    """

    inputs: int
    recurrent: int
    peephole: int
    bias: int
    projection: int
    norm: int | None
    aux: int | None = None

    def gates(self, call: NodeCall) -> list[int]:
        """The numbers of the gates that have weights: without the first one, if it is coupled."""
        return [number for number in range(4) if has(call, self.inputs + number)]


UNIDIRECTIONAL = LstmOperands(1, 5, 9, 12, 16, 20)
INPUT, FORGET, CELL, OUTPUT = range(4)


def input_products(
    call: NodeCall, operands: LstmOperands, inputs: Sequence[Tensor]
) -> list[Tensor]:
    """What the inputs of any number of steps add to each gate."""
    products = []
    for number in operands.gates(call):
        y = product(call, inputs[0], operands.inputs + number)
        if len(inputs) > 1 and operands.aux is not None and has(call, operands.aux + number):
            y = y + product(call, inputs[1], operands.aux + number)
        products.append(y)
    return products


def gate(
    call: NodeCall,
    operands: LstmOperands,
    number: int,
    added: Tensor,
    h: Tensor,
    cell: Tensor | None,
) -> Tensor:
    """A gate before its activation. `added` is what the inputs add, `cell` the peephole's input."""
    y = added + product(call, h, operands.recurrent + number)
    peephole = operands.peephole + (number if number != OUTPUT else 2)
    if cell is not None and has(call, peephole):
        y = y + call.op("Mul", [floats(call, peephole), cell])
    if operands.norm is not None and has(call, operands.norm + number):
        centred = y - mean(call, y)
        deviation = call.op("Sqrt", [mean(call, centred * centred) + EPSILON])
        y = call.op(
            "Mul", [call.op("Div", [centred, deviation]), call.tensor(operands.norm + number)]
        )
    return y + call.tensor(operands.bias + number) if has(call, operands.bias + number) else y


def mean(call: NodeCall, x: Tensor) -> Tensor:
    return call.op("ReduceMean", [x], {"axes": (x.type.rank - 1,), "keepdims": True})


def lstm_step(
    call: NodeCall, operands: LstmOperands, added: Sequence[Tensor], h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """The next output and cell. `added` are the input products of the gates."""
    by_gate = dict(zip(operands.gates(call), added, strict=True))
    forget = call.op("Sigmoid", [gate(call, operands, FORGET, by_gate[FORGET], h, c)])
    if INPUT in by_gate:
        input_gate = call.op("Sigmoid", [gate(call, operands, INPUT, by_gate[INPUT], h, c)])
    else:
        input_gate = call.builder.binary("Sub", 1.0, forget)
    fresh = activated(call, gate(call, operands, CELL, by_gate[CELL], h, None))
    c = call.op("Add", [call.op("Mul", [forget, c]), call.op("Mul", [input_gate, fresh])])
    c = clipped(call, c, "cell_clip")
    leave = call.op("Sigmoid", [gate(call, operands, OUTPUT, by_gate[OUTPUT], h, c)])
    shown = call.op("Mul", [leave, activated(call, c)])
    if has(call, operands.projection):
        shown = product(call, shown, operands.projection)
        if has(call, operands.projection + 1):
            shown = shown + call.tensor(operands.projection + 1)
        shown = clipped(call, shown, "proj_clip")
    return shown, c


def clipped(call: NodeCall, x: Tensor, name: str) -> Tensor:
    bound = call.attr(name, 0.0)
    return call.op("Clip", [x], {"min": -bound, "max": bound}) if bound > 0 else x


def check(call: NodeCall) -> None:
    if is_quantized(call):
        raise call.unsupported(
            "is an integer recurrent layer",
            "Quantise only its weights (dynamic range), or keep it in float32",
        )


def own_products(call: NodeCall) -> list[Tensor]:
    """The input products of a unidirectional LSTM, on floats or integers."""
    x = call.tensor(0)
    if is_quantized(call):
        return recurrent_integers.input_products(call, x)
    return input_products(call, UNIDIRECTIONAL, [x])


def one_step(
    call: NodeCall, added: Sequence[Tensor], h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """The next output and cell of a unidirectional LSTM, on floats or integers."""
    if is_quantized(call):
        return recurrent_integers.lstm_step(call, added, h, c)
    return lstm_step(call, UNIDIRECTIONAL, added, h, c)


def unidirectional_lstm(call: NodeCall) -> list[Tensor]:
    if is_quantized(call):
        recurrent_integers.check(call)
    if call.attr("diagonal_recurrent_tensors", 0):
        raise call.unsupported(
            "has diagonal recurrent weights", "Convert the model with full weights"
        )

    def step(
        inner: NodeCall, states: list[Tensor], slices: list[Tensor]
    ) -> tuple[list[Tensor], Tensor]:
        h, c = one_step(inner, slices, *states)
        return [h, c], h

    lasts, y = stepwise(call, own_products(call), [call.tensor(18), call.tensor(19)], step)
    return [y, *lasts]


def lstm(call: NodeCall) -> list[Tensor]:
    """One step."""
    if call.attr("kernel_type", "FULL") != "FULL":
        raise call.unsupported(
            "is a basic LSTM cell, as in quantised models of 2017",
            "Convert the model again with the current converter",
        )
    if is_quantized(call):
        recurrent_integers.check(call)
    h, c = one_step(call, own_products(call), call.tensor(18), call.tensor(19))
    return [h, h, c]


def bidirectional_lstm(call: NodeCall) -> list[Tensor]:
    check(call)
    aux = call.tensor(39) if has(call, 39) else None
    both = has(call, 40)
    x = call.tensor(0)
    results, states = [], []
    for offset, state, aux_weights, backward in ((0, 35, 40, False), (17, 37, 44, True)):
        operands = LstmOperands(
            1 + offset, 5 + offset, 9 + offset, 12 + offset, 16 + offset, None, aux_weights
        )
        own = x if not backward or aux is None or both else aux

        def step(
            inner: NodeCall,
            current: list[Tensor],
            slices: list[Tensor],
            operands: LstmOperands = operands,
        ) -> tuple[list[Tensor], Tensor]:
            h, c = lstm_step(inner, operands, slices, *current)
            return [h, c], h

        lasts, y = stepwise(
            call,
            input_products(call, operands, [own] if aux is None or not both else [own, aux]),
            [call.tensor(state), call.tensor(state + 1)],
            step,
            reverse=backward,
        )
        results.append(y)
        states += lasts
    return [*merged(call, results), *states]


def merged(call: NodeCall, results: Sequence[Tensor]) -> list[Tensor]:
    return (
        [call.op("Concat", results, {"axis": 2})]
        if call.attr("merge_outputs", 0)
        else list(results)
    )


def rnn_step(call: NodeCall, added: Tensor, h: Tensor, first: int) -> Tensor:
    """The operands from `first` on are weights, recurrent weights, bias. `added` is the product of
    the input.
    """
    return activated(call, added + product(call, h, first + 1) + call.tensor(first + 2))


def rnn(call: NodeCall) -> list[Tensor]:
    check(call)
    h = rnn_step(call, product(call, call.tensor(0), 1), call.tensor(4), 1)
    return [h, h]


def unidirectional_rnn(call: NodeCall) -> list[Tensor]:
    check(call)

    def step(
        inner: NodeCall, states: list[Tensor], slices: list[Tensor]
    ) -> tuple[list[Tensor], Tensor]:
        h = rnn_step(inner, slices[0], states[0], 1)
        return [h], h

    lasts, y = stepwise(call, [product(call, call.tensor(0), 1)], [call.tensor(4)], step)
    return [y, *lasts]


def bidirectional_rnn(call: NodeCall) -> list[Tensor]:
    check(call)
    if has(call, 10):
        raise call.unsupported("has weights for auxiliary inputs", "Use two unidirectional layers")
    results, states = [], []
    for first, backward in ((1, False), (5, True)):
        own = call.tensor(9) if backward and has(call, 9) else call.tensor(0)

        def step(
            inner: NodeCall, current: list[Tensor], slices: list[Tensor], first: int = first
        ) -> tuple[list[Tensor], Tensor]:
            h = rnn_step(inner, slices[0], current[0], first)
            return [h], h

        lasts, y = stepwise(
            call, [product(call, own, first)], [call.tensor(first + 3)], step, reverse=backward
        )
        results.append(y)
        states += lasts
    return [*merged(call, results), *states]


def svdf(call: NodeCall) -> list[Tensor]:
    """SVDF: filter features, keep the results of several steps, filter these over time, and sum by
    rank.
    """
    if is_quantized(call):
        return recurrent_integers.svdf(call)
    b, x = call.builder, call.tensor(0)
    filters, memory = call.type(2).shape
    rank = call.attr("rank")
    features = product(call, x, 1)
    state = reshaped(b, call.tensor(4), (x.shape[0], filters, memory))
    kept = call.op(
        "Concat",
        [part(b, state, 2, 1, memory - 1), reshaped(b, features, (x.shape[0], filters, 1))],
        {"axis": 2},
    )
    sums = total(b, call.op("Mul", [kept, floats(call, 2)]), 2)
    y = total(b, reshaped(b, sums, (x.shape[0], filters // rank, rank)), 2)
    y = y + call.tensor(3) if has(call, 3) else y
    return [activated(call, y), reshaped(b, kept, call.type(4).shape)]


RECURRENT: dict[str, NodeHandler] = {
    "LSTM": lstm,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": unidirectional_lstm,
    "BIDIRECTIONAL_SEQUENCE_LSTM": bidirectional_lstm,
    "RNN": rnn,
    "UNIDIRECTIONAL_SEQUENCE_RNN": unidirectional_rnn,
    "BIDIRECTIONAL_SEQUENCE_RNN": bidirectional_rnn,
    "SVDF": svdf,
}
