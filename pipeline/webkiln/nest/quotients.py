"""Quotients that are rounded to integers, on GPUs whose division is inexact.

WGSL allows an error of 2.5 units in the last place for x / y, and GLSL leaves it undefined; NVIDIA
computes x * (1 / y). Rounding such a quotient is off by one where the exact one is a tie, or an
integer. https://www.w3.org/TR/WGSL/#floating-point-accuracy
"""

from webkiln.nest.expr import FLOAT, INTEGER, UINT, Expr, apply, bitcast, const, make, select
from webkiln.nest.nest import Nest

ROUNDINGS = frozenset({"rint", "floor", "ceil", "trunc"})
TRANSPARENT = frozenset({"add", "sub", "mul", "neg", "abs", "min", "max", "select", "bitcast"})
"""Operations through which the error of a quotient reaches the rounding."""
LARGEST = 2.0**24
"""Larger quotients are integers already. Infinities and NaN are not smaller either."""
UPPER_BITS = 0xFFFFF000
"""Of a float: 12 significant bits, so that products of two such numbers are exact."""


def correct_quotients(nest: Nest) -> Nest:
    """Correct the quotients that are rounded, or converted to integers."""
    return nest.map(_corrected_rounding)


def _corrected_rounding(expr: Expr) -> Expr | None:
    is_cast = expr.op == "cast" and expr.type in INTEGER
    if not (expr.op in ROUNDINGS or is_cast) or expr.args[0].type != FLOAT:
        return None
    operand = _corrected(expr.args[0])
    return None if operand is expr.args[0] else make(expr.op, expr.type, (operand,), expr.value)


def _corrected(expr: Expr) -> Expr:
    if expr.op == "div" and expr.type == FLOAT and not _is_power_of_two(expr.args[1]):
        return exact_quotient(*expr.args)
    if expr.op not in TRANSPARENT:
        return expr
    args = tuple(_corrected(item) for item in expr.args)
    same = all(a is b for a, b in zip(args, expr.args, strict=True))
    return expr if same else make(expr.op, expr.type, args, expr.value)


def _is_power_of_two(divisor: Expr) -> bool:
    """Whether the division by a constant is exact."""
    if divisor.op != "const" or not divisor.value:
        return False
    return bool(float(divisor.value).hex().partition("p")[0].strip("-") == "0x1.0000000000000")


def exact_quotient(x: Expr, y: Expr) -> Expr:
    """x / y, corrected by the exact remainder x - q y: its products are computed in parts (Dekker,
    A floating-point technique for extending the available precision, 1971).
    """
    q = apply("div", x, y)
    (q_high, q_low), (y_high, y_low) = _parts(q), _parts(y)
    remainder = ((x - q_high * y_high) - q_high * y_low - q_low * y_high) - q_low * y_low
    is_fraction = apply("lt", apply("abs", q), const(LARGEST))
    is_finite = apply("lt", apply("abs", remainder), apply("abs", y))
    return select(apply("and", is_fraction, is_finite), q + apply("div", remainder, y), q)


def _parts(x: Expr) -> tuple[Expr, Expr]:
    """Two numbers of at most 12 significant bits whose sum is x."""
    high = bitcast(apply("band", bitcast(x, UINT), const(UPPER_BITS, UINT)), FLOAT)
    return high, x - high
