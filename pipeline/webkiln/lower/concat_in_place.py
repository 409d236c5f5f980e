"""Concatenation in place: eliminate calls that copy an entire Variable into a slice of another one.

Writers of the source store into that slice, other readers load from it, and the copy disappears.
Nested concatenations, as in a dense block, end up in one buffer.

before:
    program g
    buffer x: float32[2,3] input
    buffer z: float32[2,5] input
    buffer a: float32[2,3]
    buffer y: float32[2,8]
    live y
    a: float32[2,3] = nest(x: float32[2,3]) @e
      where p0 = 2; p1 = 3
      for a0 < p0, a1 < p1
      out0[a0, a1] = exp(in0[a0, a1])
    y: float32[2,8] = nest(a: float32[2,3]) @c
      where p0 = 2; p1 = 3
      for a0 < p0, a1 < p1
      out0[a0, a1] = in0[a0, a1]
    y: float32[2,8] = nest(z: float32[2,5]) @c
      where p0 = 2; p1 = 5; p2 = 3
      for a0 < p0, a1 < p1
      out0[a0, a1 + p2] = in0[a0, a1]

after:
    program g
    buffer x: float32[2,3] input
    buffer z: float32[2,5] input
    buffer y: float32[2,8]
    live y
    y: float32[2,8] = nest(x: float32[2,3]) @e
      where p0 = 2; p1 = 3; p0'1 = 2; p1'1 = 3
      for a0 < p0, a1 < p1
      out0[a0, a1] = exp(in0[a0, a1])
    y: float32[2,8] = nest(z: float32[2,5]) @c
      where p0 = 2; p1 = 5; p2 = 3
      for a0 < p0, a1 < p1
      out0[a0, a1 + p2] = in0[a0, a1]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise

from webkiln.ir.dim import is_symbolic
from webkiln.lower.fuse import is_map
from webkiln.lower.substitute import freshen
from webkiln.nest.affine import step
from webkiln.nest.boxes import Box, are_disjoint, box_of
from webkiln.nest.expr import Expr, make, rebuild
from webkiln.nest.nest import Operand, Output, load_guard, load_index
from webkiln.nest.program import Program, map_runs
from webkiln.nest.steps import NestCall, View


@dataclass(frozen=True, slots=True)
class SliceCopy:
    """A call that copies all of `source` into a slice of `target`: element [i, j, ...] to [i + a, j
    + b, ...].
    """

    source: View
    target: View
    call: NestCall


def run(program: Program, *, no_self_reads: bool = False) -> Program:
    """`no_self_reads`: where buffers are textures, a draw cannot read the one that it writes."""
    return map_runs(program, partial(concat_in_place, no_self_reads=no_self_reads))


def concat_in_place(
    calls: Sequence[NestCall], live_out: set[str], *, no_self_reads: bool = False
) -> list[NestCall]:
    """Eliminate slice copies. Variables in `live_out` are read from outside and stay.
    `no_self_reads`: a call must not read the Variable that it writes, not even another slice of it.
    """
    remaining = dict(enumerate(calls))
    parts = {
        number: part
        for number, call in remaining.items()
        if (part := _slice_copy(call)) is not None
    }
    mentions: dict[str, set[int]] = {}
    for number, call in remaining.items():
        for view in (*call.inputs, *call.outputs):
            mentions.setdefault(view.name, set()).add(number)
    pending = sorted(parts)
    while pending:
        position = pending.pop(0)
        part = parts[position]
        near = {
            number: remaining[number]
            for number in sorted(mentions[part.source.name] | mentions[part.target.name])
        }
        if not _can_eliminate(part, position, near, live_out) or (
            no_self_reads and not _avoids_self_reads(part, position, near)
        ):
            continue
        del remaining[position], parts[position]
        changed = mentions.pop(part.source.name) - {position}
        mentions[part.target.name] = (mentions[part.target.name] | changed) - {position}
        for number in changed:
            remaining[number] = _redirect(remaining[number], part)
            parts.pop(number, None)
            if (moved := _slice_copy(remaining[number])) is not None:
                parts[number] = moved
        pending = sorted((mentions[part.target.name] | set(pending)) & parts.keys())
    return [remaining[number] for number in sorted(remaining)]


def _slice_copy(call: NestCall) -> SliceCopy | None:
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
    source = (
        plain and read == order == stored and extents == [size for size in view.shape if size != 1]
    )
    return (
        SliceCopy(view, call.outputs[0], call) if source and box_of(call, 0) is not None else None
    )


def _can_eliminate(
    part: SliceCopy, position: int, calls: Mapping[int, NestCall], live_out: set[str]
) -> bool:
    """Whether the copy at `position` can be eliminated. `calls` are all calls that mention its two
    Variables. The source must have a single shape and be written before the copy, and no other
    store may overlap its slice of the target.
    """
    name, target = part.source.name, part.target.name
    if name in live_out or name == target:
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
    if mentions != {part.source} or not writers or max(writers) > position:
        return False
    boxes = [
        box_of(call, n)
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
    filled = [box for box in boxes if box is not None]
    return not others and len(filled) == len(boxes) and _all_disjoint(filled)


def _avoids_self_reads(part: SliceCopy, position: int, calls: Mapping[int, NestCall]) -> bool:
    """Whether no call would both read and write the target."""
    names = {part.source.name, part.target.name}
    others = (call for number, call in calls.items() if number != position)
    return not any(
        names & {view.name for view in call.inputs} and names & {view.name for view in call.outputs}
        for call in others
    )


def _all_disjoint(boxes: Sequence[Box]) -> bool:
    """Whether no two boxes share an element. First try to order them along one dimension, then
    compare all pairs.
    """
    for intervals in zip(*boxes, strict=True):
        if not any(is_symbolic(size) for interval in intervals for size in interval):
            ordered = sorted(intervals)
            if all(
                start + size <= following for (start, size), (following, _) in pairwise(ordered)
            ):
                return True
    return all(are_disjoint(a, b) for a, b in combinations(boxes, 2))


def _redirect(call: NestCall, part: SliceCopy) -> NestCall:
    """The call with the slice of the target in place of the source."""
    name = part.source.name
    if all(view.name != name for view in (*call.inputs, *call.outputs)):
        return call
    copy = freshen(part.call, call)
    target_index, source_index = copy.nest.outputs[0].index, load_index(copy.nest.outputs[0].value)

    def at(index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        where = {
            item: here for item, here in zip(source_index, index, strict=True) if item.op == "axis"
        }
        return tuple(rebuild(item, where.get) for item in target_index)

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
