"""Work distribution on GPUs: workgroups for large contractions and for long reductions of few
points, and vector loads and stores.
"""

from dataclasses import replace
from math import prod

from webkiln.ir.dim import is_symbolic
from webkiln.nest.affine import depends
from webkiln.nest.expr import FLOAT, walk
from webkiln.nest.nest import load_guard, load_index
from webkiln.nest.schedule import InvocationSchedule, Workgroup, panel_of
from webkiln.nest.steps import NestCall
from webkiln.nest.target import ARITHMETIC, Invocations, Target
from webkiln.plan.alignment import fits, is_aligned
from webkiln.plan.vector_axis import VectorAxis
from webkiln.plan.vectors import contiguous, extent, unvectorised

LONG_ROW, FEW_POINTS = 256, 1024
"""Several invocations share a reduction of at least `LONG_ROW` elements if there are at most
`FEW_POINTS` points. More points occupy all invocations anyway.
"""
SIDE = 8
"""The invocations of a workgroup along each of two directions."""
DEPTH = 16
"""Steps of a reduction that are staged in workgroup memory at a time."""


def schedule_invocations(
    call: NestCall, axis: VectorAxis, target: Target, runs: Invocations
) -> InvocationSchedule:
    """The schedule of a call with a vector axis."""
    tile, panels, form = axis.tile, axis.panels, call.form
    if form is not None:
        tile = replace(tile, lanes=form.lanes, count=form.count)
    outer = (loop.axis for loop in call.nest.axes if loop.axis != axis.name)
    order = (
        (*(name for name in outer if name != tile.axis), *((tile.axis,) if tile.axis else ()))
        if axis.is_reduced
        else (*outer, axis.name)
    )
    whole = not axis.is_reduced and _has_full_vectors(call, axis.name, target)
    aligned = whole and is_aligned(call, tile, panels)
    workgroup = form.workgroup if form is not None else _workgroup(call, axis, target, runs)
    unroll = _unrolled_loop(call, axis, workgroup, aligned, target)
    return InvocationSchedule(order, tile, panels, whole, aligned, unroll, workgroup)


def _has_full_vectors(call: NestCall, name: str, target: Target) -> bool:
    (size,) = (call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == name)
    return target.vectors.width > 1 and not is_symbolic(size) and size % target.vectors.width == 0


def _workgroup(
    call: NestCall, axis: VectorAxis, target: Target, runs: Invocations
) -> Workgroup | None:
    if not axis.is_reduced and _uses_blocks(call, axis, runs):
        float16 = target.precision == ARITHMETIC and not call.exact
        return Workgroup(SIDE, SIDE, depth=DEPTH, staged=True, float16=float16)
    if runs.group > 1 and _shares_reduction(call, axis):
        return Workgroup(parts=runs.group) if axis.is_reduced else Workgroup(SIDE, parts=SIDE)
    return None


def _shares_reduction(call: NestCall, axis: VectorAxis) -> bool:
    """Whether several invocations share the vectorised or innermost reduction loop: it is long and
    the points are few.
    """
    tiles = prod(-(-extent(call, loop) // axis.tile.copies(loop.axis)) for loop in call.nest.axes)
    reduce = [loop for loop in call.nest.reduce if loop.axis == axis.name] or call.nest.reduce
    return bool(reduce) and extent(call, reduce[-1]) >= LONG_ROW and tiles <= FEW_POINTS


def _uses_blocks(call: NestCall, axis: VectorAxis, runs: Invocations) -> bool:
    """Whether workgroups stage the factors of a contraction in workgroup memory: it is large, and
    each factor has an axis of its own. That memory contains floats.
    """
    if not runs.blocks or axis.tile.axis is None or not call.nest.reduce:
        return False
    if call.nest.accumulators[0].body.type != FLOAT:
        return False
    names = (axis.tile.axis, axis.name)
    sizes = [extent(call, loop) for loop in call.nest.axes if loop.axis in names] + [
        extent(call, call.nest.reduce[-1])
    ]
    return min(sizes) >= runs.blocks[0] and is_product(call, axis.name, axis.tile.axis)


def is_product(call: NestCall, across: str, down: str) -> bool:
    """Whether one factor of a contraction moves along `across` only, and the other along `down`."""
    moves = {
        tuple(depends(factor, name) for name in (down, across))
        for factor in call.nest.accumulators[0].body.args
    }
    return moves == {(True, False), (False, True)}


def _unrolled_loop(
    call: NestCall, axis: VectorAxis, workgroup: Workgroup | None, aligned: bool, target: Target
) -> str | None:
    """The innermost reduction loop of a contraction, if the factor that does not move along the
    vector axis can be read in vectors along it.
    """
    nest = call.nest
    if axis.is_reduced or not nest.is_contraction or not nest.reduce:
        return None
    if workgroup is not None and not workgroup.depth:
        return None
    name, iterations = nest.reduce[-1].axis, call.args[nest.reduce[-1].extent.value]
    rows = [factor for factor in nest.accumulators[0].body.args if not depends(factor, axis.name)]
    if (
        len(rows) != 1
        or is_symbolic(iterations)
        or iterations % target.vectors.width
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
            nest.inputs[position].dtype not in target.vectors.dtypes
            or panel_of(axis.panels, position)
            or not contiguous(index, name)
        ):
            return None
        if aligned and not fits(call, call.inputs[position], index, None, name, stored=False):
            return None
    return name
