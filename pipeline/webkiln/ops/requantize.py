"""Sums rescaled to 8 bits like in TensorFlow Lite, which is slow in 32-bit arithmetic. A float
estimate is enough, unless it is close to a tie.

The estimate of x * s, for x and s = multiplier * 2**-31 * 2**-n, differs from the exact product by
at most 2**-13.4 where results are not clamped. TensorFlow Lite rounds x * s * 2**n to an integer,
ties up, divides it by 2**n, and rounds again, ties away from zero. For n > 0 these are the results
of rounding |x * s| + 2**-(n + 1) once, except for ties.

Estimates are below 2**31 in size, or NaN.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan

import numpy as np

from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array
from webkiln.nest.expr import FLOAT, INT, Expr, apply, bitcast, cast, const, select
from webkiln.ops.elementwise import elementwise
from webkiln.ops.fixed_point import INT_MIN, powers_of_shift, scaled, scaled_reference
from webkiln.ops.operator import Case

MOST_STEP = 2.0**-18
"""The largest factor of a sum of rescaled numbers for which its estimate is close enough."""


@dataclass(frozen=True, slots=True)
class Requantize(Attributes):
    """A rescaled number plus `zero` is clamped to min..max. All three are at most 512 in size."""

    zero: int
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class RequantizeSum(Attributes):
    """The factors of two operands are rounded `spare` places behind the binary point."""

    spare: int
    zero: int
    min: int
    max: int


def _half_step(right: Expr) -> Expr:
    """2**-(n + 1) for right = 2**(31 - n), which counts as unsigned."""
    return apply("abs", cast(right, FLOAT)) * 2.0**-32


def _filtered(attrs: Requantize | RequantizeSum, exact: Expr, estimate: Expr) -> Expr:
    """`exact`, by a float estimate of it, clamped: both without the zero point."""
    value = apply("filtered", exact, bitcast(estimate, INT))
    low, high = (const(bound - attrs.zero, INT) for bound in (attrs.min, attrs.max))
    return apply("min", apply("max", value, low), high) + attrs.zero


def requantized(attrs: Requantize, x: Expr, multiplier: Expr, left: Expr, right: Expr) -> Expr:
    half = _half_step(right)
    factor = cast(multiplier, FLOAT) * 2.0**-30 * half
    invalid = apply("or", apply("ne", left, const(1, INT)), apply("ge", factor, const(1.0)))
    factor = select(invalid, const(nan), factor)
    once = apply("lt", right, const(0, INT))
    size = bitcast(select(once, const(0.0), half), INT)
    wide = cast(x, FLOAT)
    sign = apply("band", bitcast(wide, INT), const(INT_MIN, INT))
    estimate = apply("madd", wide, factor, bitcast(apply("bor", sign, size), FLOAT))
    return _filtered(attrs, scaled(x, multiplier, left, right), estimate)


def requantized_sum(attrs: RequantizeSum, *operands: Expr) -> Expr:
    """The sum of a and b, each rescaled and rounded, and rescaled again."""
    a, b, *factors = operands
    one, places = const(1, INT), const(attrs.spare, INT)
    steps = [
        cast(multiplier, FLOAT) * 2.0**-30 * _half_step(right)
        for multiplier, right in zip(factors[::2], factors[1::2], strict=True)
    ]
    exact = scaled(
        scaled(apply("shl", a, places), factors[0], one, factors[1])
        + scaled(apply("shl", b, places), factors[2], one, factors[3]),
        factors[4],
        one,
        factors[5],
    )
    last = steps[2] * 2.0**attrs.spare
    valid = apply("le", steps[2], const(MOST_STEP))
    weights = [select(valid, step * last, const(nan)) for step in steps[:2]]
    estimate = apply("madd", cast(a, FLOAT), weights[0], cast(b, FLOAT) * weights[1])
    return _filtered(attrs, exact, estimate)


def _clipped(attrs: Requantize | RequantizeSum, x: Array) -> Array:
    return np.clip(x.astype(np.int64) + attrs.zero, attrs.min, attrs.max).astype(np.int32)


def _reference(attrs: Requantize, x: Array, multiplier: Array, left: Array, right: Array) -> Array:
    return _clipped(attrs, scaled_reference(x, multiplier, left, right))


def _sum_reference(attrs: RequantizeSum, a: Array, b: Array, *factors: Array) -> Array:
    one = np.ones((), np.int32)
    a, b = (
        scaled_reference(x << attrs.spare, multiplier, one, right)
        for x, multiplier, right in ((a, *factors[:2]), (b, *factors[2:4]))
    )
    return _clipped(attrs, scaled_reference((a + b).astype(np.int32), factors[4], one, factors[5]))


def _near_ties(multiplier: int, shift: int) -> Array:
    """Numbers whose rescaled values are close to integers and to ties, and other numbers."""
    factor = multiplier * 2.0 ** (shift - 31)
    near = np.arange(-300, 300) / 2 / factor
    around = np.rint(near)[:, np.newaxis] + np.arange(-2, 3)
    edges = [INT_MIN, INT_MIN + 1, -(1 << 24) - 1, -1, 0, 1, (1 << 24) + 1, -INT_MIN - 1]
    return np.concatenate([np.clip(around.ravel(), INT_MIN, -INT_MIN - 1), edges]).astype(np.int32)


def _cases() -> Iterable[Case]:
    """Rescaled to all bits for one factor each, and by one factor per column."""
    attrs = {"zero": -7, "min": -128, "max": 119}
    shifts = np.array([2, 0, -1, -2, -5, -9, -14, -21, -31], np.int32)
    scales = np.array([1 << 30, 1518500250, (1 << 31) - 1, 0], np.int32)
    pairs = [(scale, shift) for shift in shifts for scale in scales]
    columns = [_near_ties(int(scale) or 1 << 30, int(shift)) for scale, shift in pairs]
    multiplier, shift = (np.array(item, np.int32) for item in zip(*pairs, strict=True))
    yield Case((np.stack(columns, -1), multiplier, *powers_of_shift(shift)), attrs)
    for place in (-31, -9, -1, 0, 1):
        scale, (left, right) = scales[1], powers_of_shift(np.array(place, np.int32))
        yield Case((_near_ties(int(scale), place), np.array(scale), left, right), attrs)


def _sum_cases() -> Iterable[Case]:
    """All pairs of differences of bytes. The last steps are too large for estimates."""
    values = np.arange(-255, 256, dtype=np.int32)
    for factors in (
        (1 << 30, 0, 1518500250, -1, 1203504129, -18),
        (1518500250, -3, 1 << 30, 0, (1 << 31) - 1, -19),
        (1 << 30, 0, 1 << 30, 0, 1 << 30, -18),
        (1 << 30, 0, 1203504129, -7, 1518500250, -14),
    ):
        scales = [np.array(scale, np.int32) for scale in factors[::2]]
        rights = [powers_of_shift(np.array(shift, np.int32))[1] for shift in factors[1::2]]
        operands = [item for pair in zip(scales, rights, strict=True) for item in pair]
        attrs = {"spare": 20, "zero": 5, "min": -128, "max": 127}
        yield Case((values[:, np.newaxis], values, *operands), attrs)


elementwise(
    "Requantize",
    requantized,
    _reference,
    _cases(),
    kinds=("int32",),
    arity=4,
    attributes=Requantize,
)
elementwise(
    "RequantizeSum",
    requantized_sum,
    _sum_reference,
    _sum_cases(),
    kinds=("int32",),
    arity=8,
    attributes=RequantizeSum,
)
