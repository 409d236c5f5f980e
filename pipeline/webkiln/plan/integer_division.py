"""Integer division of indices, by multiplication with a reciprocal where possible."""

from webkiln.ir.dim import Size, is_symbolic
from webkiln.nest.expr import INT, UINT, ULONG, Expr, apply, bitcast, cast, const
from webkiln.nest.target import Target

RECIPROCAL_BITS = 40
"""Fractional bits of the reciprocals."""
MAX_DIVIDEND = 1 << 24


def quotient(number: Expr, divisor: Expr, above: Size, size: Size, target: Target) -> Expr:
    """An integer in [0, `above`), divided by a positive one whose value is `size`."""
    exact = (
        target.loops is not None
        and target.loops.fast_int64
        and not any(map(is_symbolic, (above, size)))
        and above <= MAX_DIVIDEND
        and above * size <= 1 << RECIPROCAL_BITS
    )
    return by_reciprocal(number, divisor) if exact else by_division(number, divisor)


def by_division(number: Expr, divisor: Expr) -> Expr:
    return bitcast(apply("idiv", bitcast(number, UINT), bitcast(divisor, UINT)), INT)


def by_reciprocal(number: Expr, divisor: Expr) -> Expr:
    """n * (floor(2^RECIPROCAL_BITS / d) + 1) >> RECIPROCAL_BITS, which is exact if n < MAX_DIVIDEND
    and n * d < 2^RECIPROCAL_BITS (Granlund and Montgomery, PLDI 1994).
    """
    reciprocal = apply("idiv", const(1 << RECIPROCAL_BITS, ULONG), cast(divisor, ULONG)) + const(
        1, ULONG
    )
    return cast(apply("shr", cast(number, ULONG) * reciprocal, const(RECIPROCAL_BITS, ULONG)), INT)
