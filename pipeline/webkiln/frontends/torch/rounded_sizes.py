"""Sizes times a float, rounded, such as `int(size * 1.7)`: the same numbers in integers.

Sizes are symbolic integers when a model is converted. The factor is written as a fraction p / q,
and the formula (size * p + r) // q is compared with torch's float64 arithmetic for all usual sizes.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from torch.fx import Node

CHECKED = 1 << 14
LARGEST_DENOMINATOR = 1000
ROUNDING: Mapping[str, Callable[[float], int]] = {
    "trunc": math.trunc,
    "sym_int": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}
"""By the names of functions in a program."""


@dataclass(frozen=True)
class ScaledSize:
    """A float that is a size times a factor: torch's result for a size, and the factor."""

    size: Node
    value: Callable[[int], float]
    factor: Fraction


@dataclass(frozen=True)
class RoundedSize:
    """(size * numerator + offset) // denominator."""

    size: Node
    numerator: int
    offset: int
    denominator: int


def scaled_size(node: Any) -> ScaledSize | None:
    """The float that a node computes from one size by products and quotients, if it does."""
    if not isinstance(node, Node) or node.op != "call_function":
        return None
    if node.target is torch.sym_float and isinstance(node.args[0], Node):
        return ScaledSize(node.args[0], float, Fraction(1))
    if node.target not in (operator.mul, operator.truediv):
        return None
    a, b = node.args
    if node.target is operator.mul and isinstance(a, int | float):
        a, b = b, a
    if not isinstance(b, int | float) or isinstance(b, bool) or not math.isfinite(b) or b <= 0:
        return None
    inner = scaled_size(a)
    if inner is None:
        if not isinstance(a, Node) or not isinstance(a.meta.get("val"), torch.SymInt):
            return None
        inner = ScaledSize(a, float, Fraction(1))
    apply, before, factor = node.target, inner.value, _fraction(b)
    return ScaledSize(
        inner.size,
        lambda size: float(apply(before(size), b)),
        inner.factor * factor if apply is operator.mul else inner.factor / factor,
    )


def rounded_size(node: Node) -> RoundedSize | None:
    """The integer formula of a node that rounds such a float. None if the node does not, or if no
    formula has torch's results.
    """
    name = function_name(node)
    rounding = ROUNDING[name]
    if name == "round" and len(node.args) > 1 and node.args[1] is not None:
        return None
    scaled = scaled_size(node.args[0])
    if scaled is None:
        return None
    p, q = scaled.factor.numerator, scaled.factor.denominator
    if name == "round":
        p, q, offset = 2 * p, 2 * q, q
    else:
        offset = q - 1 if name == "ceil" else 0
    fits = all(
        rounding(scaled.value(size)) == (size * p + offset) // q for size in range(1, CHECKED)
    )
    return RoundedSize(scaled.size, p, offset, q) if fits else None


def is_rounded(node: Node) -> bool:
    """Whether a node rounds a size times a float."""
    return function_name(node) in ROUNDING and scaled_size(node.args[0]) is not None


def is_only_rounded(node: Node) -> bool:
    """Whether a node computes such a float, and nothing else reads it."""
    return (
        scaled_size(node) is not None
        and bool(node.users)
        and all(is_rounded(user) or is_only_rounded(user) for user in node.users)
    )


def function_name(node: Node) -> str:
    return str(getattr(node.target, "__name__", "")) if node.op == "call_function" else ""


def _fraction(value: float) -> Fraction:
    """The simplest fraction that is this float."""
    simple = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return simple if float(simple) == value else Fraction(value)
