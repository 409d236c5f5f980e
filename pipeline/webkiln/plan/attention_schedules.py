"""How workgroups compute the calls of attention by chunks of keys. Each invocation reads few
vectors, all at once: on an H100, loops that read one after the other took three times as long.
"""

from dataclasses import replace

from webkiln.ir import dim
from webkiln.ir.dim import Size
from webkiln.nest.choice import Choice
from webkiln.nest.schedule import InvocationSchedule, Tile, Workgroup
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan.alignment import is_aligned
from webkiln.plan.schedule import choose

VECTOR = 4
SIZES = (64, 128, 256)
"""Invocations of a workgroup."""
KEYS = 16
"""Keys that an invocation multiplies by values, and chunks of a row that are read at a time."""
LANES = (32, 16, 8)
"""Elements of a key that an invocation reads at once."""
TILE = 4
"""Rows that share the keys or values that an invocation reads."""
LONG = 64
"""Elements of a row that a workgroup reduces together, if there are at most `FEW` rows."""
FEW = 2
WHY = "by chunks of keys"


def chunk_size(keys: int) -> int:
    """The invocations of a workgroup that computes a chunk."""
    return max(SIZES[1], min(keys, SIZES[-1]))


def merge_size(chunks: Size, columns: Size) -> int:
    """The invocations of a workgroup that merges chunks."""
    if dim.is_symbolic(chunks) or dim.is_symbolic(columns):
        return SIZES[-1]
    wanted = min(chunks, KEYS) * columns // VECTOR
    return next((size for size in SIZES if size >= wanted), SIZES[-1])


def scores(call: NestCall, rows: int, target: Target) -> NestCall:
    """Scores [rows.., keys]. An invocation reads whole keys, if these are contiguous."""
    choice = choose(call, target, ())
    schedule = choice.schedule
    assert isinstance(schedule, InvocationSchedule)
    vector = schedule.tile.vector
    if vector is None or vector not in {loop.axis for loop in call.nest.reduce}:
        return _scheduled(call, replace(schedule, workgroup=None))
    (along,) = (loop for loop in call.nest.reduce if loop.axis == vector)
    depth, shared = call.args[along.extent.value], _rows_together(call, rows)
    lanes = next(
        (n for n in LANES[bool(shared) :] if not dim.is_symbolic(depth) and depth % n == 0), VECTOR
    )
    tile = Tile(vector, lanes, *shared)
    order = [loop.axis for loop in call.nest.axes if loop.axis != tile.axis]
    last = (tile.axis,) if tile.axis else ()
    return _scheduled(call, InvocationSchedule((*order, *last), tile))


def _rows_together(call: NestCall, rows: int) -> tuple[str, int] | tuple[()]:
    """The last loop over rows, and the rows of a tile, if there are several."""
    if not rows:
        return ()
    loop = call.nest.axes[rows - 1]
    size = call.args[loop.extent.value]
    count = TILE if dim.is_symbolic(size) else min(size, TILE)
    return (loop.axis, count) if count > 1 else ()


def row_reduction(call: NestCall, keys: int, rows: int, size: int) -> NestCall:
    """A reduction of rows of `keys` elements."""
    (loop,) = call.nest.reduce
    shares = keys >= LONG and rows <= FEW
    order = tuple(item.axis for item in call.nest.axes)
    workgroup = Workgroup(parts=size) if shares else None
    tile = Tile(loop.axis, VECTOR)
    return _scheduled(call, InvocationSchedule(order, tile, workgroup=workgroup))


def elements(call: NestCall) -> NestCall:
    """One element to an invocation."""
    return _scheduled(call, InvocationSchedule(tuple(loop.axis for loop in call.nest.axes)))


def vectors(call: NestCall) -> NestCall:
    """One vector to an invocation."""
    order = tuple(loop.axis for loop in call.nest.axes)
    return _scheduled(call, InvocationSchedule(order, Tile(order[-1], VECTOR), whole=True, aligned=True))


def products(call: NestCall, rows: int, size: int) -> NestCall:
    """Products [rows.., columns] of a multiple of 16 keys, which the invocations of a workgroup
    divide among them.
    """
    shared = _rows_together(call, rows)
    tile = Tile(call.nest.axes[-1].axis, VECTOR, *shared)
    columns = _columns(call, size)
    workgroup = Workgroup(columns, parts=size // columns, depth=KEYS)
    order = [loop.axis for loop in call.nest.axes[:-1] if loop.axis != tile.axis]
    last = (tile.axis,) if tile.axis else ()
    order = [*order, *last, call.nest.axes[-1].axis]
    return _scheduled(call, _whole(call, InvocationSchedule(tuple(order), tile, workgroup=workgroup)))


def merged(call: NestCall, size: int) -> NestCall:
    """Reductions of all chunks, of which each invocation reads a part."""
    (loop,) = call.nest.axes
    columns = max(_columns(call, size), size // KEYS)
    workgroup = Workgroup(columns, parts=size // columns)
    schedule = InvocationSchedule((loop.axis,), Tile(loop.axis, VECTOR), workgroup=workgroup)
    return _scheduled(call, _whole(call, schedule))


def _columns(call: NestCall, size: int) -> int:
    """The invocations along the last axis: a power of two that has as many vectors, at most."""
    extent = call.args[call.nest.axes[-1].extent.value]
    columns = size
    while not dim.is_symbolic(extent) and columns > 1 and columns // 2 * VECTOR >= extent:
        columns //= 2
    return columns


def _whole(call: NestCall, schedule: InvocationSchedule) -> InvocationSchedule:
    """The schedule for a vector axis of whole vectors."""
    narrow = any(view.type.dtype == "float16" for view in call.inputs)
    aligned = not narrow and is_aligned(call, schedule.tile, ())
    return replace(schedule, whole=True, aligned=aligned)


def _scheduled(call: NestCall, schedule: InvocationSchedule) -> NestCall:
    return replace(call, choice=Choice(schedule, WHY))
