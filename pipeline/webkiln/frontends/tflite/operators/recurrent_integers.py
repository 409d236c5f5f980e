"""Steps of int8 recurrent layers. Gates and cells have 16 bits, and are rounded as in the
interpreter.
"""

from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.tflite.operators.fixed import sigmoid_16, tanh_16
from webkiln.frontends.tflite.operators.integers import (
    bounded,
    has,
    less,
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


def wide(call: NodeCall, x: Tensor, value: int = 0) -> Tensor:
    return less(call, cast(call.builder, x, "int32"), value)


def narrow(call: NodeCall, x: Tensor, dtype: str = "int16") -> Tensor:
    """Clamp an int32 to the range of a dtype."""
    return bounded(call, x, *limits(dtype))


def product(call: NodeCall, x: Tensor, index: int, bias: int, name: str) -> Tensor:
    """Multiply rows of x by the weights at one operand position, add the bias at another, and
    rescale.
    """
    sums = call.op("MatMul", [x, wide(call, call.tensor(index))], {"transpose_b": True})
    return scaled(call, sums + call.tensor(bias) if has(call, bias) else sums, name)


def gate(call: NodeCall, number: int, x: Tensor, h: Tensor, c: Tensor) -> Tensor:
    """A gate before its activation. All operands are int32."""
    name = GATES[number]
    y = narrow(call, product(call, x, 1 + number, 12 + number, f"{name}_input"))
    y = narrow(call, y + product(call, h, 5 + number, len(call), f"{name}_recurrent"))
    peephole = PEEPHOLES.get(name)
    if peephole is None or not has(call, peephole):
        return y
    peepholes = call.op("Mul", [wide(call, call.tensor(peephole)), c])
    return narrow(call, y + scaled(call, peepholes, f"{name}_peephole"))


def lstm_step(call: NodeCall, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The next output (int8) and cell (int16)."""
    b, power = call.builder, call.attr("cell_power")
    x, h, c = wide(call, x, zero(call)), wide(call, h, zero(call, STATE)), wide(call, c)
    forget = sigmoid_16(call, gate(call, 1, x, h, c))
    input_gate = (
        sigmoid_16(call, gate(call, 0, x, h, c))
        if has(call, 1)
        else b.binary("Sub", limits("int16")[1], forget)
    )
    fresh = tanh_16(call, gate(call, 2, x, h, c), 3)
    state = rounded_right(call, call.op("Mul", [forget, c]), 15)
    c = narrow(call, state + rounded_right(call, call.op("Mul", [input_gate, fresh]), 30 + power))
    c = clipped(call, c, "cell_bound")
    shown = call.op("Mul", [sigmoid_16(call, gate(call, 3, x, h, c)), tanh_16(call, c, 15 + power)])
    shown = narrow(
        call, more(call, scaled(call, shown, "hidden"), call.attr("hidden_zero")), "int8"
    )
    if has(call, PROJECTION):
        projected = product(
            call,
            less(call, shown, call.attr("hidden_zero")),
            PROJECTION,
            PROJECTION + 1,
            "projection",
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
    x, state = wide(call, call.tensor(0), zero(call)), call.tensor(4)
    features = cast(
        b, narrow(call, product(call, x, 1, len(call), "feature"), state.dtype), state.dtype
    )
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
