"""Binary elementwise operators: arithmetic, comparisons, bits."""

from collections.abc import Callable
from math import inf

import numpy as np

from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array
from webkiln.nest.expr import FLOAT, INT, LONG, REAL, ULONG, Expr, apply, bitcast, const, select
from webkiln.ops.elementwise import (
    ALL,
    BITS,
    BOOLS,
    FLOATS,
    INTS,
    POSITIVE,
    Formula,
    binary,
    elementwise,
    samples,
)

FLOAT_PAIR = samples(FLOATS, FLOATS[:, :1] + np.float32(0.75))
INT_PAIR = samples(INTS, np.array([2, -3, 0], np.int32))
BOOL_PAIR = samples(BOOLS, np.array([[True], [False]]))

elementwise(
    "Add",
    lambda attrs, a, b: a + b,
    lambda attrs, a, b: a + b,
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Sub",
    lambda attrs, a, b: a - b,
    lambda attrs, a, b: a - b,
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Mul",
    lambda attrs, a, b: a * b,
    lambda attrs, a, b: a * b,
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Pow",
    binary("pow"),
    lambda attrs, a, b: np.power(a, b),
    samples(POSITIVE, np.array([2.0, -0.5, 1.5], np.float32)),
    arity=2,
)
elementwise(
    "Max",
    binary("max"),
    lambda attrs, a, b: np.maximum(a, b),
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Min",
    binary("min"),
    lambda attrs, a, b: np.minimum(a, b),
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)


def floor_quotient(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    return apply("floor", a / b) if a.type in REAL else apply("floordiv", a, b)


def floor_remainder(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    """The remainder with the sign of b. If b is infinite, it is a for operands of the same sign,
    and b otherwise.
    """
    if a.type not in REAL:
        return apply("floormod", a, b)
    same_sign = apply(
        "or",
        apply("eq", apply("lt", a, const(0, a.type)), apply("lt", b, const(0, a.type))),
        apply("eq", a, const(0, a.type)),
    )
    return select(
        _is_finite_by_infinite(a, b), select(same_sign, a, b), a - apply("floor", a / b) * b
    )


def _is_finite_by_infinite(a: Expr, b: Expr) -> Expr:
    """Whether a is finite and b is infinite."""
    infinity = const(inf, a.type)
    return apply(
        "and", apply("lt", apply("abs", a), infinity), apply("eq", apply("abs", b), infinity)
    )


def quotient(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    """a / b; integers are rounded towards zero."""
    return a / b if a.type in REAL else apply("idiv", a, b)


def remainder(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    """The remainder with the sign of a."""
    if a.type not in REAL:
        return apply("irem", a, b)
    return select(_is_finite_by_infinite(a, b), a, a - apply("trunc", a / b) * b)


def towards_zero(a: Array, b: Array) -> Array:
    return a / b if a.dtype.kind == "f" else (a - np.fmod(a, b)) // b


def zero_for_zero_divisors(
    function: Callable[[Array, Array], Array],
) -> Callable[[Attributes, Array, Array], Array]:
    """Make a reference return 0 for integer division by zero."""

    def compute(attrs: Attributes, a: Array, b: Array) -> Array:
        if a.dtype.kind == "f":
            return function(a, b)
        return np.where(b == 0, 0, function(a, np.where(b == 0, 1, b)))

    return compute


def rounded_quotient(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    """rint(a / b). The bitcasts force the quotient to be rounded to float32 first, even on backends
    that compute in float64.
    """
    ratio = a / b
    return apply("rint", bitcast(bitcast(ratio, INT), FLOAT) if a.type == FLOAT else ratio)


def rounded_quotient_reference(attrs: Attributes, a: Array, b: Array) -> Array:
    return np.rint((a / b).astype(np.float32))


HALVES = np.array([[0.35], [-1.05], [2.45]], np.float32)
elementwise(
    "RoundedQuotient",
    rounded_quotient,
    rounded_quotient_reference,
    samples(HALVES, np.array([0.1, 0.7, 0.02], np.float32)),
    arity=2,
)
REMAINDERS = samples(
    np.array([[0.0], [3.0], [-1.0], [np.inf]], np.float32),
    np.array([np.inf, -np.inf, 2.0, 0.0], np.float32),
)
elementwise(
    "Div",
    quotient,
    zero_for_zero_divisors(towards_zero),
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Rem",
    remainder,
    zero_for_zero_divisors(np.fmod),
    [*FLOAT_PAIR, *INT_PAIR, *REMAINDERS],
    kinds=ALL,
    arity=2,
)
elementwise(
    "FloorDiv",
    floor_quotient,
    zero_for_zero_divisors(np.floor_divide),
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Mod",
    floor_remainder,
    zero_for_zero_divisors(np.mod),
    [*FLOAT_PAIR, *INT_PAIR, *REMAINDERS],
    kinds=ALL,
    arity=2,
)

for _name, _op, _function, _kinds in (
    ("Equal", "eq", np.equal, (*ALL, "bool")),
    ("NotEqual", "ne", np.not_equal, (*ALL, "bool")),
    ("Less", "lt", np.less, ALL),
    ("LessEqual", "le", np.less_equal, ALL),
    ("Greater", "gt", np.greater, ALL),
    ("GreaterEqual", "ge", np.greater_equal, ALL),
):
    elementwise(
        _name,
        binary(_op),
        lambda attrs, a, b, _function=_function: _function(a, b),
        [*FLOAT_PAIR, *INT_PAIR, *(BOOL_PAIR if "bool" in _kinds else [])],
        kinds=_kinds,
        arity=2,
        result="bool",
    )

BIT_PAIRS = [
    *samples(BITS, BITS[::-1]),
    *INT_PAIR,
    *samples(BITS.astype(np.uint64) * np.uint64(1 << 23), np.array([3 << 24], np.uint64)),
]
SHIFTS = [
    *samples(BITS, np.array([[3], [1]], np.uint8)),
    *samples(BITS.astype(np.uint64), np.array([3, 20, 64], np.uint64)),
    *samples(INTS, np.array([20, 1, -1], np.int32)),
    *samples(INTS.reshape(-1, 1), np.arange(-2, 21, dtype=np.int32)),
    *samples(BITS.astype(np.uint32).reshape(-1, 1), np.arange(21, dtype=np.uint32)),
]
elementwise("BitAnd", binary("band"), lambda attrs, a, b: a & b, BIT_PAIRS, kinds=("int",), arity=2)
elementwise("BitOr", binary("bor"), lambda attrs, a, b: a | b, BIT_PAIRS, kinds=("int",), arity=2)
elementwise("BitXor", binary("bxor"), lambda attrs, a, b: a ^ b, BIT_PAIRS, kinds=("int",), arity=2)
elementwise(
    "BitNot",
    lambda attrs, x: -1 - x if x.type in (INT, LONG) else -x - 1,
    lambda attrs, x: ~x,
    [*samples(BITS), *samples(INTS)],
    kinds=("int",),
)


def shift(op: str) -> Formula:
    """Shift by any number of bits: counts beyond the width give 0, or -1 for right shifts of
    negative numbers.
    """

    def formula(attrs: Attributes, a: Expr, b: Expr) -> Expr:
        bits = 64 if a.type in (LONG, ULONG) else 32
        too_far = apply("or", apply("lt", b, const(0, a.type)), apply("ge", b, const(bits, a.type)))
        fill = const(0, a.type)
        if op == "shr" and a.type in (INT, LONG):
            fill = select(apply("lt", a, fill), const(-1, a.type), fill)
        return select(too_far, fill, apply(op, a, b))

    return formula


elementwise("ShiftLeft", shift("shl"), lambda attrs, a, b: a << b, SHIFTS, kinds=("int",), arity=2)
elementwise("ShiftRight", shift("shr"), lambda attrs, a, b: a >> b, SHIFTS, kinds=("int",), arity=2)

elementwise("And", binary("and"), lambda attrs, a, b: a & b, BOOL_PAIR, kinds=("bool",), arity=2)
elementwise("Or", binary("or"), lambda attrs, a, b: a | b, BOOL_PAIR, kinds=("bool",), arity=2)
