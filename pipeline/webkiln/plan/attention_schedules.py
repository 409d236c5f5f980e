"""How workgroups compute the calls of attention by chunks of keys. Each invocation reads few
vectors, all at once: on an H100, loops that read one after the other took three times as long.
"""

from dataclasses import replace

from webkiln.ir import dim
from webkiln.ir.dim import Size
from webkiln.ir.types import Type
from webkiln.nest.choice import Choice
from webkiln.nest.schedule import InvocationSchedule, Tile, Workgroup
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target
from webkiln.plan.alignment import is_aligned
from webkiln.plan.schedule import choose

VECTOR = 4
SIZES = (64, 128, 256)
"""Invocations of a workgroup."""
KEYS = 16
"""The keys that an invocation multiplies by values at once, at most, and the chunks of a row."""
LANES = (32, 16, 8)
"""Elements of a row that an invocation reads at once."""
TILE = 4
"""Rows that share the keys or values that an invocation reads."""
WHY = "by chunks of keys"


def chunk_size(keys: int) -> int:
    """The invocations of a workgroup that computes a chunk."""
    return max(SIZES[1], min(keys, SIZES[-1]))


def chunk_bytes(rows: int, keys: int, columns: int) -> int:
    """The workgroup memory for a chunk, in bytes: scores, maxima, weights, totals, and what
    invocations share of sums.
    """
    size = chunk_size(keys)
    shared = 16 * (size - invocations_along(columns, size)) * min(rows, TILE)
    return 8 * rows * (keys + 1) + shared


def merge_size(chunks: Size, columns: Size) -> int:
    """The invocations of a workgroup that merges chunks."""
    if dim.is_symbolic(chunks) or dim.is_symbolic(columns):
        return SIZES[-1]
    wanted = min(chunks, KEYS) * columns // VECTOR
    return next((size for size in SIZES if size >= wanted), SIZES[-1])


def scores(call: NestCall, rows: int, target: Target) -> NestCall:
    """Scores [rows.., keys]. An invocation reads whole keys, if these are contiguous."""
    wide = call.with_views(lambda view: _widened(view, target))
    schedule = choose(wide, target, ()).schedule
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


def _widened(view: View, target: Target) -> View:
    """A view of words, for the schedules of which narrow elements have vectors as well."""
    return View(view.name, Type(target.stored(view.type.dtype), view.shape))


def _rows_together(call: NestCall, rows: int) -> tuple[str, int] | tuple[()]:
    """The innermost loop over rows of which there are several, and the rows of a tile. A loop whose
    size is not known has one row in most steps of a decoder.
    """
    loops = [(loop, call.args[loop.extent.value]) for loop in call.nest.axes[:rows]]
    several = [item for item in loops if not dim.is_symbolic(item[1]) and item[1] > 1]
    if not several:
        return (loops[-1][0].axis, TILE) if loops else ()
    loop, size = several[-1]
    return loop.axis, min(dim.known(size, "rows"), TILE)


def row_reduction(call: NestCall) -> NestCall:
    """A reduction of rows, one to an invocation: a workgroup that shared one would have as many
    partial results to add as there are vectors in a row.
    """
    (loop,) = call.nest.reduce
    order = tuple(item.axis for item in call.nest.axes)
    return _scheduled(call, InvocationSchedule(order, Tile(loop.axis, LANES[1])))


def elements(call: NestCall) -> NestCall:
    """One element to an invocation."""
    return _scheduled(call, InvocationSchedule(tuple(loop.axis for loop in call.nest.axes)))


def vectors(call: NestCall) -> NestCall:
    """One vector to an invocation."""
    order = tuple(loop.axis for loop in call.nest.axes)
    return _scheduled(
        call, InvocationSchedule(order, Tile(order[-1], VECTOR), whole=True, aligned=True)
    )


def products(call: NestCall, rows: int, size: int) -> NestCall:
    """Products [rows.., columns] of a power of two of keys, which the invocations of a workgroup
    divide among them.
    """
    shared = _rows_together(call, rows)
    tile = Tile(call.nest.axes[-1].axis, VECTOR, *shared)
    columns = _columns(call, size)
    keys = dim.known(call.args[call.nest.reduce[0].extent.value], "keys")
    depth = min(max(keys * columns // size, VECTOR), KEYS)
    workgroup = Workgroup(columns, parts=size // columns, depth=depth)
    order = [loop.axis for loop in call.nest.axes[:-1] if loop.axis != tile.axis]
    last = (tile.axis,) if tile.axis else ()
    order = [*order, *last, call.nest.axes[-1].axis]
    return _scheduled(
        call, _whole(call, InvocationSchedule(tuple(order), tile, workgroup=workgroup))
    )


def merged(call: NestCall, size: int) -> NestCall:
    """Reductions of all chunks, of which each invocation reads a part."""
    (loop,) = call.nest.axes
    columns = max(_columns(call, size), size // KEYS)
    workgroup = Workgroup(columns, parts=size // columns)
    schedule = InvocationSchedule((loop.axis,), Tile(loop.axis, VECTOR), workgroup=workgroup)
    return _scheduled(call, _whole(call, schedule))


def invocations_along(columns: int, size: int) -> int:
    """The invocations along columns: a power of two, one for each vector if there are enough."""
    count = 1
    while count < size and count * VECTOR < columns:
        count *= 2
    return count


def _columns(call: NestCall, size: int) -> int:
    extent = call.args[call.nest.axes[-1].extent.value]
    return invocations_along(dim.known(extent, "columns"), size)


def _whole(call: NestCall, schedule: InvocationSchedule) -> InvocationSchedule:
    """The schedule for a vector axis of whole vectors."""
    narrow = any(view.type.dtype == "float16" for view in call.inputs)
    aligned = not narrow and is_aligned(call, schedule.tile, ())
    return replace(schedule, whole=True, aligned=aligned)


def _scheduled(call: NestCall, schedule: InvocationSchedule) -> NestCall:
    return replace(call, choice=Choice(schedule, WHY))
