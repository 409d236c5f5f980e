"""Merge the rows and columns of an image in contractions, so that partial tiles occur once per
image instead of once per row.

before:
    program g
    buffer x: float32[9,7,32] input
    buffer w: float32[3,3,32,32] constant
    buffer y: float32[7,5,32]
    live y
    y: float32[7,5,32] = nest(x: float32[9,7,32], w: float32[3,3,32,32]) @conv
      where p0 = 7; p1 = 5; p2 = 32; p3 = 3; p4 = 3; p5 = 32
      for a0 < p0, a1 < p1, a2 < p2
      reduce r0 < p3, r1 < p4, r2 < p5
      acc0 = sum(in0[a0 + r0, a1 + r1, r2] * in1[r0, r1, r2, a2])
      out0[a0, a1, a2] = acc0

after:
    program g
    buffer x: float32[9,7,32] input
    buffer w: float32[3,3,32,32] constant
    buffer y: float32[35,32]
    live y
    y: float32[35,32] = nest(x: float32[9,7,32], w: float32[3,3,32,32]) @conv
      where p0 = 35; p1 = 32; p2 = 3; p3 = 3; p4 = 32; p5 = 5
      for a0 < p0, a1 < p1
      reduce r0 < p2, r1 < p3, r2 < p4
      %0 = i32(shr(u64(a0) * (idiv(u64:1099511627776, u64(p5)) + u64:1), u64:40))
      acc0 = sum(in0[%0 + r0, (a0 - (%0 * p5)) + r1, r2] * in1[r0, r1, r2, a1])
      out0[a0, a1] = acc0
"""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import pairwise
from math import prod

from webkiln.lower.canonicalize import rename_axes
from webkiln.lower.merge_loops import merge_by_division
from webkiln.nest.affine import depends
from webkiln.nest.program import Program, map_calls
from webkiln.nest.schedule import InvocationSchedule, LoopSchedule, Schedule
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan.integer_division import quotient
from webkiln.plan.schedule import choose


def run(program: Program, target: Target) -> Program:
    """The tile of each contraction spans all neighbouring parallel axes along which its weights do
    not move.
    """
    constants = program.repackable
    return map_calls(program, lambda call: [merge_rows(call, target, constants)])


def merge_rows(call: NestCall, target: Target, constants: Collection[str]) -> NestCall:
    """The call with one axis instead of the axes that a tile of a contraction can span."""
    while (
        call.nest.is_contraction
        and (merged := _merge_once(call, choose(call, target, constants).schedule, target))
        is not None
    ):
        call = merged
    return call


def _merge_once(call: NestCall, schedule: Schedule, target: Target) -> NestCall | None:
    """The call with two of its parallel axes merged, or None. The tile must be clamped, or that of
    an invocation, and span one of the two axes, and one factor must not move along either.
    """
    for outer, inner in pairwise(call.nest.axes):
        axes = (outer.axis, inner.axis)
        if (
            not _continues(schedule)
            or schedule.tile.axis not in axes
            or schedule.tile.vector in axes
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


def _continues(schedule: Schedule) -> bool:
    """Whether tiles that are not full cost little."""
    if isinstance(schedule, LoopSchedule):
        return schedule.clamped
    return isinstance(schedule, InvocationSchedule)


def _has_invariant_factor(call: NestCall, axes: Sequence[str]) -> bool:
    """Whether one factor of a contraction moves along none of these axes."""
    return any(
        not any(depends(factor, name) for name in axes)
        for factor in call.nest.accumulators[0].body.args
    )
