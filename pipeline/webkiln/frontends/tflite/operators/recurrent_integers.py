"""Steps of int8 recurrent layers. Gates and cells have 16 bits, and are rounded as in the
interpreter.
"""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.tflite.operators.fixed import sigmoid_16, tanh_16
from webkiln.frontends.tflite.operators.integers import (
    bounded,
    has,
    limits,
    more,
    requantized,
    rounded_right,
    scaled,
    zero,
)
from webkiln.frontends.tflite.recurrences import GATES, PEEPHOLES
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, part, reshaped, total

STATE, CELL, PROJECTION = 18, 19, 16


def check(call: NodeCall) -> None:
    if "hidden" not in call.attr("extra", ()):
        raise call.unsupported(
            "is an integer LSTM, but not of int8 with an int16 cell whose scale is a power of 2",
            "Quantise it to int8 with the current converter, or only its weights",
        )
    if has(call, 21):
        raise call.unsupported(
            "is an integer LSTM with layer normalisation",
            "Quantise only its weights (dynamic range)",
        )


def wide(call: NodeCall, x: Tensor) -> Tensor:
    return cast(call.builder, x, "int32")


def narrow(call: NodeCall, x: Tensor, dtype: str = "int16") -> Tensor:
    """Clamp an int32 to the range of a dtype."""
    return bounded(call, x, *limits(dtype))


def product(call: NodeCall, x: Tensor, x_zero: int, index: int, bias: int, name: str) -> Tensor:
    """Multiply rows of x (int8) without its zero point by the weights at one operand position, add
    the bias at another, and rescale.
    """
    weights = call.tensor(index)
    zeros = [call.constant(x_zero, x.dtype), call.constant(0, weights.dtype)]
    sums = call.op("MatMulInteger", [x, weights, *zeros], {"transpose_b": True})
    return scaled(call, sums + call.tensor(bias) if has(call, bias) else sums, name)


def input_products(call: NodeCall, x: Tensor) -> list[Tensor]:
    """What the input adds to each gate, as int16. x is int8, of any number of steps."""
    found = []
    for number in gates(call):
        name = f"{GATES[number]}_input"
        y = narrow(call, product(call, x, zero(call), 1 + number, 12 + number, name))
        found.append(cast(call.builder, y, "int16"))
    return found


def gates(call: NodeCall) -> list[int]:
    """The numbers of the gates that have weights: without the first one, if it is coupled."""
    return [number for number in range(4) if has(call, 1 + number)]


def gate(call: NodeCall, number: int, added: Tensor, h: Tensor, c: Tensor) -> Tensor:
    """A gate before its activation, as int32. `added` is what the input adds (int16), h the output
    (int8), c the cell (int32).
    """
    name = GATES[number]
    recurrent = product(call, h, zero(call, STATE), 5 + number, len(call), f"{name}_recurrent")
    y = narrow(call, wide(call, added) + recurrent)
    peephole = PEEPHOLES.get(name)
    if peephole is None or not has(call, peephole):
        return y
    peepholes = call.op("Mul", [wide(call, call.tensor(peephole)), c])
    return narrow(call, y + scaled(call, peepholes, f"{name}_peephole"))


def lstm_step(
    call: NodeCall, added: Sequence[Tensor], h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """The next output (int8) and cell (int16). `added` are the input products of the gates."""
    b, power = call.builder, call.attr("cell_power")
    by_gate, c = dict(zip(gates(call), added, strict=True)), wide(call, c)
    forget = sigmoid_16(call, gate(call, 1, by_gate[1], h, c))
    input_gate = (
        sigmoid_16(call, gate(call, 0, by_gate[0], h, c))
        if 0 in by_gate
        else b.binary("Sub", limits("int16")[1], forget)
    )
    fresh = tanh_16(call, gate(call, 2, by_gate[2], h, c), 3)
    state = rounded_right(call, call.op("Mul", [forget, c]), 15)
    c = narrow(call, state + rounded_right(call, call.op("Mul", [input_gate, fresh]), 30 + power))
    c = clipped(call, c, "cell_bound")
    leave = sigmoid_16(call, gate(call, 3, by_gate[3], h, c))
    shown = call.op("Mul", [leave, tanh_16(call, c, 15 + power)])
    hidden_zero = call.attr("hidden_zero")
    shown = narrow(call, more(call, scaled(call, shown, "hidden"), hidden_zero), "int8")
    if has(call, PROJECTION):
        projected = product(
            call, cast(b, shown, "int8"), hidden_zero, PROJECTION, PROJECTION + 1, "projection"
        )
        shown = clipped(
            call, narrow(call, more(call, projected, zero(call, STATE)), "int8"), "projection_bound"
        )
    return cast(b, shown, "int8"), cast(b, c, "int16")


def clipped(call: NodeCall, x: Tensor, name: str) -> Tensor:
    bound = call.attr(name, 0)
    return bounded(call, x, -bound, bound) if bound > 0 else x


def svdf(call: NodeCall) -> list[Tensor]:
    """SVDF: filter features, keep the results of several steps, filter these over time, and sum by
    rank. The result has the range of its activation.
    """
    if call.attr("fused_activation_function", "NONE") != "RELU":
        raise call.unsupported(
            "is an integer SVDF layer without RELU", "Quantise only its weights (dynamic range)"
        )
    b, rank = call.builder, call.attr("rank")
    filters, memory = call.type(2).shape
    x, state = call.tensor(0), call.tensor(4)
    features = product(call, x, zero(call), 1, len(call), "feature")
    features = cast(b, narrow(call, features, state.dtype), state.dtype)
    state = reshaped(b, state, (x.shape[0], filters, memory))
    retained = call.op(
        "Concat",
        [part(b, state, 2, 1, memory - 1), reshaped(b, features, (x.shape[0], filters, 1))],
        {"axis": 2},
    )
    sums = total(b, call.op("Mul", [wide(call, retained), wide(call, call.tensor(2))]), 2)
    y = total(b, reshaped(b, sums, (x.shape[0], filters // rank, rank)), 2)
    y = y + call.tensor(3) if has(call, 3) else y
    return [requantized(call, y), reshaped(b, retained, call.type(4).shape)]
