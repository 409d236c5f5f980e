"""Choose a schedule for each call: which axis is the vector, which the tile, which constant operands become panels.

A rule that refuses says why; `webkiln explain` shows it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import prod

from webkiln.ir.dim import is_symbolic, sampled
from webkiln.nest.affine import depends, step
from webkiln.nest.build import Call
from webkiln.nest.expr import BOOL, FLOAT, INT, Expr, axis, walk
from webkiln.nest.facts import Facts
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.schedule import SIDE, Panel, Schedule
from webkiln.plan.align import fits, is_aligned

SCALAR_ONLY = frozenset({"pow", "sin", "cos", "idiv", "irem", "floordiv", "floormod", "accindex"})
VECTOR_COMBINERS = frozenset({"sum", "prod", "max", "min"})
ROW = 8
"""The shortest reduction that is worth folding several accumulators."""
LONG_ROW, FEW_POINTS = 256, 1024
"""From and up to where several invocations reduce one row: else there is work enough for all of them."""


@dataclass(frozen=True, slots=True)
class Choice:
    schedule: Schedule
    why: str


def plain(call: Call, why: str) -> Choice:
    return Choice(Schedule(tuple(loop.axis for loop in call.nest.axes)), why)


def choose(call: Call, facts: Facts, constants: Collection[str]) -> Choice:
    """The schedule of `call` on a backend; operands named in `constants` may be repacked."""
    nest = call.nest
    if facts.width == 1 and not nest.accumulators:
        return plain(call, f"{facts.backend} computes one element at a time outside reductions")
    refusals = []
    for loop in reversed(nest.axes):
        fit = _vector(call, loop, facts, constants)
        if isinstance(fit, str):
            refusals.append(f"{loop.axis}: {fit}")
            continue
        schedule = _scheduled(call, loop.axis, fit, facts)
        if facts.threads:
            schedule = replace(schedule, aligned=is_aligned(call, schedule))
            schedule = replace(schedule, unroll=_unrolled(call, schedule, facts))
        return Choice(schedule, _described(schedule, call, refusals))
    for loop in reversed(nest.reduce):
        reason = _unfit_row(call, loop, facts)
        if reason is None:
            schedule = _along(call, loop.axis, facts)
            if _few(call, schedule, [loop], facts):
                schedule = replace(schedule, group=facts.group)
            return Choice(schedule, _described(schedule, call, refusals))
        refusals.append(f"{loop.axis}: {reason}")
    if not refusals:
        return plain(call, "there is no axis")
    return plain(call, "no axis can be the vector axis (" + "; ".join(refusals) + ")")


def _described(schedule: Schedule, call: Call, refusals: list[str]) -> str:
    """The choice in words: what is computed together, which operands are repacked, what was tried first."""
    parts = [f"{schedule.lanes} of {schedule.vector} at a time"]
    if schedule.depth:
        parts.append(f"in blocks of a workgroup, {schedule.depth} deep")
    elif schedule.group > 1:
        parts.append(f"by {schedule.group} invocations")
    if schedule.tile is not None:
        parts.append(f"{schedule.count} of {schedule.tile}")
    parts += [f"{call.inputs[panel.source].name} in panels of {panel.block}" for panel in schedule.panels]
    return ", ".join(parts) + (f" ({'; '.join(refusals)})" if refusals else "")


LARGE, DEPTH = 128, 16
"""The sizes from which factors are worth bringing to the memory of workgroups, and how much of them at a time."""


def _few(call: Call, schedule: Schedule, reduce: Sequence[Loop], facts: Facts) -> bool:
    """Whether several invocations share the innermost reduction loop, because it is long and the points are few."""
    chunks = prod(-(-_extent(call, loop) // schedule.span(loop.axis)) for loop in call.nest.axes)
    return facts.group > 1 and bool(reduce) and _extent(call, reduce[-1]) >= LONG_ROW and chunks <= FEW_POINTS


def _extent(call: Call, loop: Loop) -> int:
    return sampled(call.args[loop.extent.value])


def _moving(call: Call, name: str, facts: Facts) -> list[Expr] | str:
    """The loads that move along an axis, or why neighbours on it cannot be computed together."""
    nest = call.nest
    if any(a.combiner not in VECTOR_COMBINERS for a in nest.accumulators):
        return f"{nest.accumulators[0].combiner} is not vectorised"
    moving = []
    for expr in nest.loads:
        guard = load_guard(expr)
        if guard is not None and depends(guard[0], name):
            return f"the guard of input {expr.value[0]} depends on it"
        if not any(depends(item, name) for item in load_index(expr)):
            continue
        if facts.width > 1 and nest.inputs[expr.value[0]].dtype != "float32":
            return f"input {expr.value[0]} is {nest.inputs[expr.value[0]].dtype}"
        moving.append(expr)
    return moving


def _vector(call: Call, loop: Loop, facts: Facts, constants: Collection[str]) -> list[Panel] | str:
    """The panels that make `loop` the vector axis, or why it cannot be."""
    nest, name = call.nest, loop.axis
    moving = _moving(call, name, facts)
    if isinstance(moving, str):
        return moving
    panels: dict[int, Panel] = {}
    for expr in nest.loads:
        if any(item.op in ("acc", "accindex") for item in walk(expr.args)):
            return f"where input {expr.value[0]} is read is the result of a reduction"
    for expr in moving:
        if facts.threads and _contiguous(load_index(expr), name):
            continue
        panel = _panel(call, expr, name, facts, constants)
        if panel is not None:
            panels[expr.value[0]] = panel
        elif not _contiguous(load_index(expr), name):
            return f"input {expr.value[0]} is not contiguous on it"
    for out in nest.outputs:
        if facts.width > 1 and out.operand.dtype != "float32":
            return f"the output is {out.operand.dtype}"
        if not _contiguous(out.index, name) and not nest.accumulators:
            return "the output is not contiguous on it"
    if facts.width > 1:
        reason = _unvectorised([a.body for a in nest.accumulators] + [out.value for out in nest.outputs], name)
        if reason:
            return reason
    if _extent(call, loop) < (2 if panels or (facts.threads and nest.is_contraction) else max(facts.width, 2)):
        return f"its size {_extent(call, loop)} is below a vector"
    return list(panels.values())


def _unfit_row(call: Call, loop: Loop, facts: Facts) -> str | None:
    """Why several elements along a reduction loop cannot be reduced together."""
    nest, name = call.nest, loop.axis
    if _extent(call, loop) < ROW:
        return f"its size {_extent(call, loop)} is below {ROW}"
    moving = _moving(call, name, facts)
    if isinstance(moving, str):
        return moving
    for expr in moving:
        if not _contiguous(load_index(expr), name):
            return f"input {expr.value[0]} is not contiguous on it"
    return _unvectorised([a.body for a in nest.accumulators], name) if facts.width > 1 else None


def _contiguous(index: tuple[Expr, ...], name: str) -> bool:
    return bool(index) and step(index[-1], name) == 1 and not any(depends(item, name) for item in index[:-1])


def _panel(call: Call, expr: Expr, name: str, facts: Facts, constants: Collection[str]) -> Panel | None:
    """A constant factor of a contraction is repacked with the vector axis innermost, and the dimensions that deeper loops move along
    further in; one that no loop moves along goes with the dimension before it."""
    source, index = expr.value[0], load_index(expr)
    reads = [e for e in call.nest.loads if e.value[0] == source]
    if not facts.packs or not call.nest.is_contraction or call.inputs[source].name not in constants or len(reads) > 1 or load_guard(expr):
        return None
    along = [item for item in index if depends(item, name)]
    if expr not in call.nest.accumulators[0].body.args or along != [axis(name)]:
        return None
    loops = [loop.axis for loop in (*call.nest.axes, *call.nest.reduce)]
    if not any(depends(item, loop.axis) for item in index for loop in call.nest.reduce):
        return None
    dim, depths = index.index(axis(name)), [-1]
    for item in index:
        depths.append(max((depth for depth, loop in enumerate(loops) if depends(item, loop)), default=depths[-1]))
    order = sorted((d for d in range(len(index)) if d != dim), key=lambda d: depths[d + 1])
    return Panel(source, dim, tuple(order), _lanes(call, name, facts)[0])


def _unvectorised(roots: list[Expr], name: str) -> str | None:
    """What in value expressions has no vector form (indices are scalar anyway)."""
    vector: set[Expr] = set()
    for expr in _data(roots):
        if expr.op == "axis" and expr.value == name:
            return "its position is used as a value"
        if (
            expr.op == "acc"
            or (expr.op == "load" and any(depends(item, name) for item in load_index(expr)))
            or vector.intersection(expr.args)
        ):
            vector.add(expr)
            if expr.op in SCALAR_ONLY:
                return f"{expr.op} is scalar"
            if expr.op == "cast" and BOOL in (expr.type, expr.args[0].type):
                return "a cast of bool is scalar"
            if expr.type not in (FLOAT, BOOL, INT):
                return f"{expr.type} is scalar"
            if expr.op in ("shl", "shr") and expr.args[1].op != "const":
                return "a shift by a variable is scalar"
    return None


def _data(roots: list[Expr]) -> list[Expr]:
    """Every node below `roots`, loads as leaves, operands first."""
    seen: dict[Expr, None] = {}

    def visit(expr: Expr) -> None:
        if expr in seen:
            return
        for item in () if expr.op == "load" else expr.args:
            visit(item)
        seen[expr] = None

    for root in roots:
        visit(root)
    return list(seen)


def _tile(call: Call, name: str) -> Loop | None:
    """The innermost other parallel axis, of 8 or the largest size, on which some factor of the contraction does not depend."""
    candidates = [loop for loop in call.nest.axes if loop.axis != name and _extent(call, loop) > 1]
    last = [loop for loop in candidates if any(not depends(e, loop.axis) for e in call.nest.accumulators[0].body.args)]
    pool = last or candidates
    return max(pool, key=lambda loop: (min(_extent(call, loop), 8), call.nest.axes.index(loop))) if pool else None


def _lanes(call: Call, name: str, facts: Facts) -> tuple[int, int]:
    loop = next(item for item in call.nest.axes if item.axis == name)
    size = _extent(call, loop)
    for lanes, count in facts.shapes:
        if size % lanes == 0 or size >= 4 * lanes:
            return lanes, count
    return facts.shapes[-1]


def _scheduled(call: Call, name: str, panels: list[Panel], facts: Facts) -> Schedule:
    nest = call.nest
    others = [loop.axis for loop in nest.axes if loop.axis != name]
    whole = _is_whole(call, name, facts)
    if not nest.is_contraction:
        schedule = Schedule((*others, name), name, facts.map_lanes, whole=whole)
        return replace(schedule, group=facts.group) if _few(call, schedule, nest.reduce, facts) else schedule
    lanes, count = _lanes(call, name, facts)
    tile = _tile(call, name)
    if facts.threads:
        axis_, copies = (tile.axis, count) if tile else (None, 1)
        schedule = Schedule((*others, name), name, lanes, axis_, copies, tuple(panels), whole)
        if tile and _blocks(call, schedule, tile, facts):
            return replace(schedule, group=facts.group, depth=DEPTH)
        return replace(schedule, group=facts.group) if _few(call, schedule, nest.reduce, facts) else schedule
    if tile is None:
        return Schedule((name, *others), name, lanes, panels=tuple(panels), whole=whole)
    inner = (*(item for item in others if item != tile.axis), tile.axis)
    each = all(depends(factor, name) for factor in nest.accumulators[0].body.args)
    return Schedule((*inner, name) if each else (name, *inner), name, lanes, tile.axis, count, tuple(panels), whole)


def _blocks(call: Call, schedule: Schedule, tile: Loop, facts: Facts) -> bool:
    """Whether workgroups keep the factors of a contraction in their memory: it is large, and each factor has an axis of its own."""
    along = next(loop for loop in call.nest.axes if loop.axis == schedule.vector)
    moves = {(depends(e, tile.axis), depends(e, along.axis)) for e in call.nest.accumulators[0].body.args}
    large = min(_extent(call, loop) for loop in (tile, along, *call.nest.reduce[-1:])) >= LARGE
    return bool(call.nest.reduce) and facts.group == SIDE * SIDE and large and moves == {(True, False), (False, True)}


def _unrolled(call: Call, schedule: Schedule, facts: Facts) -> str | None:
    """The innermost reduction loop of a contraction, where the factor that does not move along the vector axis can be read in vectors along it."""
    nest, vector = call.nest, schedule.vector
    if vector is None or (schedule.group > 1 and not schedule.depth) or not nest.is_contraction or not nest.reduce:
        return None
    name, extent = nest.reduce[-1].axis, call.args[nest.reduce[-1].extent.value]
    rows = [factor for factor in nest.accumulators[0].body.args if not depends(factor, vector)]
    if len(rows) != 1 or is_symbolic(extent) or extent % facts.width or _unvectorised(rows, name):
        return None
    for expr in (item for item in walk(rows) if item.op == "load"):
        position, index, guard = expr.value[0], load_index(expr), load_guard(expr)
        if guard is not None and depends(guard[0], name):
            return None
        if not any(depends(item, name) for item in index):
            continue
        if nest.inputs[position].dtype != "float32" or schedule.panel(position) or not _contiguous(index, name):
            return None
        if schedule.aligned and not fits(call, call.inputs[position], index, None, name, stored=False):
            return None
    return name


def _is_whole(call: Call, name: str, facts: Facts) -> bool:
    (extent,) = (call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == name)
    return facts.width > 1 and not is_symbolic(extent) and extent % facts.width == 0


def _along(call: Call, name: str, facts: Facts) -> Schedule:
    """Lanes on a reduction loop; a contraction also has a tile, whose copies share the other factor."""
    others = [loop.axis for loop in call.nest.axes]
    tile = _tile(call, name) if call.nest.is_contraction else None
    if tile is None:
        return Schedule(tuple(others), name, facts.map_lanes)
    lanes, count = facts.dot
    return Schedule((*(item for item in others if item != tile.axis), tile.axis), name, lanes, tile.axis, count)
