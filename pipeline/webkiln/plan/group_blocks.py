"""How workgroups compute calls that share rows: the rows of a block, the invocations of a workgroup
and the sums that it shares, and how long that takes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import Size
from webkiln.ir.solve import nominal_size
from webkiln.ir.types import itemsize
from webkiln.nest.affine import depends
from webkiln.nest.nest import load_index
from webkiln.nest.schedule import InvocationSchedule, Tile, Workgroup
from webkiln.nest.steps import NestCall, Repeat, Step, View, calls
from webkiln.plan.cost import moved, operations
from webkiln.plan.shared_rows import Rows

SIZES = (32, 64, 128, 256)
"""Invocations of a workgroup."""
LONG_ROW = 64
"""The elements of a sum that a workgroup may share."""
OPERATIONS, BYTES = 1 << 17, 1 << 16
"""What a workgroup computes, or moves, in about the time of a launch."""
REUSED = 16
"""Rows of a block that multiply the same operand."""
POINTS = 256
"""Points of a block of short rows."""
BLOCKS = 128
"""Blocks that are enough: more rows to a block then mean fewer barriers."""
FEW = 2
"""The tiles of sums that a workgroup shares one after another."""
PARTS = 2
"""The parts of a workgroup that divide the products of a recurrence, at least."""
DEPTHS = (16, 8, 4)
"""Steps of a sum that an invocation reads at once."""


def launches(step: Step) -> int:
    """The launches of a step, at nominal sizes."""
    if isinstance(step, Repeat):
        return nominal_size(step.count) * sum(map(launches, step.steps))
    return 1


def work_of(step: Step) -> float:
    """The time of a step in one workgroup, in launches, at nominal sizes."""
    if isinstance(step, Repeat):
        return nominal_size(step.count) * sum(map(work_of, step.steps))
    (call,) = calls([step])
    return nominal_size(operations(call)) / OPERATIONS + nominal_size(_moved(call)) / BYTES


def _moved(call: NestCall) -> Size:
    """The bytes that a call moves, but for the weights of a product, which its operations count."""
    if call.nest.is_contraction:
        return sum(view.type.size * itemsize(view.type.dtype) for view in call.outputs)
    return moved(call)


def factors(call: NestCall) -> Iterator[View]:
    body = call.nest.accumulators[0].body
    for expr in body.args:
        for item in call.nest.loads:
            if item is expr:
                yield call.inputs[item.value[0]]


def _repeats(rows: Rows) -> bool:
    return any(isinstance(step, Repeat) for step in rows.steps)


def moves_vectors(rows: Rows) -> bool:
    """Whether the vector axis of a call is a loop over rows."""
    return any(
        call.schedule.tile.vector in cover
        for call, cover in zip(calls(rows.steps), rows.covers, strict=True)
    )


def block_rows(rows: Rows) -> int:
    """The rows of a block: as many as multiply the same operand, or have enough points. Each row of
    a recurrence is a block.
    """
    if not rows.sizes or _repeats(rows):
        return 1
    last = len(rows.sizes) - 1
    most = rows.sizes[-1] if not dim.is_symbolic(rows.sizes[-1]) else REUSED
    points = 1
    for call, cover in zip(calls(rows.steps), rows.covers, strict=True):
        names = {name for name, (_, end) in cover.items() if end > last}
        if call.nest.is_contraction and any(
            not any(depends(item, name) for item in load_index(expr) for name in names)
            for expr in call.nest.loads
            if expr in call.nest.accumulators[0].body.args
        ):
            return min(REUSED, most)
        loops = [loop for loop in (*call.nest.axes, *call.nest.reduce) if loop.axis not in cover]
        points = max(points, prod(nominal_size(call.args[loop.extent.value]) for loop in loops))
    count, block = nominal_size(prod(rows.sizes)), 1
    while 2 * block <= min(most, REUSED) and (
        2 * block * points <= POINTS or count >= 2 * block * BLOCKS
    ):
        block *= 2
    return block


def workgroup_size(rows: Rows, block: int) -> int:
    """The invocations of a workgroup. A barrier takes longer, the more there are: rows get few,
    products some, and a workgroup that computes everything, or a recurrence, as many as its largest
    call has tiles, or twice as many if these can divide its sums.
    """
    members = list(zip(calls(rows.steps), rows.covers, strict=True))
    if rows.sizes and not _repeats(rows):
        multiplies = any(
            call.nest.reduce and any(loop.axis not in cover for loop in call.nest.axes)
            for call, cover in members
        )
        return SIZES[1] if multiplies else SIZES[0]
    call, _ = max(members, key=lambda item: nominal_size(operations(item[0])))
    schedule = call.schedule
    assert isinstance(schedule, InvocationSchedule)
    tiles = _tiles(call, schedule, block) // nominal_size(prod(rows.sizes))
    size = next((size for size in SIZES if size >= tiles), SIZES[-1])
    doubled = min(PARTS * size, SIZES[-1])
    divides = _repeats(rows) and not rows.sizes and _divided(call, schedule, block, doubled)
    return doubled if divides else size


def share_sums(step: Step, block: int, size: int) -> Step:
    """The step with smaller tiles where these leave invocations idle, and with sums that the
    workgroup shares where a block has few long ones, or that its parts divide.
    """
    if not isinstance(step, NestCall):
        return step.map_blocks(lambda inner: tuple(share_sums(item, block, size) for item in inner))
    schedule = step.schedule
    assert isinstance(schedule, InvocationSchedule)
    assert step.choice is not None
    tile = schedule.tile
    if tile.axis is not None and _tiles(step, schedule, block) < size:
        schedule = replace(schedule, tile=Tile(tile.vector, tile.lanes))
    along = [loop for loop in step.nest.reduce if loop.axis == schedule.tile.vector]
    shares = (
        bool(along)
        and nominal_size(step.args[along[0].extent.value]) >= LONG_ROW
        and _tiles(step, schedule, block) <= FEW
    )
    workgroup = Workgroup(parts=size) if shares else _divided(step, schedule, block, size)
    changed = replace(schedule, workgroup=workgroup)
    choice = replace(step.choice, schedule=changed, why="one of several in a launch")
    return replace(step, choice=choice)


def _divided(
    call: NestCall, schedule: InvocationSchedule, block: int, size: int
) -> Workgroup | None:
    """Parts of a workgroup that divide a sum, if one part has enough invocations for all tiles."""
    name, vector = schedule.unroll, schedule.tile.vector
    if name is None or vector is None or schedule.tile.axis is not None:
        return None
    columns, tiles = 1, _tiles(call, schedule, block)
    while columns < tiles:
        columns *= 2
    extents = {
        loop.axis: call.args[loop.extent.value] for loop in (*call.nest.axes, *call.nest.reduce)
    }
    along, length = extents[vector], extents[name]
    if dim.is_symbolic(along) or dim.is_symbolic(length) or len(call.nest.reduce) > 1:
        return None
    if -(-along // schedule.tile.lanes) != tiles or columns * PARTS > size or length < LONG_ROW:
        return None
    parts = size // columns
    depth = next((n for n in DEPTHS if length % n == 0 and length >= n * parts), 0)
    return Workgroup(columns, parts=parts, depth=depth) if depth else None


def _tiles(call: NestCall, schedule: InvocationSchedule, block: int) -> int:
    """The tiles of a call for one block."""
    extents = {loop.axis: call.args[loop.extent.value] for loop in call.nest.axes}
    return prod(
        -(-(block if dim.is_symbolic(extent) else extent) // schedule.tile.copies(name))
        for name, extent in extents.items()
    )


def parts_bytes(steps: Sequence[Step], size: int) -> int:
    """An upper bound of the bytes in which invocations share sums."""
    total = 0
    for call in calls(steps):
        schedule = call.schedule
        assert isinstance(schedule, InvocationSchedule)
        if any(loop.axis == schedule.tile.vector for loop in call.nest.reduce):
            total += 4 * size * len(call.nest.accumulators) * schedule.tile.count
        elif schedule.unroll is not None:
            total += 4 * size * schedule.tile.lanes
    return total
