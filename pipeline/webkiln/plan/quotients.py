"""Quotients of indices, where a division would count."""

from webkiln.ir.dim import is_symbolic
from webkiln.nest.expr import INT, UINT, ULONG, Expr, apply, bitcast, cast, const
from webkiln.nest.target import Target

BITS = 40
"""Of the reciprocals that are multiplied with instead of dividing."""
MOST = 1 << 24


def quotient(number: Expr, divisor: Expr, above: int, size: int, target: Target) -> Expr:
    """A whole number from 0 to below `above`, divided by a positive one whose value is `size`."""
    few = (
        target.fast_int64
        and not any(map(is_symbolic, (above, size)))
        and above <= MOST
        and above * size <= 1 << BITS
    )
    return by_reciprocal(number, divisor) if few else by_division(number, divisor)


def by_division(number: Expr, divisor: Expr) -> Expr:
    return bitcast(apply("idiv", bitcast(number, UINT), bitcast(divisor, UINT)), INT)


def by_reciprocal(number: Expr, divisor: Expr) -> Expr:
    """n * (floor(2^BITS / d) + 1) >> BITS, which is the quotient where n < MOST and n * d < 2^BITS
    (Granlund and Montgomery, PLDI 1994).
    """
    reciprocal = apply("idiv", const(1 << BITS, ULONG), cast(divisor, ULONG)) + const(1, ULONG)
    return cast(apply("shr", cast(number, ULONG) * reciprocal, const(BITS, ULONG)), INT)
