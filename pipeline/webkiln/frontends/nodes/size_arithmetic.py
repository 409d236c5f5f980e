"""Operators on single elements that are symbolic sizes, or floating-point numbers of them.

Elements of integer and bool dtypes are integers and sizes; true is 1. Elements of float dtypes are
Rationals.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, floordiv, is_at_least, is_symbolic, maximum, minimum
from webkiln.ir.rational import (
    Rational,
    nonzero,
    positive,
    select,
    sign_of_divisor,
    truncated_quotient,
)
from webkiln.ir.types import is_float, is_integer, itemsize

Number = Any
"""An integer, a size or a Rational."""
Scalar = Callable[..., Number]
"""(attributes, *elements) -> element."""


def element(value: Any, dtype: str) -> Number:
    """An element of a known value."""
    if not is_float(dtype):
        return value if is_symbolic(value) else int(value)
    if isinstance(value, Rational):
        return value
    if is_symbolic(value):
        return Rational.of_size(value, dtype)
    return Rational.of_float(np.dtype(dtype).type(value))


def convert(value: Number, source: str, target: str) -> Number:
    """Cast. Floats saturate, integers wrap."""
    if target == "bool":
        if is_float(source):
            return 1 - value.is_equal(element(0, source))
        return nonzero(value)
    if is_integer(target):
        if not is_float(source):
            return wrapped(value, target)
        limits = np.iinfo(target)
        integer = value.trunc()
        if itemsize(target) < 4:
            return minimum(maximum([integer, int(limits.min)]), int(limits.max))
        return maximum([integer, 0]) if limits.min == 0 else integer
    if not is_float(source):
        return Rational.of_size(value, target)
    return value.cast(target)


def wrapped(value: Size, dtype: str) -> Size:
    """The integer of a dtype that equals a value modulo 2**bits. Integers of at least 32 bits do
    not overflow, but unsigned ones must not be negative.
    """
    if not is_symbolic(value):
        return int(np.array(value & (1 << 64) - 1, np.uint64).astype(dtype))
    low = int(np.iinfo(dtype).min)
    if itemsize(dtype) >= 4:
        if low == 0 and not is_at_least(value, 0):
            raise ShapeError(f"{value} may be negative, but is {dtype}")
        return value
    period = 1 << 8 * itemsize(dtype)
    shifted = value - low
    return shifted - floordiv(shifted, period) * period + low


def divide(attrs: Mapping[str, Any], a: Number, b: Number) -> Number:
    """a / b; integers are rounded towards zero, and 0 for division by 0."""
    if isinstance(a, Rational):
        return a / b
    if not is_symbolic(b) and b == 0:
        return 0
    sign = sign_of_divisor(b)
    return truncated_quotient(a * sign, b * sign)


def floor_divide(attrs: Mapping[str, Any], a: Number, b: Number) -> Number:
    if isinstance(a, Rational):
        return (a / b).floor()
    if not is_symbolic(b) and b == 0:
        return 0
    sign = sign_of_divisor(b)
    return floordiv(a * sign, b * sign)


def remainder(quotient: Scalar) -> Scalar:
    def compute(attrs: Mapping[str, Any], a: Number, b: Number) -> Number:
        if isinstance(a, Rational):
            return a.remainder(b, "floor" if quotient is floor_divide else "trunc")
        return a - quotient(attrs, a, b) * b if is_symbolic(b) or b != 0 else 0

    return compute


def largest(attrs: Mapping[str, Any], a: Number, b: Number) -> Number:
    return a.maximum(b) if isinstance(a, Rational) else maximum([a, b])


def smallest(attrs: Mapping[str, Any], a: Number, b: Number) -> Number:
    return a.minimum(b) if isinstance(a, Rational) else minimum(a, b)


def _bound(value: float, x: Number) -> Number:
    return x * 0 + value if isinstance(x, Rational) else int(value)


def clip(attrs: Mapping[str, Any], x: Number) -> Number:
    low, high = attrs["min"], attrs["max"]
    at_least = largest(attrs, x, _bound(low, x)) if isfinite(low) else x
    return smallest(attrs, at_least, _bound(high, x)) if isfinite(high) else at_least


def less(attrs: Mapping[str, Any], a: Number, b: Number) -> Size:
    return a.is_less(b) if isinstance(a, Rational) else positive(b - a)


def equal(attrs: Mapping[str, Any], a: Number, b: Number) -> Size:
    return a.is_equal(b) if isinstance(a, Rational) else 1 - nonzero(a - b)


def sign(attrs: Mapping[str, Any], x: Number) -> Number:
    if isinstance(x, Rational):
        raise ShapeError("signs of floats are computed when the model runs")
    return positive(x) - positive(-x)


def where(attrs: Mapping[str, Any], condition: Size, yes: Number, no: Number) -> Number:
    return yes.chosen(condition, no) if isinstance(yes, Rational) else select(condition, yes, no)


def power(attrs: Mapping[str, Any], x: Rational, exponent: Rational) -> Number:
    if not exponent.is_symbolic and (exponent.numerator, exponent.denominator) == (1, 2):
        return x.square_root()
    number = exponent.numerator
    if (
        exponent.is_symbolic
        or is_symbolic(number)
        or exponent.denominator != 1
        or not 0 <= number <= 8
    ):
        raise ShapeError("sizes are raised to constant powers up to 8 only")
    return x**number


def leaky_relu(attrs: Mapping[str, Any], x: Rational) -> Number:
    slope = Rational.of_float(np.float32(attrs["alpha"]))
    return where(attrs, less(attrs, x, _bound(0, x)), x * slope, x)


def shift_left(attrs: Mapping[str, Any], x: int, count: int) -> int:
    return x * _power_of_two(count)


def shift_right(attrs: Mapping[str, Any], x: int, count: int) -> Size:
    return floordiv(x, _power_of_two(count))


def _power_of_two(count: Size) -> int:
    if is_symbolic(count) or not 0 <= count < 63:
        raise ShapeError("sizes are shifted by constant counts only")
    return 1 << count


def bits_and(attrs: Mapping[str, Any], a: Size, b: Size) -> Size:
    """The bits of a size in a constant mask of its lowest or highest bits."""
    x, mask = (b, a) if is_symbolic(b) else (a, b)
    if is_symbolic(mask):
        raise ShapeError("bits of sizes are selected by constant masks only")
    if not is_symbolic(x):
        return x & mask
    lowest = mask if mask >= 0 else ~mask
    if lowest & (lowest + 1):
        raise ShapeError(f"the mask {mask} is not a range of the lowest or highest bits")
    masked = x - floordiv(x, lowest + 1) * (lowest + 1)
    return masked if mask >= 0 else x - masked


def bits_or(attrs: Mapping[str, Any], a: int, b: int) -> Size:
    return a + b - bits_and(attrs, a, b)


def rounded(method: str) -> Scalar:
    """The integer that a method of Rational returns, as a float of the same dtype."""
    return lambda attrs, x: x.integral(method)


SCALARS: Mapping[str, Scalar] = {
    "Add": lambda attrs, a, b: a + b,
    "Sub": lambda attrs, a, b: a - b,
    "Mul": lambda attrs, a, b: a * b,
    "Neg": lambda attrs, x: -x,
    "Square": lambda attrs, x: x * x,
    "Reciprocal": lambda attrs, x: 1 / x,
    "Div": divide,
    "FloorDiv": floor_divide,
    "Mod": remainder(floor_divide),
    "Rem": remainder(divide),
    "Pow": power,
    "Max": largest,
    "Min": smallest,
    "Abs": lambda attrs, x: abs(x) if isinstance(x, Rational) else maximum([x, -x]),
    "Sign": sign,
    "Relu": lambda attrs, x: largest(attrs, x, _bound(0, x)),
    "LeakyRelu": leaky_relu,
    "Sqrt": lambda attrs, x: x.square_root(),
    "Rsqrt": lambda attrs, x: 1 / x.square_root(),
    "IsInf": lambda attrs, x: x.is_never(np.isinf),
    "IsNaN": lambda attrs, x: x.is_never(np.isnan),
    "Relu6": lambda attrs, x: clip({"min": 0, "max": 6}, x),
    "Clip": clip,
    "Floor": rounded("floor"),
    "Ceil": rounded("ceil"),
    "Round": rounded("rint"),
    "Less": less,
    "Greater": lambda attrs, a, b: less(attrs, b, a),
    "LessEqual": lambda attrs, a, b: 1 - less(attrs, b, a),
    "GreaterEqual": lambda attrs, a, b: 1 - less(attrs, a, b),
    "Equal": equal,
    "NotEqual": lambda attrs, a, b: 1 - equal(attrs, a, b),
    "And": lambda attrs, a, b: a * b,
    "Or": lambda attrs, a, b: a + b - a * b,
    "Not": lambda attrs, x: 1 - x,
    "Where": where,
    "BitAnd": bits_and,
    "BitOr": bits_or,
    "BitXor": lambda attrs, a, b: a + b - 2 * bits_and(attrs, a, b),
    "BitNot": lambda attrs, x: -1 - x,
    "ShiftLeft": shift_left,
    "ShiftRight": shift_right,
}
"""By operator. The operands broadcast."""
