"""Merge the rows and columns of an image in contractions, so that partial tiles occur once per
image instead of once per row.
"""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import pairwise
from math import prod

from webkiln.lower.canonicalize import rename_axes
from webkiln.lower.merge_loops import merge_by_division
from webkiln.nest.affine import depends
from webkiln.nest.program import Program, map_calls
from webkiln.nest.schedule import Schedule
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan.integer_division import quotient
from webkiln.plan.schedule import choose


def run(program: Program, target: Target) -> Program:
    """The tile of each contraction spans all neighbouring parallel axes along which its weights do
    not move.
    """
    constants = program.repackable
    return map_calls(program, lambda call: [_merge_all(call, target, constants)])


def _merge_all(call: NestCall, target: Target, constants: Collection[str]) -> NestCall:
    while (
        call.nest.is_contraction
        and (merged := _merge_once(call, choose(call, target, constants).schedule, target))
        is not None
    ):
        call = merged
    return call


def _merge_once(call: NestCall, schedule: Schedule, target: Target) -> NestCall | None:
    """The call with two of its parallel axes merged, or None. The tile must be clamped and span one
    of the two axes, and one factor must not move along either.
    """
    for outer, inner in pairwise(call.nest.axes):
        axes = (outer.axis, inner.axis)
        if (
            not schedule.clamped
            or schedule.tile not in axes
            or schedule.vector in axes
            or not _has_invariant_factor(call, axes)
        ):
            continue
        sizes = [call.args[loop.extent.value] for loop in (outer, inner)]
        combined = merge_by_division(
            call, outer, inner, partial(quotient, above=prod(sizes), size=sizes[1], target=target)
        )
        if combined is not None:
            return rename_axes(combined)
    return None


def _has_invariant_factor(call: NestCall, axes: Sequence[str]) -> bool:
    """Whether one factor of a contraction moves along none of these axes."""
    return any(
        not any(depends(factor, name) for name in axes)
        for factor in call.nest.accumulators[0].body.args
    )
