"""Choose a schedule for each call: which axis is the vector, which the tile, which constant
operands
become panels.

A rule that refuses says why; `webkiln explain` shows it.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import prod

from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import itemsize
from webkiln.nest.affine import depends
from webkiln.nest.expr import FLOAT, Expr, axis, const, walk
from webkiln.nest.nest import Loop, Nest, load_guard, load_index
from webkiln.nest.schedule import Panel, Schedule
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target
from webkiln.plan.invocations import invoked
from webkiln.plan.sliding import slide
from webkiln.plan.vectors import contiguous, extent, moving, unvectorised

BLOCK = 192
"""The rows of a contraction that are multiplied with all panels before the next ones, where there
are many.
"""
FEW_LOADS = 8
"""So many loads leave registers for several vectors of each."""
MANY_TURNS = 100
"""So many are shared evenly by a few processors, whatever their number."""
FEW_ROWS = 54
"""So many neighbours at most of each constant are done before it has been read once from memory, if
caches do not hold all constants.
"""
CACHED_BYTES = 1 << 19
AHEAD_BYTES = 1 << 16
"""Smaller constants come as fast by themselves."""
AHEAD_ROWS = 24
"""Fewer neighbours leave so little to compute between two reads of the cache's lines that the
breaks cost more than the reads.
"""
ROW = 8
"""The shortest reduction that is worth folding several accumulators."""


@dataclass(frozen=True, slots=True)
class Choice:
    schedule: Schedule
    why: str


def plain(call: NestCall, why: str) -> Choice:
    return Choice(Schedule(tuple(loop.axis for loop in call.nest.axes)), why)


def choose(call: NestCall, target: Target, constants: Collection[str]) -> Choice:
    """The schedule of `call` on a backend; operands named in `constants` may be repacked."""
    choice = _ordered(call, target, constants)
    full, ahead = (
        _is_full(call, choice.schedule, target),
        target.prefetch and _reads_ahead(call, choice.schedule),
    )
    choice = replace(choice, schedule=replace(choice.schedule, full=full, ahead=ahead))
    return (
        replace(choice, schedule=replace(choice.schedule, split=_split(call, choice.schedule)))
        if target.multithreaded
        else choice
    )


def _split(call: NestCall, schedule: Schedule) -> str | None:
    """The loop whose turns several processors share: the outermost of many, the tile axis before
    others, else the one that is shared most evenly; of those which move along what is most to read,
    so that no processor reads all of it.
    """
    most = _most_read(call)
    along = [
        name for name in schedule.order if most is None or any(depends(item, name) for item in most)
    ]
    loops = sorted(along or schedule.order, key=lambda name: name != schedule.tile)
    turns = {
        name: max(1, -(-extent(call, _loop(call.nest, name)) // schedule.span(name)))
        for name in loops
    }
    many = [name for name in loops if turns[name] >= MANY_TURNS]
    if many or not loops:
        return many[0] if many else None
    best = min(
        loops,
        key=lambda name: max(-(-turns[name] // parts) * parts / turns[name] for parts in (2, 3, 4)),
    )
    return best if turns[best] > 1 else None


def _most_read(call: NestCall) -> tuple[Expr, ...] | None:
    """The index of what a contraction reads most of, if caches do not hold it."""
    if not call.nest.is_contraction:
        return None
    views = {expr: call.inputs[expr.value[0]] for expr in call.nest.loads}
    if any(is_symbolic(view.type.size) for view in views.values()):
        return None
    most = max(views, key=lambda expr: _bytes(views[expr]))
    return load_index(most) if _bytes(views[most]) > CACHED_BYTES else None


def _ordered(call: NestCall, target: Target, constants: Collection[str]) -> Choice:
    nest = call.nest
    if target.width == 1 and not nest.accumulators:
        return plain(call, f"{target.backend} computes one element at a time outside reductions")
    refusals = []
    for loop in reversed(nest.axes):
        fit = _vector(call, loop, target, constants)
        if isinstance(fit, str):
            refusals.append(f"{loop.axis}: {fit}")
            continue
        return _chosen(_scheduled(call, loop.axis, fit, target), call, target, refusals)
    for loop in reversed(nest.reduce):
        reason = _unfit_row(call, loop, target)
        if reason is None:
            return _chosen(_along(call, loop.axis, target), call, target, refusals)
        refusals.append(f"{loop.axis}: {reason}")
    if not refusals:
        return plain(call, "there is no axis")
    return plain(call, "no axis can be the vector axis (" + "; ".join(refusals) + ")")


def _chosen(schedule: Schedule, call: NestCall, target: Target, refusals: list[str]) -> Choice:
    """The choice with its words: what is computed together, which operands are repacked, what was
    tried first.
    """
    if target.threads:
        schedule = invoked(call, schedule, target)
    schedule = replace(schedule, zeros=_walks_zeros(call, schedule, target))
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
    return Choice(schedule, ", ".join(parts) + (f" ({'; '.join(refusals)})" if refusals else ""))


def _vector(
    call: NestCall, loop: Loop, target: Target, constants: Collection[str]
) -> list[Panel] | str:
    """The panels that make `loop` the vector axis, or why it cannot be."""
    nest, name = call.nest, loop.axis
    found = moving(call, name, target)
    if isinstance(found, str):
        return found
    panels: dict[int, Panel] = {}
    for expr in nest.loads:
        if any(item.op in ("acc", "accindex") for item in walk(expr.args)):
            return f"where input {expr.value[0]} is read is the result of a reduction"
    for expr in found:
        if target.threads and contiguous(load_index(expr), name):
            continue
        panel = _panel(call, expr, name, target, constants)
        if panel is not None:
            panels[expr.value[0]] = panel
        elif not contiguous(load_index(expr), name):
            return f"input {expr.value[0]} is not contiguous on it"
    for out in nest.outputs:
        if target.width > 1 and out.operand.dtype != "float32":
            return f"the output is {out.operand.dtype}"
        if not nest.accumulators and not all(contiguous(index, name) for _, index in out.stores):
            return "the output is not contiguous on it"
    if target.width > 1:
        reason = unvectorised(
            [a.body for a in nest.accumulators]
            + [value for out in nest.outputs for value, _ in out.stores],
            name,
        )
        if reason:
            return reason
    if extent(call, loop) < (
        2 if panels or (target.threads and nest.is_contraction) else max(target.width, 2)
    ):
        return f"its size {extent(call, loop)} is below a vector"
    return list(panels.values())


def _unfit_row(call: NestCall, loop: Loop, target: Target) -> str | None:
    """Why several elements along a reduction loop cannot be reduced together."""
    nest, name = call.nest, loop.axis
    if extent(call, loop) < ROW:
        return f"its size {extent(call, loop)} is below {ROW}"
    found = moving(call, name, target)
    if isinstance(found, str):
        return found
    for expr in found:
        if not contiguous(load_index(expr), name):
            return f"input {expr.value[0]} is not contiguous on it"
    return unvectorised([a.body for a in nest.accumulators], name) if target.width > 1 else None


def _panel(
    call: NestCall, expr: Expr, name: str, target: Target, constants: Collection[str]
) -> Panel | None:
    """A constant factor of a contraction is repacked with the vector axis innermost, and the
    dimensions that deeper loops move along further in; one that no loop moves along goes with the
    dimension before it.
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
    return Panel(source, dim, tuple(order), _lanes(call, name, target)[0])


def _walks_zeros(call: NestCall, schedule: Schedule, target: Target) -> bool:
    """Whether there are zeros enough for every guarded load whose index moves along loops deeper
    than its guard.
    """
    nest = call.nest
    loops = {
        loop.axis: (depth, loop)
        for depth, loop in enumerate(
            (*(_loop(nest, name) for name in schedule.order), *nest.reduce)
        )
    }
    reaches = [0]
    for expr in nest.loads:
        guard = load_guard(expr)
        if guard is None:
            continue
        known = max(
            (depth for name, (depth, _) in loops.items() if depends(guard[0], name)), default=-1
        )
        deeper = [loop for depth, loop in loops.values() if depth > known]
        view = call.inputs[expr.value[0]]
        for dim_, item in enumerate(load_index(expr)):
            moving_ = [loop for loop in deeper if depends(item, loop.axis)]
            if not moving_:
                continue
            sizes = [call.args[loop.extent.value] for loop in moving_]
            if (
                item.op != "axis"
                or any(map(is_symbolic, (*sizes, *view.shape[dim_ + 1 :])))
                or guard[1] is not const(0, FLOAT)
                or view.type.dtype != "float32"
            ):
                return False
            reaches.append(sizes[0] * prod(view.shape[dim_ + 1 :]))
    return 0 < sum(reaches) <= target.zero_elements


def _loop(nest: Nest, name: str) -> Loop:
    return next(loop for loop in nest.axes if loop.axis == name)


def _tile(call: NestCall, name: str) -> Loop | None:
    """The innermost other parallel axis, of 8 or the largest size, on which some factor of the
    contraction does not depend.
    """
    candidates = [loop for loop in call.nest.axes if loop.axis != name and extent(call, loop) > 1]
    last = [
        loop
        for loop in candidates
        if any(not depends(e, loop.axis) for e in call.nest.accumulators[0].body.args)
    ]
    pool = last or candidates
    return (
        max(pool, key=lambda loop: (min(extent(call, loop), 8), call.nest.axes.index(loop)))
        if pool
        else None
    )


def _lanes(call: NestCall, name: str, target: Target) -> tuple[int, int]:
    loop = next(item for item in call.nest.axes if item.axis == name)
    size = extent(call, loop)
    tile = _tile(call, name)
    first = (
        (_of_each(call, name, tile, target) if each(call, name) else ())
        if tile
        else ((target.matvec, 1),)
        if target.matvec
        else ()
    )
    streamed = (target.streamed,) if target.streamed and _streams(call, name) else ()
    for lanes, count in (*first, *streamed, *target.shapes):
        if size % lanes == 0 or size >= 4 * lanes:
            return lanes, count
    return target.shapes[-1]


def _of_each(call: NestCall, name: str, tile: Loop, target: Target) -> tuple[tuple[int, int], ...]:
    """The shapes of contractions of which all factors move along the vector axis: windows that
    slide are as long as they divide the tile axis.
    """
    size = extent(call, tile)
    fitting = [shape for shape in target.sliding if size % shape[1] == 0] or [
        shape for shape in target.sliding if size >= 4 * shape[1]
    ]
    return (
        (*fitting[:1], target.depthwise)
        if fitting and slide(call, tile.axis, name)
        else (target.depthwise,)
    )


def each(call: NestCall, name: str) -> bool:
    """Whether all factors of a contraction move along an axis."""
    return all(depends(factor, name) for factor in call.nest.accumulators[0].body.args)


def _streams(call: NestCall, name: str) -> bool:
    """Whether a factor that moves along an axis alone is read from memory for few points of the
    tile.
    """
    tile = _tile(call, name)
    if tile is None or extent(call, tile) > FEW_ROWS:
        return False
    sources = [
        call.inputs[e.value[0]]
        for e in call.nest.loads
        if depends(e, name) and not depends(e, tile.axis)
    ]
    return any(_bytes(view) >= CACHED_BYTES for view in sources)


def _scheduled(call: NestCall, name: str, panels: list[Panel], target: Target) -> Schedule:
    nest = call.nest
    others = [loop.axis for loop in nest.axes if loop.axis != name]
    whole = _is_whole(call, name, target)
    if not nest.is_contraction:
        lanes = target.map_lanes if len(nest.loads) <= FEW_LOADS else target.width
        return Schedule((*others, name), name, lanes, whole=whole)
    lanes, count = _lanes(call, name, target)
    tile = _tile(call, name)
    if target.threads:
        axis_, copies = (tile.axis, count) if tile else (None, 1)
        return Schedule((*others, name), name, lanes, axis_, copies, tuple(panels), whole)
    if tile is None:
        return Schedule((name, *others), name, lanes, panels=tuple(panels), whole=whole)
    inner = (*(item for item in others if item != tile.axis), tile.axis)
    if each(call, name):
        slid = slide(call, tile.axis, name, count) if (lanes, count) in target.sliding else None
        return Schedule(
            (*inner, name), name, lanes, tile.axis, count, tuple(panels), whole, slide=slid
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
        whole,
        clamped=target.tiles_span_rows and count > 1,
        block=BLOCK if blocked else 0,
    )


def _is_whole(call: NestCall, name: str, target: Target) -> bool:
    (extent,) = (call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == name)
    return target.width > 1 and not is_symbolic(extent) and extent % target.width == 0


def _is_full(call: NestCall, schedule: Schedule, target: Target) -> bool:
    """Whether loops are printed, and that over the vector axis has no rest."""
    sizes = [
        call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == schedule.vector
    ]
    return (
        target.loops
        and all(not is_symbolic(size) and size % schedule.lanes == 0 for size in sizes)
        and sizes != []
    )


def _reads_ahead(call: NestCall, schedule: Schedule) -> bool:
    """Whether a loop over enough tiles uses one panel after another, of constants that caches do
    not hold beside all others.
    """
    if (
        len(schedule.panels) != 1
        or len(call.nest.reduce) != 1
        or schedule.tile is None
        or schedule.order[-1] != schedule.tile
    ):
        return False
    if extent(call, _loop(call.nest, schedule.tile)) < AHEAD_ROWS:
        return False
    (panel,) = schedule.panels
    view = call.inputs[panel.source]
    loads = [expr for expr in call.nest.loads if expr.value[0] == panel.source]
    moving = any(depends(expr, schedule.tile) for expr in loads)
    return bool(panel.order) and not moving and _bytes(view) >= AHEAD_BYTES


def _bytes(view: View) -> int:
    return 0 if is_symbolic(view.type.size) else view.type.size * itemsize(view.type.dtype)


def _along(call: NestCall, name: str, target: Target) -> Schedule:
    """Lanes on a reduction loop; a contraction also has a tile, whose copies share the other
    factor.
    """
    others = [loop.axis for loop in call.nest.axes]
    tile = _tile(call, name) if call.nest.is_contraction else None
    if tile is None:
        return Schedule(tuple(others), name, target.map_lanes)
    lanes, count = target.dot
    return Schedule(
        (*(item for item in others if item != tile.axis), tile.axis), name, lanes, tile.axis, count
    )
