"""The semantics of scalar operations, as numpy functions over arrays of the operand types."""

from collections.abc import Callable

import numpy as np

from webkiln.ir.types import Array
from webkiln.nest.expr import BOOL, NUMPY, REAL, Expr


def _floordiv(a: Array, b: Array) -> Array:
    """Division towards minus infinity; x // 0 = 0; the smallest integer divided by -1 wraps."""
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b))).astype(a.dtype)


def _floormod(a: Array, b: Array) -> Array:
    """The remainder of `floordiv`, with the sign of b; x mod 0 = 0."""
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b))).astype(a.dtype)


def _irem(a: Array, b: Array) -> Array:
    """The remainder of `idiv`, with the sign of a; x % 0 = 0."""
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b))).astype(a.dtype)


def _idiv(a: Array, b: Array) -> Array:
    """Division towards zero; x / 0 = 0; the smallest integer divided by -1 wraps."""
    return np.where(b == 0, 0, np.floor_divide(a - _irem(a, b), np.where(b == 0, 1, b))).astype(
        a.dtype
    )


def _shift(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Shift by the count modulo the width of the type."""
    return lambda a, b: function(a, b & a.dtype.type(8 * a.dtype.itemsize - 1))


def _doubling_high(a: Array, b: Array) -> Array:
    """(2 a b + 2**31) / 2**32, rounded down: the upper word of 2 a b, rounded. It wraps."""
    return (a.astype(np.int64) * b + (1 << 30)) >> 31


def _double(function: Callable[..., Array]) -> Callable[..., Array]:
    """Compute a transcendental function in float64, and round the result."""
    return lambda *args: function(*(item.astype(np.float64) for item in args)).astype(args[0].dtype)


def erf(x: Array) -> Array:
    """The error function in float64: a Taylor series below 3, the continued fraction of erfc above
    (Abramowitz & Stegun 7.1.5, 7.1.14).
    """
    magnitude = np.minimum(np.abs(x), 6.0)
    small = np.minimum(magnitude, 3.0)
    term, total = small.copy(), small.copy()
    for n in range(1, 60):
        term = -term * small * small / n
        total = total + term / (2 * n + 1)
    large = np.maximum(magnitude, 3.0)
    fraction = large.copy()
    for k in range(60, 0, -1):
        fraction = large + (k / 2) / fraction
    tail = 1 - np.exp(-large * large) / (fraction * np.sqrt(np.pi))
    signed = np.copysign(np.where(magnitude < 3.0, total * 2 / np.sqrt(np.pi), tail), x)
    return np.asarray(np.where(np.isnan(x), x, signed))


def _turn(x: Array) -> Array:
    """Reduce angles of at least 8192 to -pi..pi; keep smaller ones."""
    wide = x.astype(np.float64)
    return np.where(np.abs(x) < 8192, x, np.arctan2(np.sin(wide), np.cos(wide))).astype(x.dtype)


def _sign(x: Array) -> Array:
    return np.where(np.isnan(x), x, np.sign(x)) if x.dtype.kind == "f" else np.sign(x)


SEMANTICS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": lambda a: -a if a.dtype.kind == "f" else (a - a) - a,
    "abs": np.abs,
    "sign": _sign,
    "min": np.minimum,
    "max": np.maximum,
    "madd": lambda a, b, c: a * b + c,
    "div": np.divide,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "exp": _double(np.exp),
    "log": _double(np.log),
    "log1p": _double(np.log1p),
    "expm1": _double(np.expm1),
    "sin": _double(np.sin),
    "cos": _double(np.cos),
    "tanh": _double(np.tanh),
    "erf": _double(erf),
    "pow": _double(np.power),
    "turn": _turn,
    "idiv": _idiv,
    "irem": _irem,
    "floordiv": _floordiv,
    "floormod": _floormod,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
    "shl": _shift(np.left_shift),
    "shr": _shift(np.right_shift),
    "doubling_high": _doubling_high,
    "filtered": lambda exact, estimate: exact,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "isnan": np.isnan,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def cast(value: Array, type_: str) -> Array:
    """Convert to `type_`. Floats are truncated and saturated for integers, and NaN becomes 0.
    Integers wrap. Converting to bool is `!= 0`.
    """
    target = NUMPY[type_]
    if type_ == BOOL:
        return np.asarray(value != 0)
    if value.dtype.kind == "f" and type_ not in REAL:
        limits = np.iinfo(target)
        truncated = np.trunc(np.where(np.isnan(value), 0, value).astype(np.float64))
        low, high = truncated <= float(limits.min), truncated >= float(limits.max)
        return np.where(
            low,
            limits.min,
            np.where(high, limits.max, np.where(low | high, 0, truncated).astype(target)),
        ).astype(target)
    return value.astype(target)


def compute(expr: Expr, args: list[Array]) -> Array:
    """Evaluate one node for arrays of operands. Loads, axes, args and accumulators are excluded."""
    with np.errstate(all="ignore"):
        if expr.op == "const":
            return np.array(expr.value, dtype=NUMPY[expr.type])
        if expr.op == "select":
            return np.where(args[0], args[1], args[2])
        if expr.op == "cast":
            return cast(args[0], expr.type)
        if expr.op == "bitcast":
            return np.ascontiguousarray(args[0]).view(NUMPY[expr.type]).reshape(args[0].shape)
        return np.asarray(SEMANTICS[expr.op](*args)).astype(NUMPY[expr.type], copy=False)
