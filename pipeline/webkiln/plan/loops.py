"""Schedules of loops on CPUs: their order, how tiles are traversed, and what threads share."""

from math import prod

from webkiln.ir.dim import is_symbolic
from webkiln.nest.affine import depends
from webkiln.nest.expr import FLOAT, Expr, const
from webkiln.nest.nest import Loop, Nest, load_guard, load_index
from webkiln.nest.schedule import LoopSchedule, Panel, Remainder, Slide, Tile
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Loops, Target
from webkiln.plan.sliding_windows import match_sliding_window
from webkiln.plan.tile_shapes import CACHED_BYTES, all_factors_move, known_bytes
from webkiln.plan.vector_axis import VectorAxis
from webkiln.plan.vectors import extent

BLOCK = 192
"""Rows of a contraction that are multiplied by all panels before the next rows, if there are many.
"""
MANY_ITERATIONS = 100
"""This many iterations are divided evenly among a few threads, whatever their number."""
MIN_PREFETCH_BYTES = 1 << 16
"""Smaller constants need no prefetch."""
MIN_PREFETCH_ROWS = 24
"""With fewer neighbours there is so little to compute between two prefetched cache lines that the
interruptions cost more than the loads.
"""


def schedule_loops(call: NestCall, axis: VectorAxis, target: Target, loops: Loops) -> LoopSchedule:
    """The loops of a call with a vector axis."""
    tile, panels = axis.tile, axis.panels
    reuses = tile.axis is not None and not axis.is_reduced and not all_factors_move(call, axis.name)
    spans_rows = reuses and loops.tiles_span_rows
    blocked = (
        spans_rows
        and tile.axis is not None
        and extent(call, _loop_of(call.nest, tile.axis)) > 2 * BLOCK
    )
    order = _order(call, axis, reuses, blocked)
    return LoopSchedule(
        order,
        tile,
        panels,
        _remainder(call, axis, target),
        clamped=spans_rows and tile.count > 1,
        block=BLOCK if blocked else 0,
        slide=None if reuses else _slide(call, axis, target),
        zeros=_reads_shared_zeros(call, order, target),
        prefetch=loops.prefetch and _prefetches(call, order, tile, panels),
        split=_split_loop(call, order, tile) if loops.multithreaded else None,
    )


def scalar_loops(call: NestCall, loops: Loops) -> LoopSchedule:
    """One element at a time, in the order of the nest."""
    order = tuple(loop.axis for loop in call.nest.axes)
    split = _split_loop(call, order, Tile()) if loops.multithreaded else None
    return LoopSchedule(order, split=split)


def _order(call: NestCall, axis: VectorAxis, reuses: bool, blocked: bool) -> tuple[str, ...]:
    """The parallel loops. Neighbours on the tile axis that reuse a factor are the innermost loop,
    below that over vectors; elsewhere vectors are innermost.
    """
    vector, other = axis.name, axis.tile.axis
    outer = tuple(loop.axis for loop in call.nest.axes if loop.axis not in (vector, other))
    inner = () if other is None else (other,)
    if axis.is_reduced:
        return (*outer, *inner)
    if blocked:
        return (*outer, vector, *inner)
    if reuses or (other is None and call.nest.is_contraction):
        return (vector, *outer, *inner)
    return (*outer, *inner, vector)


def _slide(call: NestCall, axis: VectorAxis, target: Target) -> Slide | None:
    tile = axis.tile
    if tile.axis is None or axis.is_reduced or (tile.lanes, tile.count) not in target.tiles.sliding:
        return None
    return match_sliding_window(call, tile.axis, axis.name, tile.count)


def _remainder(call: NestCall, axis: VectorAxis, target: Target) -> Remainder:
    if axis.is_reduced:
        return "elements"
    size = call.args[_loop_of(call.nest, axis.name).extent.value]
    if is_symbolic(size):
        return "elements"
    if size % axis.tile.lanes == 0:
        return "none"
    return (
        "vectors" if target.vectors.width > 1 and size % target.vectors.width == 0 else "elements"
    )


def _split_loop(call: NestCall, order: tuple[str, ...], tile: Tile) -> str | None:
    """The loop that threads divide. Only loops along the largest operand qualify, so that no thread
    reads all of it. The outermost loop with many iterations, trying the tile axis first; if there
    is none, the loop that divides most evenly.
    """
    index = _largest_operand_index(call)
    candidates = [
        name for name in order if index is None or any(depends(item, name) for item in index)
    ]
    loops = sorted(candidates or order, key=lambda name: name != tile.axis)
    iterations = {
        name: max(1, -(-extent(call, _loop_of(call.nest, name)) // tile.copies(name)))
        for name in loops
    }
    many = [name for name in loops if iterations[name] >= MANY_ITERATIONS]
    if many or not loops:
        return many[0] if many else None
    best = min(
        loops,
        key=lambda name: max(
            -(-iterations[name] // parts) * parts / iterations[name] for parts in (2, 3, 4)
        ),
    )
    return best if iterations[best] > 1 else None


def _largest_operand_index(call: NestCall) -> tuple[Expr, ...] | None:
    """The index of the largest operand of a contraction, if caches do not contain it."""
    if not call.nest.is_contraction:
        return None
    views = {expr: call.inputs[expr.value[0]] for expr in call.nest.loads}
    if any(is_symbolic(view.type.size) for view in views.values()):
        return None
    largest = max(views, key=lambda expr: known_bytes(views[expr]))
    return load_index(largest) if known_bytes(views[largest]) > CACHED_BYTES else None


def _reads_shared_zeros(call: NestCall, order: tuple[str, ...], target: Target) -> bool:
    """Whether the shared zeros are large enough for every guarded load whose index moves along
    loops deeper than its guard.
    """
    nest = call.nest
    loops = {
        loop.axis: (depth, loop)
        for depth, loop in enumerate((*(_loop_of(nest, name) for name in order), *nest.reduce))
    }
    reaches = [0]
    for expr in nest.loads:
        guard = load_guard(expr)
        if guard is None:
            continue
        guard_depth = max(
            (depth for name, (depth, _) in loops.items() if depends(guard[0], name)), default=-1
        )
        deeper = [loop for depth, loop in loops.values() if depth > guard_depth]
        view = call.inputs[expr.value[0]]
        for d, item in enumerate(load_index(expr)):
            moving_loops = [loop for loop in deeper if depends(item, loop.axis)]
            if not moving_loops:
                continue
            sizes = [call.args[loop.extent.value] for loop in moving_loops]
            if (
                item.op != "axis"
                or any(map(is_symbolic, (*sizes, *view.shape[d + 1 :])))
                or guard[1] is not const(0, FLOAT)
                or view.type.dtype != "float32"
            ):
                return False
            reaches.append(sizes[0] * prod(view.shape[d + 1 :]))
    return 0 < sum(reaches) <= target.memory.zero_elements


def _prefetches(
    call: NestCall, order: tuple[str, ...], tile: Tile, panels: tuple[Panel, ...]
) -> bool:
    """Whether a loop over enough tiles uses the panels one after another, and the constants exceed
    what caches retain.
    """
    if (
        len(panels) != 1
        or len(call.nest.reduce) != 1
        or tile.axis is None
        or order[-1] != tile.axis
    ):
        return False
    if extent(call, _loop_of(call.nest, tile.axis)) < MIN_PREFETCH_ROWS:
        return False
    (panel,) = panels
    view = call.inputs[panel.source]
    loads = [expr for expr in call.nest.loads if expr.value[0] == panel.source]
    moving = any(depends(expr, tile.axis) for expr in loads)
    return bool(panel.order) and not moving and known_bytes(view) >= MIN_PREFETCH_BYTES


def _loop_of(nest: Nest, name: str) -> Loop:
    """The parallel loop of an axis."""
    return next(loop for loop in nest.axes if loop.axis == name)
