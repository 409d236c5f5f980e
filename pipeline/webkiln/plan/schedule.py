"""Choose a schedule for each call: the vector axis, the tile, and the constant operands that are
repacked as panels.

A rule that rejects an axis returns the reason, which `webkiln explain` prints.
"""

from collections.abc import Collection
from dataclasses import replace
from math import prod

from webkiln.ir.dim import is_symbolic
from webkiln.nest.affine import depends
from webkiln.nest.choice import Choice
from webkiln.nest.expr import FLOAT, Expr, axis, const, walk
from webkiln.nest.nest import Loop, Nest, load_guard, load_index
from webkiln.nest.schedule import Panel, Schedule
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan.invocations import distribute
from webkiln.plan.sliding_windows import match_sliding_window
from webkiln.plan.tile_shapes import (
    CACHED_BYTES,
    all_factors_move,
    known_bytes,
    tile_axis,
    tile_shape,
)
from webkiln.plan.vectors import contiguous, extent, moving, unvectorised

BLOCK = 192
"""Rows of a contraction that are multiplied by all panels before the next rows, if there are many.
"""
MAX_WIDE_LOADS = 8
"""A map with at most this many loads has registers for several vectors of each."""
MANY_ITERATIONS = 100
"""This many iterations are divided evenly among a few threads, whatever their number."""
MIN_PREFETCH_BYTES = 1 << 16
"""Smaller constants need no prefetch."""
MIN_PREFETCH_ROWS = 24
"""With fewer neighbours there is so little to compute between two prefetched cache lines that the
interruptions cost more than the loads.
"""
MIN_VECTOR_ROW = 8
"""The shortest reduction for which folding several accumulators pays."""


def plain(call: NestCall, why: str) -> Choice:
    """The scalar schedule: one element at a time."""
    return Choice(Schedule(tuple(loop.axis for loop in call.nest.axes)), why)


def choose(call: NestCall, target: Target, constants: Collection[str]) -> Choice:
    """The schedule of `call` on a backend. Operands named in `constants` may be repacked."""
    choice = _choose_vector_axis(call, target, constants)
    full, ahead = (
        _has_no_remainder(call, choice.schedule, target),
        target.prefetch and _prefetches(call, choice.schedule),
    )
    choice = replace(choice, schedule=replace(choice.schedule, full=full, ahead=ahead))
    return (
        replace(choice, schedule=replace(choice.schedule, split=_split(call, choice.schedule)))
        if target.multithreaded
        else choice
    )


def _split(call: NestCall, schedule: Schedule) -> str | None:
    """The loop that threads divide. Only loops along the largest operand qualify, so that no thread
    reads all of it. The outermost loop with many iterations, trying the tile axis first; if there
    is none, the loop that divides most evenly.
    """
    index = _largest_operand_index(call)
    candidates = [
        name
        for name in schedule.order
        if index is None or any(depends(item, name) for item in index)
    ]
    loops = sorted(candidates or schedule.order, key=lambda name: name != schedule.tile)
    iterations = {
        name: max(1, -(-extent(call, loop_of(call.nest, name)) // schedule.span(name)))
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


def _choose_vector_axis(call: NestCall, target: Target, constants: Collection[str]) -> Choice:
    nest = call.nest
    if target.width == 1 and not nest.accumulators:
        return plain(call, f"{target.backend} computes one element at a time outside reductions")
    rejections = []
    for loop in reversed(nest.axes):
        fit = _panels_for(call, loop, target, constants)
        if isinstance(fit, str):
            rejections.append(f"{loop.axis}: {fit}")
            continue
        return _complete(_along_axis(call, loop.axis, fit, target), call, target, rejections)
    for loop in reversed(nest.reduce):
        reason = _row_rejection(call, loop, target)
        if reason is None:
            return _complete(_along_reduction(call, loop.axis, target), call, target, rejections)
        rejections.append(f"{loop.axis}: {reason}")
    if not rejections:
        return plain(call, "there is no axis")
    return plain(call, "no axis can be the vector axis (" + "; ".join(rejections) + ")")


def _complete(schedule: Schedule, call: NestCall, target: Target, rejections: list[str]) -> Choice:
    """The choice with its explanation: the vector axis, tile and panels, and the rejected axes."""
    if target.threads:
        schedule = distribute(call, schedule, target)
    schedule = replace(schedule, zeros=_reads_shared_zeros(call, schedule, target))
    parts = [f"{schedule.lanes} of {schedule.vector} at a time"]
    if schedule.depth:
        parts.append(
            f"in blocks of a workgroup, {schedule.depth}"
            f" deep{', in float16 where the device can' if schedule.float16 else ''}"
        )
    elif schedule.group > 1:
        parts.append(f"by {schedule.group} invocations")
    if schedule.tile is not None:
        parts.append(f"{schedule.count} of {schedule.tile}")
    parts += [
        f"{call.inputs[panel.source].name} in panels of {panel.block}" for panel in schedule.panels
    ]
    return Choice(
        schedule, ", ".join(parts) + (f" ({'; '.join(rejections)})" if rejections else "")
    )


def _panels_for(
    call: NestCall, loop: Loop, target: Target, constants: Collection[str]
) -> list[Panel] | str:
    """The panels with which `loop` can be the vector axis, or the reason why it cannot."""
    nest, name = call.nest, loop.axis
    loads = moving(call, name, target)
    if isinstance(loads, str):
        return loads
    panels: dict[int, Panel] = {}
    for expr in nest.loads:
        if any(item.op in ("acc", "accindex") for item in walk(expr.args)):
            return f"where input {expr.value[0]} is read is the result of a reduction"
    for expr in loads:
        if target.threads and contiguous(load_index(expr), name):
            continue
        panel = _panel(call, expr, name, target, constants)
        if panel is not None:
            panels[expr.value[0]] = panel
        elif not contiguous(load_index(expr), name):
            return f"input {expr.value[0]} is not contiguous on it"
    for out in nest.outputs:
        if target.width > 1 and out.operand.dtype not in target.vector_dtypes:
            return f"the output is {out.operand.dtype}"
        if not nest.accumulators and not all(contiguous(index, name) for _, index in out.stores):
            return "the output is not contiguous on it"
    if target.width > 1:
        reason = unvectorised(
            [a.body for a in nest.accumulators]
            + [value for out in nest.outputs for value, _ in out.stores],
            name,
            target,
        )
        if reason:
            return reason
    if extent(call, loop) < (
        2 if panels or (target.threads and nest.is_contraction) else max(target.width, 2)
    ):
        return f"its size {extent(call, loop)} is below a vector"
    return list(panels.values())


def _row_rejection(call: NestCall, loop: Loop, target: Target) -> str | None:
    """The reason why a reduction loop cannot be vectorised, if there is one."""
    nest, name = call.nest, loop.axis
    if extent(call, loop) < MIN_VECTOR_ROW:
        return f"its size {extent(call, loop)} is below {MIN_VECTOR_ROW}"
    loads = moving(call, name, target)
    if isinstance(loads, str):
        return loads
    for expr in loads:
        if not contiguous(load_index(expr), name):
            return f"input {expr.value[0]} is not contiguous on it"
    if target.width == 1:
        return None
    return unvectorised([a.body for a in nest.accumulators], name, target)


def _panel(
    call: NestCall, expr: Expr, name: str, target: Target, constants: Collection[str]
) -> Panel | None:
    """The panel of a constant factor of a contraction: the vector axis innermost, the other
    dimensions in the order of the loops that move along them. A dimension along which no loop moves
    follows the dimension before it.
    """
    source, index = expr.value[0], load_index(expr)
    reads = [e for e in call.nest.loads if e.value[0] == source]
    if (
        not target.packs
        or not call.nest.is_contraction
        or call.inputs[source].name not in constants
        or len(reads) > 1
        or load_guard(expr)
    ):
        return None
    along = [item for item in index if depends(item, name)]
    if expr not in call.nest.accumulators[0].body.args or along != [axis(name)]:
        return None
    loops = [loop.axis for loop in (*call.nest.axes, *call.nest.reduce)]
    if not any(depends(item, loop.axis) for item in index for loop in call.nest.reduce):
        return None
    dim, depths = index.index(axis(name)), [-1]
    for item in index:
        depths.append(
            max(
                (depth for depth, loop in enumerate(loops) if depends(item, loop)),
                default=depths[-1],
            )
        )
    order = sorted((d for d in range(len(index)) if d != dim), key=lambda d: depths[d + 1])
    return Panel(source, dim, tuple(order), tile_shape(call, name, target)[0])


def _reads_shared_zeros(call: NestCall, schedule: Schedule, target: Target) -> bool:
    """Whether the shared zeros are large enough for every guarded load whose index moves along
    loops deeper than its guard.
    """
    nest = call.nest
    loops = {
        loop.axis: (depth, loop)
        for depth, loop in enumerate(
            (*(loop_of(nest, name) for name in schedule.order), *nest.reduce)
        )
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
    return 0 < sum(reaches) <= target.zero_elements


def loop_of(nest: Nest, name: str) -> Loop:
    """The parallel loop of an axis."""
    return next(loop for loop in nest.axes if loop.axis == name)


def _along_axis(call: NestCall, name: str, panels: list[Panel], target: Target) -> Schedule:
    nest = call.nest
    others = [loop.axis for loop in nest.axes if loop.axis != name]
    full_vectors = _has_full_vectors(call, name, target)
    if not nest.is_contraction:
        lanes = target.map_lanes if len(nest.loads) <= MAX_WIDE_LOADS else target.width
        return Schedule((*others, name), name, lanes, whole=full_vectors)
    lanes, count = tile_shape(call, name, target)
    tile = tile_axis(call, name)
    if target.threads:
        tile_name, copies = (tile.axis, count) if tile else (None, 1)
        return Schedule(
            (*others, name), name, lanes, tile_name, copies, tuple(panels), full_vectors
        )
    if tile is None:
        return Schedule((name, *others), name, lanes, panels=tuple(panels), whole=full_vectors)
    inner = (*(item for item in others if item != tile.axis), tile.axis)
    if all_factors_move(call, name):
        sliding = (
            match_sliding_window(call, tile.axis, name, count)
            if (lanes, count) in target.sliding
            else None
        )
        return Schedule(
            (*inner, name),
            name,
            lanes,
            tile.axis,
            count,
            tuple(panels),
            full_vectors,
            slide=sliding,
        )
    blocked = target.tiles_span_rows and extent(call, tile) > 2 * BLOCK
    order = (*inner[:-1], name, tile.axis) if blocked else (name, *inner)
    return Schedule(
        order,
        name,
        lanes,
        tile.axis,
        count,
        tuple(panels),
        full_vectors,
        clamped=target.tiles_span_rows and count > 1,
        block=BLOCK if blocked else 0,
    )


def _has_full_vectors(call: NestCall, name: str, target: Target) -> bool:
    (extent,) = (call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == name)
    return target.width > 1 and not is_symbolic(extent) and extent % target.width == 0


def _has_no_remainder(call: NestCall, schedule: Schedule, target: Target) -> bool:
    """Whether the loop over the vector axis has no remainder, on a backend that prints loops."""
    sizes = [
        call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == schedule.vector
    ]
    return (
        target.loops
        and all(not is_symbolic(size) and size % schedule.lanes == 0 for size in sizes)
        and sizes != []
    )


def _prefetches(call: NestCall, schedule: Schedule) -> bool:
    """Whether a loop over enough tiles uses the panels one after another, and the constants exceed
    what caches retain.
    """
    if (
        len(schedule.panels) != 1
        or len(call.nest.reduce) != 1
        or schedule.tile is None
        or schedule.order[-1] != schedule.tile
    ):
        return False
    if extent(call, loop_of(call.nest, schedule.tile)) < MIN_PREFETCH_ROWS:
        return False
    (panel,) = schedule.panels
    view = call.inputs[panel.source]
    loads = [expr for expr in call.nest.loads if expr.value[0] == panel.source]
    moving = any(depends(expr, schedule.tile) for expr in loads)
    return bool(panel.order) and not moving and known_bytes(view) >= MIN_PREFETCH_BYTES


def _along_reduction(call: NestCall, name: str, target: Target) -> Schedule:
    """Vectorise along a reduction loop. A contraction also has a tile, whose copies share the other
    factor.
    """
    others = [loop.axis for loop in call.nest.axes]
    tile = tile_axis(call, name) if call.nest.is_contraction else None
    if tile is None:
        return Schedule(tuple(others), name, target.map_lanes)
    lanes, count = target.dot
    return Schedule(
        (*(item for item in others if item != tile.axis), tile.axis), name, lanes, tile.axis, count
    )
