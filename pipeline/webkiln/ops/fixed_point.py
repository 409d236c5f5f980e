"""Fixed-point multiplication of integers by scales, rounded like in gemmlowp and TensorFlow Lite.

All operations are on 32-bit integers, so that backends without 64-bit integers return the same
results: factors are split into 16-bit halves, and carries are propagated explicitly.
"""

import numpy as np

from webkiln.ir.types import Array
from webkiln.nest.compose import halves
from webkiln.nest.expr import INT, Expr, apply, const, select
from webkiln.ops.elementwise import elementwise
from webkiln.ops.operator import Case, per_element

HALF = 0xFFFF
INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1


def _int(value: int) -> Expr:
    return const(value, INT)


def _bit(x: Expr, position: Expr) -> Expr:
    return apply("band", apply("shr", x, position), _int(1))


def doubling_high(a: Expr, b: Expr) -> Expr:
    """SaturatingRoundingDoublingHighMul of gemmlowp: the rounded upper word of 2 a b."""
    overflows = apply("and", apply("eq", a, _int(INT_MIN)), apply("eq", b, _int(INT_MIN)))
    return select(overflows, _int(INT_MAX), apply("doubling_high", a, b))


def rounding_shift(x: Expr, places: Expr) -> Expr:
    """RoundingDivideByPOT of gemmlowp: x / 2**places, ties away from zero."""
    mask = apply("shl", _int(1), places) - _int(1)
    threshold = apply("shr", mask, _int(1)) + select(apply("lt", x, _int(0)), _int(1), _int(0))
    rounds_up = apply("gt", apply("band", x, mask), threshold)
    return apply("shr", x, places) + select(rounds_up, _int(1), _int(0))


def scaled(x: Expr, multiplier: Expr, left: Expr, right: Expr) -> Expr:
    """MultiplyByQuantizedMultiplier of TensorFlow Lite: x * left * multiplier * right / 2**62, for
    a multiplier of at least 0 and powers of two `left` and `right`, of which the second counts as
    unsigned. It is rounded twice, at last with ties away from zero.
    """
    high = apply("doubling_high", x * left, multiplier)
    nearest = apply("doubling_high", high + apply("shr", high, _int(31)), right)
    return select(apply("lt", right, _int(0)), high, nearest)


WideNumber = tuple[Expr, Expr, Expr]
"""A 64-bit integer: the upper word, signed, and the two halves of the lower word."""


def _carry(x: Expr) -> Expr:
    return apply("band", apply("shr", x, _int(16)), _int(HALF))


def _times(high: Expr, low: Expr, factor: Expr) -> WideNumber:
    """(high * 2**16 + low) * factor, for a factor below 2**15."""
    top, middle = halves(high)
    lowest = low * factor
    first = middle * factor + _carry(lowest)
    return (
        top * factor + _carry(first),
        apply("band", first, _int(HALF)),
        apply("band", lowest, _int(HALF)),
    )


def _rounded_shift(words: WideNumber, places: Expr) -> Expr:
    """Shift right by 1 to 62 places, rounding to nearest, ties up."""
    upper = words[0]
    lower = apply("bor", apply("shl", words[1], _int(16)), words[2])
    near, far = apply("min", places, _int(31)), apply("max", places - _int(32), _int(0))
    free = apply("min", _int(32) - near, _int(31))
    joined = apply(
        "bor",
        apply("band", apply("shr", lower, near), apply("shl", _int(1), free) - _int(1)),
        apply("shl", upper, free),
    )
    last = select(
        apply("gt", places, _int(32)),
        _bit(upper, apply("max", far - _int(1), _int(0))),
        _bit(lower, apply("min", places - _int(1), _int(31))),
    )
    return select(apply("ge", places, _int(32)), apply("shr", upper, far), joined) + last


def scaled_wide(high: Expr, low: Expr, multiplier: Expr, places: Expr) -> Expr:
    """(high * 2**16 + low) * multiplier / 2**places, ties up, for a multiplier below 2**15."""
    return _rounded_shift(_times(high, low, multiplier), places)


def scaled_away(high: Expr, low: Expr, multiplier: Expr, places: Expr) -> Expr:
    """(high * 2**16 + low) * multiplier / 2**places, ties away from zero. The product is rounded
    down once at bit 15.
    """
    negative = apply("lt", high, _int(0))
    borrow = select(apply("eq", low, _int(0)), _int(0), _int(1))
    magnitude = (
        select(negative, -high - borrow, high),
        select(negative, apply("band", -low, _int(HALF)), low),
    )
    upper, lower = (
        _times(*magnitude, apply("shr", multiplier, _int(15))),
        _times(*magnitude, apply("band", multiplier, _int(0x7FFF))),
    )
    word = apply("bor", apply("shl", lower[1], _int(16)), lower[2])
    rest = apply(
        "bor",
        apply("band", apply("shr", word, _int(15)), _int(0x1FFFF)),
        apply("shl", lower[0], _int(17)),
    )
    first = upper[2] + apply("band", rest, _int(HALF))
    second = upper[1] + _carry(rest) + _carry(first)
    third = upper[0] + apply("shr", lower[0], _int(15)) + _carry(second)
    result = _rounded_shift(
        (third, apply("band", second, _int(HALF)), apply("band", first, _int(HALF))),
        places - _int(15),
    )
    return select(negative, -result, result)


def _high_reference(a: Array, b: Array) -> Array:
    product = a.astype(np.int64) * b.astype(np.int64)
    return np.where((a == INT_MIN) & (b == INT_MIN), INT_MAX, (product + (1 << 30)) >> 31).astype(
        np.int32
    )


def _shift_reference(x: Array, places: Array) -> Array:
    wide, count = x.astype(np.int64), places.astype(np.int64)
    mask = (np.int64(1) << count) - 1
    return np.asarray((wide >> count) + ((wide & mask) > (mask >> 1) + (wide < 0)))


def scaled_reference(x: Array, multiplier: Array, left: Array, right: Array) -> Array:
    places = 31 - np.log2(right.astype(np.uint32)).astype(np.int32)
    return _shift_reference(_high_reference(x * left, multiplier), places)


def _wide_reference(high: Array, low: Array, multiplier: Array, places: Array) -> Array:
    count = places.astype(np.int64)
    product = ((high.astype(np.int64) << 16) + low) * multiplier
    return np.asarray((product + (np.int64(1) << (count - 1))) >> count)


def _away_reference(high: Array, low: Array, multiplier: Array, places: Array) -> Array:
    def scale(a: int, b: int, m: int, count: int) -> int:
        value = (a << 16) + b
        size = (abs(value) * m >> 15 << 1) + (1 << (count - 15)) >> (count - 14)
        return size if value >= 0 else -size

    return np.asarray(
        np.frompyfunc(scale, 4, 1)(
            *(item.astype(object) for item in (high, low, multiplier, places))
        )
    )


EDGES = np.array(
    [
        INT_MIN,
        INT_MIN + 1,
        -(1 << 30),
        -65537,
        -65536,
        -3,
        -1,
        0,
        1,
        2,
        65535,
        65536,
        (1 << 30) + 1,
        INT_MAX - 1,
        INT_MAX,
    ],
    np.int32,
)
MULTIPLIERS = np.array(
    [[INT_MIN], [-12345], [0], [1 << 30], [(1 << 30) + 98765], [0x7FFF0000], [INT_MAX]], np.int32
)
PLACES = np.array([[0], [1], [7], [15], [16], [30], [31]], np.int32)
ACCUMULATED = np.array([-300000, -65536, -1025, -17, -1, 0, 1, 3, 511, 65535, 299999], np.int32)
SCALES = np.array([[1 << 30], [1518500250], [INT_MAX]], np.int32)
SHIFTS = np.array([[[-31]], [[-16]], [[-9]], [[-1]], [[0]], [[1]], [[11]]], np.int32)


def powers_of_shift(shift: Array) -> tuple[Array, Array]:
    """The factors of a shift."""
    left, right = np.maximum(shift, 0), 31 + np.minimum(shift, 0)
    return (np.int32(1) << left), (np.uint32(1) << right.astype(np.uint32)).view(np.int32)


EVERY_PLACE = np.arange(32, dtype=np.int32)
CHANNEL_SHIFTS = np.arange(-31, 12, dtype=np.int32)
CHANNEL_SCALES = ((1 << 30) + 24_900_000 * np.arange(43)).astype(np.int32)
HIGHS = np.array([INT_MIN, -65536, -1, 0, 1, 77, INT_MAX], np.int32)
LOWS = np.array([[0], [1], [0x8000], [HALF]], np.int32)
REDUCED = np.array([[[16384]], [[21845]], [[32767]]], np.int32)
FINE = np.array([[[1 << 29]], [[(1 << 29) + 12345]], [[(1 << 30) - 1]]], np.int32)
FINE_PLACES = np.array([46, 47, 48, 53, 62], np.int32).reshape(-1, 1, 1, 1)
WIDE_PLACES = np.array([8, 15, 16, 31, 32, 33, 46], np.int32).reshape(-1, 1, 1, 1)


elementwise(
    "DoublingHighMul",
    lambda attrs, a, b: doubling_high(a, b),
    lambda attrs, a, b: _high_reference(a, b),
    [Case((EDGES, MULTIPLIERS))],
    kinds=("int32",),
    arity=2,
)
elementwise(
    "RoundingShiftRight",
    lambda attrs, x, places: rounding_shift(x, places),
    lambda attrs, x, places: _shift_reference(x, places),
    [Case((EDGES, PLACES)), Case((EDGES.reshape(-1, 1), EVERY_PLACE))],
    kinds=("int32",),
    arity=2,
)
elementwise(
    "ScaleByMultiplier",
    lambda attrs, x, m, left, right: scaled(x, m, left, right),
    lambda attrs, x, m, left, right: scaled_reference(x, m, left, right),
    [
        Case((ACCUMULATED, SCALES, *powers_of_shift(SHIFTS))),
        Case((ACCUMULATED.reshape(-1, 1), CHANNEL_SCALES, *powers_of_shift(CHANNEL_SHIFTS))),
    ],
    kinds=("int32",),
    arity=4,
)
elementwise(
    "ScaleWide",
    lambda attrs, high, low, m, s: scaled_wide(high, low, m, s),
    lambda attrs, high, low, m, s: _wide_reference(high, low, m, s),
    [Case((HIGHS, LOWS, REDUCED, WIDE_PLACES))],
    kinds=("int32",),
    arity=4,
)
elementwise(
    "ScaleAway",
    lambda attrs, high, low, m, s: scaled_away(high, low, m, s),
    lambda attrs, high, low, m, s: _away_reference(high, low, m, s),
    [Case((HIGHS[1:6], LOWS, FINE, FINE_PLACES))],
    kinds=("int32",),
    arity=4,
    work=per_element(16),
)
