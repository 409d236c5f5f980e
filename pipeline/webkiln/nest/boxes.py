"""The boxes of elements that calls write, and whether calls are independent."""

from itertools import product

from webkiln.ir.dim import Size, is_at_least
from webkiln.nest.affine import evaluate, step
from webkiln.nest.expr import walk
from webkiln.nest.steps import NestCall, Step, every_step

Box = tuple[tuple[Size, Size], ...]
"""First element and number of elements in each dimension."""


def box_of(call: NestCall, output: int) -> Box | None:
    """The box that an output of a call fills. None unless each dimension moves by one along at most
    one axis.
    """
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
    """Whether outputs of two steps are disjoint boxes of a buffer, in equal views."""
    if not isinstance(first, NestCall) or not isinstance(second, NestCall):
        return False
    if first.outputs[output] != second.outputs[other]:
        return False
    boxes = box_of(first, output), box_of(second, other)
    return None not in boxes and are_disjoint(*filter(None, boxes))
