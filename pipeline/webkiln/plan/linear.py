"""Contractions over an image as contractions over its pixels: rows and columns become one axis, so
that a tile is cut off once an image instead of once a row.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import pairwise
from math import prod

from webkiln.lower.canonicalize import renamed
from webkiln.lower.merge_loops import linear
from webkiln.nest.affine import depends
from webkiln.nest.schedule import Schedule
from webkiln.nest.steps import NestCall, Step, map_blocks
from webkiln.nest.target import Target
from webkiln.plan.quotients import quotient
from webkiln.plan.schedule import choose


def with_pixels(
    steps: Iterable[Step], target: Target, constants: Collection[str]
) -> tuple[Step, ...]:
    """The steps with the tile of each contraction on as many neighbouring parallel axes as its
    weights do not move along.
    """

    def changed(step: Step) -> Step:
        if isinstance(step, NestCall):
            return _pixels(step, target, constants)
        return map_blocks(step, lambda block: with_pixels(block, target, constants))

    return tuple(map(changed, steps)) if target.tiles_span_rows else tuple(steps)


def _pixels(call: NestCall, target: Target, constants: Collection[str]) -> NestCall:
    while (
        call.nest.is_contraction
        and (merged := _merged(call, choose(call, target, constants).schedule, target)) is not None
    ):
        call = merged
    return call


def _merged(call: NestCall, schedule: Schedule, target: Target) -> NestCall | None:
    for outer, inner in pairwise(call.nest.axes):
        axes = (outer.axis, inner.axis)
        if (
            not schedule.clamped
            or schedule.tile not in axes
            or schedule.vector in axes
            or not _apart(call, axes)
        ):
            continue
        sizes = [call.args[loop.extent.value] for loop in (outer, inner)]
        found = linear(
            call, outer, inner, partial(quotient, above=prod(sizes), size=sizes[1], target=target)
        )
        if found is not None:
            return renamed(found)
    return None


def _apart(call: NestCall, axes: Sequence[str]) -> bool:
    """Whether one factor of a contraction moves along none of some axes."""
    return any(
        not any(depends(factor, name) for name in axes)
        for factor in call.nest.accumulators[0].body.args
    )
