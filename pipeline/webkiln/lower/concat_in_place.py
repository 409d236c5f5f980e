"""Concatenation in place: the writers of a Variable that is copied whole into a slice of another
write
to that slice instead.

Its writers store into that part, its other readers load from it, and the copy is gone.
Concatenations of concatenations, as in a dense block, end up in one buffer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from webkiln.ir.dim import is_at_least, is_symbolic
from webkiln.lower.fuse import imported, is_map
from webkiln.nest.affine import evaluate, step
from webkiln.nest.expr import Expr, make, rebuild, walk
from webkiln.nest.nest import Operand, Output, load_guard, load_index
from webkiln.nest.steps import NestCall, View

Box = tuple[tuple[int, int], ...]
"""First element and number of elements in each dimension."""


@dataclass(frozen=True, slots=True)
class PartCopy:
    """A call that copies all of one Variable: element [i, j, ...] of `whole` to [i + a, j + b, ...]
    of `target`.
    """

    whole: View
    target: View
    call: NestCall


def join(calls: Sequence[NestCall], kept: set[str], *, apart: bool = False) -> list[NestCall]:
    """Compute in place what is copied; Variables in `kept` are read from outside and stay. `apart`:
    a
    call must not read the Variable that it writes, not even another part of it.
    """
    work = dict(enumerate(calls))
    parts = {number: part for number, call in work.items() if (part := _part(call)) is not None}
    mentions: dict[str, set[int]] = {}
    for number, call in work.items():
        for view in (*call.inputs, *call.outputs):
            mentions.setdefault(view.name, set()).add(number)
    pending = sorted(parts)
    while pending:
        position = pending.pop(0)
        part = parts[position]
        near = {
            number: work[number]
            for number in sorted(mentions[part.whole.name] | mentions[part.target.name])
        }
        if not _movable(part, position, near, kept) or (
            apart and not _is_apart(part, position, near)
        ):
            continue
        del work[position], parts[position]
        changed = mentions.pop(part.whole.name) - {position}
        mentions[part.target.name] = (mentions[part.target.name] | changed) - {position}
        for number in changed:
            work[number] = _moved(work[number], part)
            parts.pop(number, None)
            if (moved := _part(work[number])) is not None:
                parts[number] = moved
        pending = sorted((mentions[part.target.name] | set(pending)) & parts.keys())
    return [work[number] for number in sorted(work)]


def _part(call: NestCall) -> PartCopy | None:
    nest = call.nest
    if not is_map(nest) or len(call.inputs) != 1 or len(call.outputs) != 1:
        return None
    out, view = nest.outputs[0], call.inputs[0]
    if (
        out.value.op != "load"
        or load_guard(out.value) is not None
        or nest.inputs[0].dtype != out.operand.dtype
    ):
        return None
    read = [item.value for item in load_index(out.value) if item.op == "axis"]
    order = [loop.axis for loop in nest.axes]
    extents = [call.args[loop.extent.value] for loop in nest.axes]
    stored = [loop.axis for item in out.index for loop in nest.axes if step(item, loop.axis) == 1]
    plain = all(item.op in ("axis", "const") for item in load_index(out.value))
    whole = (
        plain and read == order == stored and extents == [size for size in view.shape if size != 1]
    )
    return PartCopy(view, call.outputs[0], call) if whole and _box(call, 0) is not None else None


def _movable(part: PartCopy, position: int, calls: Mapping[int, NestCall], kept: set[str]) -> bool:
    """Whether these calls, all that mention the two Variables, alone mention the Variable, in one
    shape, and write it before the copy; and whether nothing else writes its part of the target.
    """
    name, target = part.whole.name, part.target.name
    if name in kept or name == target:
        return False
    mentions = {
        view
        for call in calls.values()
        for view in (*call.inputs, *call.outputs)
        if view.name == name
    }
    writers = [
        number for number, call in calls.items() if any(view.name == name for view in call.outputs)
    ]
    if mentions != {part.whole} or not writers or max(writers) > position:
        return False
    boxes = [
        _box(call, n)
        for call in calls.values()
        for n, view in enumerate(call.outputs)
        if view == part.target
    ]
    others = [
        call
        for call in calls.values()
        for view in call.outputs
        if view.name == target and view != part.target
    ]
    known = [box for box in boxes if box is not None]
    return not others and len(known) == len(boxes) and _all_apart(known)


def _is_apart(part: PartCopy, position: int, calls: Mapping[int, NestCall]) -> bool:
    """Whether no call would read the target while it writes it."""
    names = {part.whole.name, part.target.name}
    others = (call for number, call in calls.items() if number != position)
    return not any(
        names & {view.name for view in call.inputs} and names & {view.name for view in call.outputs}
        for call in others
    )


def _box(call: NestCall, output: int) -> Box | None:
    """What an output of a call fills, if it moves by one along at most one axis in each dimension."""
    box = []
    for item in call.nest.outputs[output].index:
        loops = [
            loop
            for loop in call.nest.axes
            if any(e.op == "axis" and e.value == loop.axis for e in walk([item]))
        ]
        if len(loops) > 1 or any(step(item, loop.axis) != 1 for loop in loops):
            return None
        start = evaluate(item, call.args, dict.fromkeys((loop.axis for loop in call.nest.axes), 0))
        if start is None:
            return None
        box.append((start, call.args[loops[0].extent.value] if loops else 1))
    return tuple(box)


def _all_apart(boxes: Sequence[Box]) -> bool:
    """Whether no two boxes share an element: mostly because they follow one another in some
    dimension, else each is compared with each.
    """
    for row in zip(*boxes, strict=True):
        if not any(is_symbolic(size) for place in row for size in place):
            placed = sorted(row)
            if all(start + size <= following for (start, size), (following, _) in pairwise(placed)):
                return True
    return all(_apart(a, b) for a, b in combinations(boxes, 2))


def _apart(a: Box, b: Box) -> bool:
    return any(
        is_at_least(y, x + n) or is_at_least(x, y + m) for (x, n), (y, m) in zip(a, b, strict=True)
    )


def _moved(call: NestCall, part: PartCopy) -> NestCall:
    """The call with the part of the target in the place of the Variable."""
    name = part.whole.name
    if all(view.name != name for view in (*call.inputs, *call.outputs)):
        return call
    copy = imported(part.call, call)
    place, read = copy.nest.outputs[0].index, load_index(copy.nest.outputs[0].value)

    def at(index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        where = {item: here for item, here in zip(read, index, strict=True) if item.op == "axis"}
        return tuple(rebuild(item, where.get) for item in place)

    views = [part.target if view.name == name else view for view in call.inputs]
    distinct = list(dict.fromkeys(views))

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load":
            return None
        source, guarded = expr.value
        index = load_index(expr)
        moved = at(index) if call.inputs[source].name == name else index
        return make(
            "load",
            expr.type,
            (*moved, *expr.args[len(index) :]),
            (distinct.index(views[source]), guarded),
        )

    nest = call.nest.map(change)
    outputs = tuple(
        (
            Output(Operand(out.operand.dtype, part.target.type.rank), out.value, at(out.index))
            if view.name == name
            else out
        )
        for out, view in zip(nest.outputs, call.outputs, strict=True)
    )
    return replace(
        call,
        nest=replace(
            nest,
            inputs=tuple(Operand(view.type.dtype, view.type.rank) for view in distinct),
            outputs=outputs,
        ),
        inputs=tuple(distinct),
        outputs=tuple(part.target if view.name == name else view for view in call.outputs),
        args={**call.args, **copy.args},
    )
