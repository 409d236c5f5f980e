"""Softmax, sigmoid and tanh, on floats and in fixed point."""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators.fixed import (
    exponential_below_zero,
    leading_zeros,
    logarithm_from_one,
    reciprocal_of_one_plus,
)
from webkiln.frontends.tflite.operators.integers import (
    between,
    bounded,
    by_table,
    doubled_high,
    factor,
    is_quantized,
    limits,
    more,
    number,
    out_dtype,
    scaled,
    shifted_right,
)
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, largest, total

INTEGER_BITS = 12
"""The integer bits of the sum of exponentials, which has room for 4096 terms."""
EDGE = 32767


def softmax(call: NodeCall) -> Tensor:
    x, axis = call.tensor(0), call.type(0).rank - 1
    if not is_quantized(call):
        beta = call.attr("beta", 1.0)
        return call.op("Softmax", [x * beta if beta != 1 else x], {"axis": axis})
    if x.dtype == "int16":
        return softmax_16(call)
    b = call.builder
    wide = cast(b, x, "int32")
    difference = call.op("Sub", [wide, largest(b, wide, axis, keepdims=True)])
    counts = b.binary("GreaterEqual", difference, call.attr("least"))
    power = exponential_below_zero(call, scaled(call, difference), 5)
    none = number(call, 0)
    sums = total(
        b,
        call.op(
            "Where",
            [counts, call.op("RoundingShiftRight", [power, number(call, INTEGER_BITS)]), none],
        ),
        axis,
        keepdims=True,
    )
    zeros = leading_zeros(call, sums)
    fraction = call.op("Sub", [call.op("ShiftLeft", [sums, zeros]), number(call, -(1 << 31))])
    inverse = reciprocal_of_one_plus(call, fraction)
    bits = 8 if out_dtype(call) != "int16" else 16
    over = call.op("Sub", [number(call, INTEGER_BITS + 31 - bits), zeros])
    share = call.op(
        "Where",
        [
            b.binary("LessEqual", over, 31),
            call.op("RoundingShiftRight", [doubled_high(call, inverse, power), over]),
            none,
        ],
    )
    low, high = limits(out_dtype(call))
    return cast(
        b,
        call.op(
            "Where", [counts, bounded(call, more(call, share, low), low, high), number(call, low)]
        ),
        out_dtype(call),
    )


def softmax_16(call: NodeCall) -> Tensor:
    """Compute with interpolated tables of the exponential and of 1 / (1 + x)."""
    b, axis = call.builder, call.type(0).rank - 1
    x = cast(b, call.tensor(0), "int32")
    difference = call.op("Sub", [x, largest(b, x, axis, keepdims=True)])
    low, high = limits("int16")
    index = bounded(
        call,
        more(call, bounded(call, scaled(call, difference), -(1 << 30), 1 << 30), EDGE),
        low,
        high,
    )
    power = cast(b, between(call, cast(b, index, "int16"), factor(call, "exponential")), "int32")
    sums = total(b, power, axis, keepdims=True)
    zeros = leading_zeros(call, sums)
    fraction = call.op(
        "Sub",
        [
            call.op("ShiftLeft", [sums, call.op("Sub", [zeros, number(call, 1)])]),
            number(call, 1 << 30),
        ],
    )
    moved = bounded(
        call,
        more(call, call.op("RoundingShiftRight", [fraction, number(call, 14)]), low),
        low,
        high,
    )
    inverse = cast(b, between(call, cast(b, moved, "int16"), factor(call, "inverse")), "int32")
    share = call.op(
        "RoundingShiftRight",
        [call.op("Mul", [power, inverse]), call.op("Sub", [number(call, 31), zeros])],
    )
    return cast(b, bounded(call, share, 0, high), "int16")


def logistic(call: NodeCall) -> Tensor:
    if not is_quantized(call):
        return call.op("Sigmoid", [call.tensor(0)])
    return sigmoid_16(call) if call.type(0).dtype == "int16" else by_table(call)


def tanh(call: NodeCall) -> Tensor:
    if not is_quantized(call):
        return call.op("Tanh", [call.tensor(0)])
    return tanh_16(call) if call.type(0).dtype == "int16" else by_table(call)


def _rescaled(call: NodeCall) -> Tensor:
    """Multiply by an integer factor, with rounding and a shift."""
    x, shift = cast(call.builder, call.tensor(0), "int32"), factor(call, "shift")
    before = call.builder.binary("Sub", shift, 1)
    half = call.op(
        "Where",
        [
            call.builder.binary("Greater", shift, 0),
            call.op("ShiftLeft", [number(call, 1), before]),
            number(call, 0),
        ],
    )
    return call.op(
        "ShiftRight",
        [call.op("Add", [call.op("Mul", [x, factor(call, "multiplier")]), half]), shift],
    )


def _table_part(call: NodeCall, size: Tensor, fine: int) -> Tensor:
    """Interpolate the sigmoid table at a magnitude, with `fine` bits between entries."""
    b = call.builder
    index = shifted_right(call, size, fine)
    table = factor(call, "table")
    near = b.binary("Min", index, 254)
    first = call.op("Gather", [table, near], {"axis": 0})
    second = call.op("Gather", [table, more(call, near, 1)], {"axis": 0})
    rest = call.op("BitAnd", [size, number(call, (1 << fine) - 1)])
    line = call.op(
        "Add",
        [
            call.op("ShiftLeft", [first, number(call, fine)]),
            call.op("Mul", [rest, call.op("Sub", [second, first])]),
        ],
    )
    return call.op("Where", [b.binary("GreaterEqual", index, 255), number(call, EDGES[fine]), line])


EDGES = {9: 0x7FFF << 10, 8: 0xFFFF << 8}
"""The value beyond the table."""


def sigmoid_16(call: NodeCall) -> Tensor:
    """A table with 256 entries from 0 to 10.7."""
    b = call.builder
    x = _rescaled(call)
    line = _table_part(call, call.op("Abs", [x]), 9)
    half = number(call, 1 << 9)
    positive = call.op("Add", [line, half])
    negative = call.op("Sub", [number(call, (1 << 25) + (1 << 9) - 1), line])
    return cast(
        b,
        shifted_right(
            call, call.op("Where", [b.binary("GreaterEqual", x, 0), positive, negative]), 10
        ),
        "int16",
    )


def tanh_16(call: NodeCall) -> Tensor:
    """Use the same table: 2 sigmoid(2 x) - 1."""
    b = call.builder
    x = _rescaled(call)
    line = _table_part(call, call.op("Abs", [x]), 8)
    positive = call.op("Add", [call.op("Sub", [line, number(call, 1 << 23)]), number(call, 1 << 7)])
    negative = call.op(
        "Sub", [call.op("Sub", [number(call, 1 << 23), line]), number(call, -((1 << 7) - 1))]
    )
    return cast(
        b,
        shifted_right(
            call, call.op("Where", [b.binary("GreaterEqual", x, 0), positive, negative]), 8
        ),
        "int16",
    )


def log_softmax(call: NodeCall) -> Tensor:
    if is_quantized(call):
        return log_softmax_8(call)
    return call.op("LogSoftmax", [call.tensor(0)], {"axis": call.type(0).rank - 1})


def log_softmax_8(call: NodeCall) -> Tensor:
    """Compute 8-bit log-softmax, in steps of 1 / 16 below 0, which is the maximum."""
    dtype = call.type(0).dtype
    if dtype == "int16":
        raise call.unsupported("is a log-softmax of int16", "Quantise it to int8, or use SOFTMAX")
    b, axis = call.builder, call.type(0).rank - 1
    wide = cast(b, call.tensor(0), "int32")
    difference = call.op("Sub", [wide, largest(b, wide, axis, keepdims=True)])
    counts = b.binary("GreaterEqual", difference, call.attr("least"))
    fine = scaled(call, difference)
    power = call.op(
        "RoundingShiftRight", [exponential_below_zero(call, fine, 5), number(call, INTEGER_BITS)]
    )
    sums = total(b, call.op("Where", [counts, power, number(call, 0)]), axis, keepdims=True)
    logarithm = logarithm_from_one(call, sums, INTEGER_BITS, 5)
    back = scaled(call, call.op("Add", [logarithm, number(call, -(1 << 31))]), "reverse")
    shown = call.op("Greater", [difference, b.binary("Max", back, call.attr("least") - 1)])
    low, high = limits(dtype)
    near = more(
        call,
        call.op("RoundingShiftRight", [call.op("Sub", [fine, logarithm]), number(call, 22)]),
        high,
    )
    return cast(
        b, call.op("Where", [shown, bounded(call, near, low, high), number(call, low)]), dtype
    )


ACTIVATIONS: dict[str, NodeHandler] = {
    "SOFTMAX": softmax, "LOG_SOFTMAX": log_softmax, "LOGISTIC": logistic, "TANH": tanh,
}  # fmt: skip
