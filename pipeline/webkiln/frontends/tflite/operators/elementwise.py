"""Elementwise operators, with numpy's broadcasting."""

from typing import Any

import numpy as np

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators.fixed import (
    inverse_root,
    leading_zeros,
    reciprocal_of_one_plus,
)
from webkiln.frontends.tflite.operators.fused import activated
from webkiln.frontends.tflite.operators.integers import (
    BYTES,
    by_multiplier,
    by_table,
    centred,
    doubled_high,
    factor,
    is_quantized,
    limits,
    looked_up,
    more,
    number,
    operands,
    out_dtype,
    out_zero,
    placed,
    requantized,
    requantized_sum,
    result,
    scaled,
    scaled_down,
    shifted_left,
    zero,
)
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import activations
from webkiln.ops.pieces import cast


def unary(op: str, **attrs: Any) -> NodeHandler:
    """A float function; for a quantized operand, a table of all values."""
    return lambda call: (
        by_table(call) if is_quantized(call) else call.op(op, [call.tensor(0)], attrs)
    )


def plain(op: str) -> NodeHandler:
    return lambda call: call.op(op, operands(call))


def summed(sign: int) -> NodeHandler:
    """Rescale integers to the larger scale with spare bits, and requantize their sum."""

    def handler(call: NodeCall) -> Tensor:
        if not is_quantized(call):
            return activated(call, call.op("Add" if sign > 0 else "Sub", operands(call)))
        if call.attr("pot", 0):
            shifts = [call.attr("left_pot"), call.attr("right_pot")]
            a, b = (cast(call.builder, call.tensor(index), "int32") for index in (0, 1))
            a, b = (
                call.op("RoundingShiftRight", [x, number(call, shift)]) if shift else x
                for x, shift in zip((a, b), shifts, strict=True)
            )
            least, most = limits("int16")
            return result(
                call,
                call.op(
                    "Clip",
                    [call.op("Add" if sign > 0 else "Sub", [a, b])],
                    {"min": least, "max": most},
                ),
            )
        if sign > 0 and {*call.attr("dtypes"), call.type(0).dtype, call.type(1).dtype} <= {*BYTES}:
            return requantized_sum(call, centred(call, 0), centred(call, 1))
        a, b = (
            scaled_down(call, shifted_left(call, centred(call, index), call.attr("spare")), name)
            for index, name in ((0, "left"), (1, "right"))
        )
        return placed(call, scaled_down(call, call.op("Add" if sign > 0 else "Sub", [a, b])))

    return handler


def multiplied(call: NodeCall) -> Tensor:
    if not is_quantized(call):
        return activated(call, call.op("Mul", operands(call)))
    return requantized(call, call.op("Mul", [centred(call, 0), centred(call, 1)]))


def divided(call: NodeCall) -> Tensor:
    if is_quantized(call):
        return quotient(call, centred(call, 0), centred(call, 1))
    return activated(call, call.op("Div", operands(call)))


def quotient(call: NodeCall, a: Tensor, b: Tensor) -> Tensor:
    """Multiply by the reciprocal of b in fixed point, with a shifted left as far as possible. If b
    is 0, the interpreter aborts. Quotients below half a unit in 31 bits are 0 here; the interpreter
    shifts by more bits than the type has.
    """
    size, negative_a = call.op("Abs", [b]), call.builder.binary("Less", a, 0)
    digits = leading_zeros(call, size)
    inverse = reciprocal_of_one_plus(
        call, call.op("BitAnd", [call.op("ShiftLeft", [size, digits]), number(call, (1 << 31) - 1)])
    )
    inverse = call.op(
        "Where", [call.builder.binary("Less", b, 0), call.op("Neg", [inverse]), inverse]
    )
    below = more(call, shifted_left(call, call.op("Neg", [a]), 1), -1)
    room = leading_zeros(call, call.op("Where", [negative_a, below, a])) - call.op(
        "Where", [negative_a, number(call, 0), number(call, 1)]
    )
    share = doubled_high(call, call.op("ShiftLeft", [a, room]), inverse)
    shift = factor(call, "multiplier_shift") - room - call.builder.binary("Sub", 31, digits)
    share = call.op("Where", [call.builder.binary("Less", shift, -31), number(call, 0), share])
    shift = call.builder.binary("Max", shift, -31)
    return placed(call, by_multiplier(call, share, factor(call, "multiplier"), shift))


def squared_difference(call: NodeCall) -> Tensor:
    if not is_quantized(call):
        difference = call.op("Sub", operands(call))
        return call.op("Mul", [difference, difference])
    a, b = (
        scaled_down(call, shifted_left(call, centred(call, index), call.attr("spare")), name)
        for index, name in ((0, "left"), (1, "right"))
    )
    difference = call.op("Sub", [a, b])
    return requantized(call, call.op("Mul", [difference, difference]))


def compared(op: str) -> NodeHandler:
    """Requantize the operands to one scale."""

    def handler(call: NodeCall) -> Tensor:
        if not is_quantized(call):
            return call.op(op, operands(call))
        a, b = (
            scaled(call, shifted_left(call, centred(call, index), 8), name)
            for index, name in ((0, "left"), (1, "right"))
        )
        return call.op(op, [a, b])

    return handler


def relu(low: float | None, high: float | None) -> NodeHandler:
    """For integers, the bounds and scale of the result."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        if is_quantized(call):
            return requantized(call, centred(call))
        if high is None:
            return call.op("Relu", [x])
        return call.op("Clip", [x], {"min": low, "max": high})

    return handler


def leaky_relu(call: NodeCall) -> Tensor:
    if not is_quantized(call):
        return call.op("LeakyRelu", [call.tensor(0)], {"alpha": call.attr("alpha")})
    x = centred(call)
    positive = call.builder.binary("GreaterEqual", x, 0)
    return placed(
        call, call.op("Where", [positive, scaled(call, x, "identity"), scaled(call, x, "slope")])
    )


def prelu(call: NodeCall) -> Tensor:
    if not is_quantized(call):
        return activations.prelu(call.builder, *operands(call))
    x, alpha = centred(call, 0), centred(call, 1)
    positive = call.builder.binary("GreaterEqual", x, 0)
    sloped = scaled(call, call.op("Mul", [x, alpha]), "slope")
    return placed(call, call.op("Where", [positive, scaled(call, x, "identity"), sloped]))


def hard_swish(call: NodeCall) -> Tensor:
    """x clip(x / 6 + 1/2, 0, 1); for 8-bit operands, a table of what saturating 16-bit arithmetic
    yields.
    """
    if not is_quantized(call):
        x = call.tensor(0)
        return x * call.op("Clip", [x + 3.0], {"min": 0.0, "max": 6.0}) * (1 / 6)
    b, low, high = call.builder, *limits("int16")
    x = call.tensor(0)
    least, most = limits(x.dtype)
    every = call.constant(np.arange(least, most + 1) - zero(call, 0), "int32")
    value = shifted_left(call, every, 7)
    scaled_value = _high_16(call, value, factor(call, "output"))
    shift = factor(call, "reluish_shift")
    ahead = b.binary("Max", b.binary("Sub", shift, 1), 0)
    reluish = call.op("Clip", [call.op("ShiftLeft", [value, ahead])], {"min": low, "max": high})
    reluish = _high_16(call, reluish, factor(call, "reluish"))
    last = b.binary("Min", b.binary("Max", shift, 0), 1)
    reluish = call.op("Clip", [call.op("ShiftLeft", [reluish, last])], {"min": low, "max": high})
    reluish = call.op("RoundingShiftRight", [reluish, b.binary("Max", call.op("Neg", [shift]), 0)])
    reluish = call.op("ShiftRight", [more(call, reluish, 1 << 15), number(call, 1)])
    product = call.op("ShiftRight", [call.op("Mul", [scaled_value, reluish]), number(call, 15)])
    down = b.binary("Max", call.op("Neg", [factor(call, "output_shift")]), 0)
    table = result(call, more(call, call.op("RoundingShiftRight", [product, down]), out_zero(call)))
    return looked_up(call, x, table, least)


def _high_16(call: NodeCall, a: Tensor, b: Tensor) -> Tensor:
    """(a b + 2**14) / 2**15 for 16-bit numbers. Negative products subtract the half and one, and
    round towards zero.
    """
    product = call.op("Mul", [a, b])
    half = call.op(
        "Where",
        [
            call.builder.binary("Less", product, 0),
            number(call, 1 - (1 << 14)),
            number(call, 1 << 14),
        ],
    )
    return call.op("Div", [call.op("Add", [product, half]), number(call, 1 << 15)])


def absolute(call: NodeCall) -> Tensor:
    if not is_quantized(call):
        return call.op("Abs", [call.tensor(0)])
    size = call.op("Abs", [centred(call)])
    return placed(call, size if call.attr("same", 0) else scaled(call, size))


def rsqrt(call: NodeCall) -> Tensor:
    if is_quantized(call):
        return (
            by_table(call)
            if call.type(0).dtype == "int16"
            else inverse_of_root(call, centred(call))
        )
    return call.op("Rsqrt", [call.tensor(0)])


def inverse_of_root(call: NodeCall, x: Tensor) -> Tensor:
    """With 20 extra bits. 0 yields the maximum; the interpreter aborts at negative numbers."""
    root, shift = inverse_root(call, x)
    fine = by_multiplier(call, number(call, 1), root, more(call, shift, 20))
    total = more(call, factor(call, "multiplier_shift"), -20)
    share = by_multiplier(call, fine, factor(call, "multiplier"), total)
    most = number(call, limits(out_dtype(call))[1])
    return result(
        call,
        call.op(
            "Where", [call.builder.binary("Equal", x, 0), most, more(call, share, out_zero(call))]
        ),
    )


def extreme(op: str) -> NodeHandler:
    return lambda call: call.op(op, operands(call))


def negative(call: NodeCall) -> Tensor:
    return call.op("Neg", [call.tensor(0)])


def power(call: NodeCall) -> Tensor:
    a, b = operands(call)
    if is_float(a.dtype):
        return call.op("Pow", [a, b])
    wide = [cast(call.builder, x, "float64") for x in (a, b)]
    return cast(call.builder, call.op("Round", [call.op("Pow", wide)]), a.dtype)


def to_dtype(call: NodeCall) -> Tensor:
    return cast(call.builder, call.tensor(0), out_dtype(call))


def square(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return x * x


def gelu(call: NodeCall) -> Tensor:
    if is_quantized(call):
        return by_table(call)
    return call.op("Gelu", [call.tensor(0)], {"approximate": bool(call.attr("approximate", 0))})


def arctangent_2(call: NodeCall) -> Tensor:
    """The angle of (x, y), by quadrant."""
    y, x = operands(call)
    b, pi = call.builder, 3.141592653589793
    steep = call.op("Greater", [call.op("Abs", [y]), call.op("Abs", [x])])
    ratio = call.op("Div", [call.op("Where", [steep, x, y]), call.op("Where", [steep, y, x])])
    both = call.op("And", [b.binary("Equal", x, 0.0), b.binary("Equal", y, 0.0)])
    near = call.op("Atan", [call.op("Where", [both, call.like(0, x), ratio])])
    side = call.op("Where", [b.binary("Less", y, 0.0), call.like(-pi / 2, y), call.like(pi / 2, y)])
    flat = near + call.op("Where", [b.binary("Less", x, 0.0), side * 2.0, call.like(0, x)])
    return call.op("Where", [steep, side - near, flat])


def add_n(call: NodeCall) -> Tensor:
    total, *others = operands(call)
    for x in others:
        total = call.op("Add", [total, x])
    return total


def zeros_like(call: NodeCall) -> Tensor:
    x = call.type(0)
    return call.op("Broadcast", [call.constant(0, x.dtype)], {"shape": x.shape})


def fake_quant(call: NodeCall) -> Tensor:
    """Round to the steps of a range; `steps` are its nudged bounds and scale."""
    low, high, scale = call.attr("steps")
    x = call.op("Clip", [call.tensor(0)], {"min": low, "max": high})
    inverse = call.constant(call.attr("inverse"), "float32")
    steps = call.op("Floor", [call.op("Mul", [x - low, inverse]) + 0.5])
    result: Tensor = steps * scale + low
    return result


def right_shift(call: NodeCall) -> Tensor:
    x, shift = operands(call)
    return call.op("ShiftRight", [x, cast(call.builder, shift, x.dtype)])


def bit_cast(call: NodeCall) -> Tensor:
    x, dtype = call.tensor(0), out_dtype(call)
    return x if x.dtype == dtype else call.op("BitCast", [x], {"dtype": dtype})


ELEMENTWISE: dict[str, NodeHandler] = {
    "ADD": summed(1),
    "SUB": summed(-1),
    "MUL": multiplied,
    "DIV": divided,
    "SQUARED_DIFFERENCE": squared_difference,
    "ADD_N": add_n,
    "MAXIMUM": extreme("Max"),
    "MINIMUM": extreme("Min"),
    "FLOOR_DIV": plain("FloorDiv"),
    "FLOOR_MOD": plain("Mod"),
    "POW": power,
    "EQUAL": compared("Equal"),
    "NOT_EQUAL": compared("NotEqual"),
    "LESS": compared("Less"),
    "LESS_EQUAL": compared("LessEqual"),
    "GREATER": compared("Greater"),
    "GREATER_EQUAL": compared("GreaterEqual"),
    "LOGICAL_AND": plain("And"),
    "LOGICAL_OR": plain("Or"),
    "LOGICAL_NOT": plain("Not"),
    "BITWISE_XOR": plain("BitXor"),
    "RIGHT_SHIFT": right_shift,
    "BITCAST": bit_cast,
    "RELU": relu(0.0, None),
    "RELU6": relu(0.0, 6.0),
    "RELU_N1_TO_1": relu(-1.0, 1.0),
    "RELU_0_TO_1": relu(0.0, 1.0),
    "LEAKY_RELU": leaky_relu,
    "PRELU": prelu,
    "HARD_SWISH": hard_swish,
    "ELU": unary("Elu", alpha=1.0),
    "GELU": gelu,
    "EXP": unary("Exp"),
    "LOG": unary("Log"),
    "SIN": unary("Sin"),
    "COS": unary("Cos"),
    "SQRT": unary("Sqrt"),
    "RSQRT": rsqrt,
    "FLOOR": unary("Floor"),
    "CEIL": unary("Ceil"),
    "ROUND": unary("Round"),
    "ABS": absolute,
    "NEG": negative,
    "SIGN": unary("Sign"),
    "SQUARE": square,
    "CAST": to_dtype,
    "ATAN2": arctangent_2,
    "ZEROS_LIKE": zeros_like,
    "FAKE_QUANT": fake_quant,
    "STABLEHLO_ADD": plain("Add"),
    "STABLEHLO_MULTIPLY": plain("Mul"),
    "STABLEHLO_MAXIMUM": plain("Max"),
    "STABLEHLO_MINIMUM": plain("Min"),
}
