"""Recurrent layers: on floats, with int8 weights and inputs quantized at each step, and on
integers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators import recurrent_integers
from webkiln.frontends.tflite.operators.fused import activated
from webkiln.frontends.tflite.operators.hybrid import hybrid
from webkiln.frontends.tflite.operators.integers import factor, has, is_quantized
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, part, reshaped, total

EPSILON = 1e-8


def product(call: NodeCall, x: Tensor, place: int) -> Tensor:
    """Multiply rows of x by the weights at an operand position."""
    weights = call.type(place)

    def multiplied(a: Tensor, w: Tensor) -> Tensor:
        return call.op("MatMul", [a, w], {"transpose_b": True})

    if weights.dtype in ("int8", "uint8"):
        return hybrid(call, x, place, multiplied, name=f"scale{place}")
    return multiplied(x, call.tensor(place))


def floats(call: NodeCall, place: int) -> Tensor:
    """Weights used elementwise. Quantized ones become floats."""
    x = call.tensor(place)
    return (
        x
        if x.dtype == "float32"
        else call.op("Mul", [cast(call.builder, x, "float32"), factor(call, f"scale{place}")])
    )


SequenceStep = Callable[[NodeCall, list[Tensor], list[Tensor]], tuple[list[Tensor], Tensor]]
"""(states, slices) -> (next states, result)."""


def stepwise(
    call: NodeCall,
    x: Tensor,
    states: Sequence[Tensor],
    step: SequenceStep,
    *,
    reverse: bool = False,
    aux: Tensor | None = None,
) -> tuple[list[Tensor], Tensor]:
    """The last states, and the results over time."""
    axis = 0 if call.attr("time_major", 0) else 1

    def body(
        builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        following, result = step(call.with_operands(builder, call.operands), current, slices)
        return following, [result]

    lasts, (results,) = call.builder.scan(
        list(states), [x] if aux is None else [x, aux], body, axis=axis, reverse=reverse
    )
    return lasts, results


@dataclass(frozen=True)
class LstmPlaces:
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


UNIDIRECTIONAL = LstmPlaces(1, 5, 9, 12, 16, 20)
INPUT, FORGET, CELL, OUTPUT = range(4)


def gate(
    call: NodeCall,
    places: LstmPlaces,
    number: int,
    given: Sequence[Tensor],
    h: Tensor,
    cell: Tensor | None,
) -> Tensor:
    """A gate before its activation. `cell` is the peephole's input."""
    y = product(call, given[0], places.inputs + number)
    if len(given) > 1 and places.aux is not None and has(call, places.aux + number):
        y = y + product(call, given[1], places.aux + number)
    y = y + product(call, h, places.recurrent + number)
    peephole = places.peephole + (number if number != OUTPUT else 2)
    if cell is not None and has(call, peephole):
        y = y + call.op("Mul", [floats(call, peephole), cell])
    if places.norm is not None and has(call, places.norm + number):
        centred = y - mean(call, y)
        deviation = call.op("Sqrt", [mean(call, centred * centred) + EPSILON])
        y = call.op(
            "Mul", [call.op("Div", [centred, deviation]), call.tensor(places.norm + number)]
        )
    return y + call.tensor(places.bias + number) if has(call, places.bias + number) else y


def mean(call: NodeCall, x: Tensor) -> Tensor:
    return call.op("ReduceMean", [x], {"axes": (x.type.rank - 1,), "keepdims": True})


def lstm_step(
    call: NodeCall, places: LstmPlaces, given: Sequence[Tensor], h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """The next output and cell."""
    forget = call.op("Sigmoid", [gate(call, places, FORGET, given, h, c)])
    if has(call, places.inputs + INPUT):
        taken = call.op("Sigmoid", [gate(call, places, INPUT, given, h, c)])
    else:
        taken = call.builder.binary("Sub", 1.0, forget)
    fresh = activated(call, gate(call, places, CELL, given, h, None))
    c = call.op("Add", [call.op("Mul", [forget, c]), call.op("Mul", [taken, fresh])])
    c = clipped(call, c, "cell_clip")
    shown = call.op(
        "Mul", [call.op("Sigmoid", [gate(call, places, OUTPUT, given, h, c)]), activated(call, c)]
    )
    if has(call, places.projection):
        shown = product(call, shown, places.projection)
        if has(call, places.projection + 1):
            shown = shown + call.tensor(places.projection + 1)
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


def one_step(call: NodeCall, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The next output and cell of a unidirectional LSTM, on floats or integers."""
    if is_quantized(call):
        return recurrent_integers.lstm_step(call, x, h, c)
    return lstm_step(call, UNIDIRECTIONAL, [x], h, c)


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
        h, c = one_step(inner, slices[0], *states)
        return [h, c], h

    lasts, y = stepwise(call, call.tensor(0), [call.tensor(18), call.tensor(19)], step)
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
    h, c = one_step(call, call.tensor(0), call.tensor(18), call.tensor(19))
    return [h, h, c]


def bidirectional_lstm(call: NodeCall) -> list[Tensor]:
    check(call)
    aux = call.tensor(39) if has(call, 39) else None
    both = has(call, 40)
    x = call.tensor(0)
    results, states = [], []
    for offset, state, aux_weights, turned in ((0, 35, 40, False), (17, 37, 44, True)):
        places = LstmPlaces(
            1 + offset, 5 + offset, 9 + offset, 12 + offset, 16 + offset, None, aux_weights
        )
        own = x if not turned or aux is None or both else aux

        def step(
            inner: NodeCall,
            current: list[Tensor],
            slices: list[Tensor],
            places: LstmPlaces = places,
        ) -> tuple[list[Tensor], Tensor]:
            h, c = lstm_step(inner, places, slices, *current)
            return [h, c], h

        lasts, y = stepwise(
            call,
            own,
            [call.tensor(state), call.tensor(state + 1)],
            step,
            reverse=turned,
            aux=aux if both else None,
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


def rnn_step(call: NodeCall, x: Tensor, h: Tensor, first: int) -> Tensor:
    """The operands from `first` on are weights, recurrent weights, bias."""
    y = product(call, x, first) + product(call, h, first + 1) + call.tensor(first + 2)
    return activated(call, y)


def rnn(call: NodeCall) -> list[Tensor]:
    check(call)
    h = rnn_step(call, call.tensor(0), call.tensor(4), 1)
    return [h, h]


def unidirectional_rnn(call: NodeCall) -> list[Tensor]:
    check(call)

    def step(
        inner: NodeCall, states: list[Tensor], slices: list[Tensor]
    ) -> tuple[list[Tensor], Tensor]:
        h = rnn_step(inner, slices[0], states[0], 1)
        return [h], h

    lasts, y = stepwise(call, call.tensor(0), [call.tensor(4)], step)
    return [y, *lasts]


def bidirectional_rnn(call: NodeCall) -> list[Tensor]:
    check(call)
    if has(call, 10):
        raise call.unsupported("has weights for auxiliary inputs", "Use two unidirectional layers")
    results, states = [], []
    for first, turned in ((1, False), (5, True)):
        own = call.tensor(9) if turned and has(call, 9) else call.tensor(0)

        def step(
            inner: NodeCall, current: list[Tensor], slices: list[Tensor], first: int = first
        ) -> tuple[list[Tensor], Tensor]:
            h = rnn_step(inner, slices[0], current[0], first)
            return [h], h

        lasts, y = stepwise(call, own, [call.tensor(first + 3)], step, reverse=turned)
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
