"""What every operation of the vocabulary means: a numpy function over arrays of the operands' types."""

from collections.abc import Callable

import numpy as np

from webkiln.ir.types import Array
from webkiln.nest.expr import BOOL, NUMPY, Expr


def _idiv(a: Array, b: Array) -> Array:
    """Truncating; x / 0 = 0; the least integer divided by -1 wraps to itself."""
    wide, divisor = a.astype(np.int64), np.where(b == 0, 1, b).astype(np.int64)
    quotient = np.abs(wide) // np.abs(divisor) * np.sign(wide) * np.sign(divisor)
    return np.where(b == 0, 0, quotient).astype(a.dtype)


def _irem(a: Array, b: Array) -> Array:
    """The remainder of `idiv`, with the sign of a; x % 0 = 0."""
    wide, divisor = a.astype(np.int64), np.where(b == 0, 1, b).astype(np.int64)
    return np.where(b == 0, 0, np.sign(wide) * (np.abs(wide) % np.abs(divisor))).astype(a.dtype)


def _floordiv(a: Array, b: Array) -> Array:
    wide, divisor = a.astype(np.int64), np.where(b == 0, 1, b).astype(np.int64)
    return np.where(b == 0, 0, wide // divisor).astype(a.dtype)


def _floormod(a: Array, b: Array) -> Array:
    """The remainder of `floordiv`, with the sign of b; x mod 0 = 0."""
    wide, divisor = a.astype(np.int64), np.where(b == 0, 1, b).astype(np.int64)
    return np.where(b == 0, 0, wide % divisor).astype(a.dtype)


def _double(function: Callable[..., Array]) -> Callable[..., Array]:
    """A transcendental function, correctly rounded from float64."""
    return lambda *args: function(*(item.astype(np.float64) for item in args)).astype(np.float32)


def erf(x: Array) -> Array:
    """The error function in float64: a Taylor series below 3, the continued fraction of erfc above (Abramowitz & Stegun 7.1.5, 7.1.14)."""
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


def _sign(x: Array) -> Array:
    return np.sign(x) if x.dtype != np.float32 else np.where(np.isnan(x), x, np.sign(x))


SEMANTICS: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": lambda a: (0 - a) if a.dtype != np.float32 else -a,
    "abs": np.abs, "sign": _sign, "min": np.minimum, "max": np.maximum,
    "div": np.divide, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "exp": _double(np.exp), "log": _double(np.log), "log1p": _double(np.log1p), "expm1": _double(np.expm1),
    "sin": _double(np.sin), "cos": _double(np.cos), "tanh": _double(np.tanh), "erf": _double(erf), "pow": _double(np.power),
    "idiv": _idiv, "irem": _irem, "floordiv": _floordiv, "floormod": _floormod,
    "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor,
    "shl": lambda a, b: np.left_shift(a, b & 31), "shr": lambda a, b: np.right_shift(a, b & 31),
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not, "isnan": np.isnan,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def cast(value: Array, type_: str) -> Array:
    """Float to integer truncates and saturates, NaN gives 0; integers wrap; to bool is `!= 0`."""
    target = NUMPY[type_]
    if type_ == BOOL:
        return np.asarray(value != 0)
    if value.dtype == np.float32 and type_ != "f32":
        limits = np.iinfo(target)
        wide = np.trunc(np.where(np.isnan(value), 0, value).astype(np.float64))
        return np.clip(wide, limits.min, limits.max).astype(np.int64).astype(target)
    return value.astype(target)


def compute(expr: Expr, args: list[Array]) -> Array:
    """The value of one node (no load, axis, arg or accumulator) over arrays."""
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
