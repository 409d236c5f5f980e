"""Stores of sixteen integers of 8 bits from four vectors of 32-bit lanes.

Instructions that narrow saturate, so they also clamp, if a value is clamped to the range of its
dtype.
"""

from typing import NamedTuple

import numpy as np

from webkiln.codegen.dialect import Vectors
from webkiln.nest.expr import FLOAT, INT, UINT, Expr

TOGETHER = 4
MOST_OFFSET = 1 << 10
"""Offsets of this size do not bring a saturated 16-bit integer into the range of 8 bits."""


class Clamped(NamedTuple):
    """`value` + `offset`, clamped to low..high."""

    value: Expr
    offset: int
    low: int
    high: int


def match_clamped(expr: Expr) -> Clamped | None:
    """An int32 min(max(value, low), high) + offset, or what it is as uint32."""
    if expr.op == "cast" and expr.type == UINT:
        (expr,) = expr.args
    offset, value = _split(expr, "add", 0)
    high, value = _split(value, "min", None)
    low, value = _split(value, "max", None)
    if expr.type != INT or offset is None or low is None or high is None:
        return None
    return Clamped(value, offset, low + offset, high + offset)


def match_clamped_float(expr: Expr, low: float, high: float) -> Expr | None:
    """The float that is cast, if it is clamped by constants within low..high, or NaN."""
    if expr.op != "cast" or expr.args[0].type != FLOAT or expr.args[0].op != "select":
        return None
    (value,) = expr.args
    bounds = []
    for op in ("gt", "lt"):
        if value.op != "select":
            return None
        condition, bound, inner = value.args
        if condition.op != op or condition.args != (inner, bound) or bound.op != "const":
            return None
        bounds.append(bound.value)
        value = inner
    most, least = bounds
    return expr.args[0] if low <= least <= most <= high else None


def _split(expr: Expr, op: str, default: int | None) -> tuple[int | None, Expr]:
    """The constant operand of an operation, and the other one."""
    if expr.op == op and expr.args[1].op == "const":
        return int(expr.args[1].value), expr.args[0]
    return default, expr


def narrowed(dtype: str, value: Expr, vectors: Vectors) -> str:
    """The bytes of four vectors of a value."""
    limits, found = np.iinfo(dtype), match_clamped(value)
    clamped = match_clamped_float(value, limits.min, limits.max)
    if clamped is not None:
        # Engines convert NaN to 0 or to the least int32, whose low byte is 0, too.
        lanes = ", ".join(f"WK_TRUNC({item})" for item in vectors(clamped))
        return f"wk_low16x8({lanes})"
    if (
        found is None
        or not limits.min <= found.low <= found.high <= limits.max
        or abs(found.offset) > MOST_OFFSET
    ):
        return f"wk_low16x8({', '.join(vectors(value))})"
    inner, ends = found.value, f"{found.offset}, {found.low}, {found.high}"
    if inner.op != "filtered":
        return f"wk_clamp_{dtype}({', '.join(vectors(inner))}, {ends})"
    exact, estimate = (vectors(item) for item in inner.args)
    return f"wk_filtered_{dtype}({', '.join([*exact, *estimate])}, {ends})"
