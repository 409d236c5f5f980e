"""Contractions over an image as contractions over its pixels: rows and columns become one axis, so that a tile is cut off once an image instead of once a row."""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from math import prod

from webkiln.ir.dim import is_symbolic
from webkiln.lower.merge import linear
from webkiln.lower.tidy import renamed
from webkiln.nest.affine import depends
from webkiln.nest.build import NestCall, Step, map_inside
from webkiln.nest.expr import INT, UINT, ULONG, Expr, apply, bitcast, cast, const
from webkiln.nest.schedule import Schedule
from webkiln.nest.target import Target
from webkiln.plan.schedule import choose

BITS = 40
"""Of the reciprocals that are multiplied with instead of dividing."""


def with_pixels(steps: Iterable[Step], target: Target, constants: Collection[str]) -> tuple[Step, ...]:
    """The steps with the tile of each contraction on as many neighbouring parallel axes as its weights do not move along."""

    def changed(step: Step) -> Step:
        if isinstance(step, NestCall):
            return _pixels(step, target, constants)
        return map_inside(step, lambda block: with_pixels(block, target, constants))

    return tuple(map(changed, steps)) if target.pixels else tuple(steps)


def _pixels(call: NestCall, target: Target, constants: Collection[str]) -> NestCall:
    while call.nest.is_contraction and (merged := _merged(call, choose(call, target, constants).schedule)) is not None:
        call = merged
    return call


def _merged(call: NestCall, schedule: Schedule) -> NestCall | None:
    for outer, inner in pairwise(call.nest.axes):
        axes = (outer.axis, inner.axis)
        if not schedule.clamped or schedule.tile not in axes or schedule.vector in axes or not _apart(call, axes):
            continue
        sizes = [call.args[loop.extent.value] for loop in (outer, inner)]
        few = not any(map(is_symbolic, sizes)) and prod(sizes) < 1 << 24 and prod(sizes) * sizes[1] < 1 << BITS
        found = linear(call, outer, inner, by_reciprocal if few else by_division)
        if found is not None:
            return renamed(found)
    return None


def _apart(call: NestCall, axes: Sequence[str]) -> bool:
    """Whether one factor of a contraction moves along none of some axes."""
    return any(not any(depends(factor, name) for name in axes) for factor in call.nest.accumulators[0].body.args)


def by_division(number: Expr, divisor: Expr) -> Expr:
    return bitcast(apply("idiv", bitcast(number, UINT), bitcast(divisor, UINT)), INT)


def by_reciprocal(number: Expr, divisor: Expr) -> Expr:
    """n * (floor(2^BITS / d) + 1) >> BITS, which is the quotient where n * d < 2^BITS (Granlund and Montgomery, PLDI 1994)."""
    reciprocal = apply("idiv", const(1 << BITS, ULONG), cast(divisor, ULONG)) + const(1, ULONG)
    return cast(apply("shr", cast(number, ULONG) * reciprocal, const(BITS, ULONG)), INT)
