"""The boxes of elements that calls write, and whether calls are independent."""

from itertools import product

from webkiln.ir.dim import Size, is_at_least
from webkiln.nest.affine import evaluate, step
from webkiln.nest.expr import Expr, walk
from webkiln.nest.steps import NestCall, Step, View, every_step

Box = tuple[tuple[Size, Size], ...]
"""First element and number of elements in each dimension."""


def box_of(call: NestCall, output: int) -> Box | None:
    """The box that an output of a call fills. None unless each dimension moves by one along at most
    one axis.
    """
    sides = [_side(call, item) for item in call.nest.outputs[output].index]
    found = tuple(side for side in sides if side is not None)
    return found if len(found) == len(sides) else None


def _side(call: NestCall, index: Expr) -> tuple[Size, Size] | None:
    """The side of a box along a dimension."""
    loops = [
        loop
        for loop in call.nest.axes
        if any(e.op == "axis" and e.value == loop.axis for e in walk([index]))
    ]
    if len(loops) > 1 or any(step(index, loop.axis) != 1 for loop in loops):
        return None
    start = evaluate(index, call.args, dict.fromkeys((loop.axis for loop in call.nest.axes), 0))
    if start is None:
        return None
    return start, call.args[loops[0].extent.value] if loops else 1


def are_disjoint(a: Box, b: Box) -> bool:
    return any(
        is_at_least(y, x + n) or is_at_least(x, y + m) for (x, n), (y, m) in zip(a, b, strict=True)
    )


def are_independent(first: Step, second: Step) -> bool:
    """Whether steps give the same results in either order, and at the same time: none uses what the
    other one writes, but for calls that write disjoint boxes of a buffer.
    """
    (reads, writes), (others, results) = _accesses(first), _accesses(second)
    if reads & results.keys() or writes.keys() & others:
        return False
    pairs = (
        pair
        for name in writes.keys() & results.keys()
        for pair in product(writes[name], results[name])
    )
    return all(_writes_apart(*a, *b) for a, b in pairs)


def _accesses(step: Step) -> tuple[set[str], dict[str, list[tuple[Step, int]]]]:
    """What a step reads, and by buffer the outputs of its steps that write there."""
    reads = set[str]()
    writes: dict[str, list[tuple[Step, int]]] = {}
    for inner in every_step([step]):
        reads.update(view.name for view in inner.reads)
        for number, view in enumerate(inner.writes):
            writes.setdefault(view.name, []).append((inner, number))
    return reads, writes


def _writes_apart(first: Step, output: int, second: Step, other: int) -> bool:
    """Whether outputs of two steps are in disjoint boxes of a buffer, or ranges of its memory."""
    if not isinstance(first, NestCall) or not isinstance(second, NestCall):
        return False
    views = first.outputs[output], second.outputs[other]
    boxes = _bounds(first, output), _bounds(second, other)
    if views[0] == views[1] and are_disjoint(*boxes):
        return True
    first_range, second_range = map(_range, views, boxes)
    return are_disjoint((first_range,), (second_range,))


def _bounds(call: NestCall, output: int) -> Box:
    """A box that contains what an output of a call fills."""
    found = []
    indices = [index for _, index in call.nest.outputs[output].stores]
    for size, *items in zip(call.outputs[output].shape, *indices, strict=True):
        sides = {_side(call, item) for item in items}
        side = sides.pop()
        found.append((0, size) if sides or side is None else side)
    return tuple(found)


def _range(view: View, box: Box) -> tuple[Size, Size]:
    """The first element of a box in memory, and the number of those up to the last one."""
    first: Size = 0
    last: Size = 0
    for (start, count), size in zip(box, view.shape, strict=True):
        first = first * size + start
        last = last * size + start + count - 1
    return first, last - first + 1
