"""Work distribution on GPUs: workgroups for large contractions and for long reductions of few
points, and vector loads and stores.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from webkiln.ir.dim import is_symbolic
from webkiln.nest.affine import depends
from webkiln.nest.expr import walk
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.schedule import SIDE, Schedule
from webkiln.nest.steps import NestCall
from webkiln.nest.target import ARITHMETIC, Target
from webkiln.plan.alignment import fits, is_aligned
from webkiln.plan.vectors import contiguous, extent, unvectorised

LONG_ROW, FEW_POINTS = 256, 1024
"""Several invocations share a reduction of at least `LONG_ROW` elements if there are at most
`FEW_POINTS` points. More points occupy all invocations anyway.
"""
DEPTH = 16
"""Steps of a reduction that are staged in workgroup memory at a time."""


def distribute(call: NestCall, schedule: Schedule, target: Target) -> Schedule:
    """The schedule, completed for backends on which invocations compute points."""
    rows = [loop for loop in call.nest.reduce if loop.axis == schedule.vector]
    if not rows and target.group == SIDE * SIDE and _uses_blocks(call, schedule, target):
        schedule = replace(
            schedule,
            group=target.group,
            depth=DEPTH,
            float16=target.precision == ARITHMETIC and not call.exact,
        )
    elif target.group > 1 and _shares_reduction(call, schedule, rows or call.nest.reduce):
        schedule = replace(schedule, group=target.group)
    schedule = replace(schedule, aligned=is_aligned(call, schedule))
    return replace(schedule, unroll=_unrolled_loop(call, schedule, target))


def _shares_reduction(call: NestCall, schedule: Schedule, reduce: Sequence[Loop]) -> bool:
    """Whether several invocations share the innermost reduction loop: it is long and the points are
    few.
    """
    chunks = prod(-(-extent(call, loop) // schedule.span(loop.axis)) for loop in call.nest.axes)
    return bool(reduce) and extent(call, reduce[-1]) >= LONG_ROW and chunks <= FEW_POINTS


def _uses_blocks(call: NestCall, schedule: Schedule, target: Target) -> bool:
    """Whether workgroups stage the factors of a contraction in workgroup memory: it is large, and
    each factor has an axis of its own.
    """
    if (
        not target.blocks
        or schedule.tile is None
        or schedule.vector is None
        or not call.nest.reduce
    ):
        return False
    names = (schedule.tile, schedule.vector)
    moves = {
        tuple(depends(factor, name) for name in names)
        for factor in call.nest.accumulators[0].body.args
    }
    sizes = [extent(call, loop) for loop in call.nest.axes if loop.axis in names] + [
        extent(call, call.nest.reduce[-1])
    ]
    return min(sizes) >= target.blocks[0] and moves == {(True, False), (False, True)}


def _unrolled_loop(call: NestCall, schedule: Schedule, target: Target) -> str | None:
    """The innermost reduction loop of a contraction, if the factor that does not move along the
    vector axis can be read in vectors along it.
    """
    nest, vector = call.nest, schedule.vector
    if (
        vector is None
        or (schedule.group > 1 and not schedule.depth)
        or not nest.is_contraction
        or not nest.reduce
    ):
        return None
    if any(loop.axis == vector for loop in nest.reduce):
        return None
    name, iterations = nest.reduce[-1].axis, call.args[nest.reduce[-1].extent.value]
    rows = [factor for factor in nest.accumulators[0].body.args if not depends(factor, vector)]
    if (
        len(rows) != 1
        or is_symbolic(iterations)
        or iterations % target.width
        or unvectorised(rows, name, target)
    ):
        return None
    for expr in (item for item in walk(rows) if item.op == "load"):
        position, index, guard = expr.value[0], load_index(expr), load_guard(expr)
        if guard is not None and depends(guard[0], name):
            return None
        if not any(depends(item, name) for item in index):
            continue
        if (
            nest.inputs[position].dtype != "float32"
            or schedule.panel(position)
            or not contiguous(index, name)
        ):
            return None
        if schedule.aligned and not fits(
            call, call.inputs[position], index, None, name, stored=False
        ):
            return None
    return name
