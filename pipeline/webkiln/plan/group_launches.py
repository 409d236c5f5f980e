"""Compute several calls in one launch, where their rows are independent: a layer normalisation, a
softmax, attention, a recurrence whose steps one workgroup computes.

A launch takes longer than many calls. Neighbouring calls that share rows (`plan/shared_rows.py`)
become the steps of workgroups, each of which computes a block of rows. Calls without common rows
share a single workgroup if they are small. Small results that nothing else reads are in workgroup
memory.

before:
    program g
    buffer x: float32[96,256] input
    buffer m: float32[96]
    buffer y: float32[96,256]
    live y
    m: float32[96] = nest(x: float32[96,256]) @norm
      where p0 = 96; p1 = 256
      why 4 of r0 at a time, by 64 invocations
      schedule kind = "invocations"; order = ["a0"]; tile = {"vector": "r0", "lanes": 4}
      schedule workgroup = {"size": 64}
      for a0 < p0
      reduce r0 < p1
      acc0 = max(in0[a0, r0])
      out0[a0] = acc0
    y: float32[96,256] = nest(x: float32[96,256], m: float32[96]) @norm
      where p0 = 96; p1 = 256
      why 4 of a1 at a time
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4}; whole = true; aligned = true
      for a0 < p0, a1 < p1
      out0[a0, a1] = in0[a0, a1] - in1[a0]

after:
    program g
    buffer x: float32[96,256] input
    buffer m: float32[1]
    buffer y: float32[96,256]
    live y
    workgroups i0 < 96 of 32 sharing m:
      m: float32[1] = nest(x: float32[96,256]) @norm
        where p1 = 256; p2 = i0
        why one of several in a launch
        schedule kind = "invocations"; tile = {"vector": "r0", "lanes": 4}
        schedule workgroup = {"size": 32}
        reduce r0 < p1
        acc0 = max(in0[p2, r0])
        out0[0] = acc0
      y: float32[96,256] = nest(x: float32[96,256], m: float32[1]) @norm
        where p1 = 256; p2 = i0
        why one of several in a launch
        schedule kind = "invocations"; order = ["a1"]; tile = {"vector": "a1", "lanes": 4}
        schedule whole = true; aligned = true
        for a1 < p1
        out0[p2, a1] = in0[p2, a1] - in1[0]
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import Size
from webkiln.ir.solve import nominal_size
from webkiln.ir.types import itemsize
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, arg, axis, const, load
from webkiln.nest.nest import Loop, Nest, Operand, Output, load_index
from webkiln.nest.program import Program, free_counter
from webkiln.nest.schedule import InvocationSchedule, Tile, Workgroup
from webkiln.nest.steps import (
    Copy,
    NestCall,
    Repeat,
    Step,
    View,
    Workgroups,
    calls,
    every_step,
    operand_names,
)
from webkiln.nest.target import Target
from webkiln.plan.cost import moved, operations
from webkiln.plan.row_blocks import Blocks, blocked_steps, row_dimensions
from webkiln.plan.schedule import choose
from webkiln.plan.shared_rows import Rows, RowSpace

SIZES = (32, 64, 128, 256)
"""Invocations of a workgroup."""
LONG_ROW = 64
"""The elements of a sum that a workgroup may share."""
OPERATIONS, BYTES = 1 << 17, 1 << 16
"""What a workgroup computes, or moves, in about the time of a launch."""
PARALLEL = 64
"""Workgroups among which a call would be divided, at least, in a launch of its own."""
REUSED = 16
"""Rows of a block that multiply the same operand."""
POINTS = 256
"""Points of a block of short rows."""
BLOCKS = 128
"""Blocks that are enough: more rows to a block then mean fewer barriers."""
FEW = 2
"""The tiles of sums that a workgroup shares one after another."""
SHARED = 1 << 14
"""Bytes of workgroup memory that every device has."""
STORED = ("float32", "int32", "uint32")
"""The dtypes of elements that are words."""


def run(program: Program, target: Target) -> Program:
    grouping = _Grouping(program, target)
    return program.with_steps(grouping.block(program.steps))


@dataclass(frozen=True, slots=True)
class Group:
    """Steps from a position on that share rows, in blocks of `block` rows."""

    rows: Rows
    block: int

    @property
    def gain(self) -> float:
        """The time that is saved, in launches, less what fewer workgroups lose."""
        count = nominal_size(Blocks(self.rows.sizes, self.block, "i0").count)
        work = sum(map(_work, self.rows.steps))
        lost = work * max(0.0, 1 / max(count, 1) - 1 / PARALLEL)
        return sum(map(launches, self.rows.steps)) - 1 - lost


class _Grouping:
    """The groups of a program. `mentions`: how often steps name each buffer."""

    def __init__(self, program: Program, target: Target) -> None:
        self.program, self.target = program, target
        self.counter = free_counter(program)
        self.constants = program.constants
        self.mentions = Counter(
            name for step in every_step(program.steps) for name in operand_names(step)
        )

    def block(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        position = 0
        while position < len(steps):
            group, later = self._best(steps, position), self._best(steps, position + 1)
            if group is None or (later is not None and later.gain > group.gain):
                step = steps[position]
                result.append(step if isinstance(step, Workgroups) else step.map_blocks(self.block))
                position += 1
            else:
                result.append(self._workgroups(group))
                position += len(group.rows.steps)
        return tuple(result)

    def _best(self, steps: Sequence[Step], position: int) -> Group | None:
        """The group from a position on that gains most, along as many loops as possible."""
        found: list[Group] = []
        prepared = self._prepared(steps[position]) if position < len(steps) else None
        if prepared is None:
            return None
        first = next(calls([prepared]))
        names = [
            loop.axis
            for loop in first.nest.axes
            if first.args[loop.extent.value] != 1 and loop.axis != first.schedule.tile.vector
        ]
        for count in reversed(range(len(names) + 1)):
            group = self._group(steps[position:], RowSpace(first, names[:count]))
            if group is not None:
                found.append(group)
        return max(found, key=lambda group: group.gain, default=None)

    def _group(self, steps: Sequence[Step], space: RowSpace) -> Group | None:
        for step in steps:
            prepared = self._prepared(step)
            if prepared is None or not self._suits(prepared, space):
                break
            if not space.add(prepared):
                break
        rows = space.rows()
        if sum(map(launches, rows.steps)) < 2 or _moves_vectors(rows):
            return None
        group = Group(rows, _block_rows(rows))
        return group if group.gain > 0 else None

    def _prepared(self, step: Step) -> Step | None:
        """The step with calls in place of copies, or None if it needs a launch of its own."""
        if isinstance(step, Copy):
            return self._copying(step)
        if isinstance(step, Repeat):
            inner = [self._prepared(item) for item in step.steps]
            found = tuple(item for item in inner if item is not None)
            return replace(step, steps=found) if found and len(found) == len(inner) else None
        if not isinstance(step, NestCall) or not isinstance(step.schedule, InvocationSchedule):
            return None
        workgroup = step.schedule.workgroup
        stores_words = all(view.type.dtype in STORED for view in step.outputs)
        return step if stores_words and not (workgroup and workgroup.depth) else None

    def _copying(self, step: Copy) -> NestCall | None:
        """The call of a nest that copies."""
        dtype, shape = step.target.type.dtype, step.target.shape
        if dtype not in STORED or step.source.type.dtype != dtype:
            return None
        names = {d: f"a{d}" for d, size in enumerate(shape) if size != 1}
        index = tuple(axis(names[d]) if d in names else const(0, INT) for d in range(len(shape)))
        operand = Operand(dtype, len(shape))
        nest = Nest(
            (operand,),
            (Output(operand, load(0, operand.type, index), index),),
            tuple(Loop(name, arg(f"p{d}")) for d, name in names.items()),
        )
        args = {f"p{d}": shape[d] for d in names}
        source = step.source.reshaped(shape)
        call = NestCall(nest, (source,), (step.target,), args, step.layer)
        return replace(call, choice=choose(call, self.target, ()))

    def _suits(self, step: Step, space: RowSpace) -> bool:
        """Whether a step should share rows. Weights, which all rows multiply, are better read by
        larger blocks; only a small product may read them, or a recurrence of small rows.
        """
        parts = nominal_size(prod(space.sizes)) if isinstance(step, Repeat) else 1
        if _work(step) <= launches(step) * parts:
            return True
        if not space.sizes:
            return False
        return not any(
            call.nest.is_contraction and any(view.name in self.constants for view in _factors(call))
            for call in calls([step])
        )

    def _workgroups(self, group: Group) -> Workgroups:
        rows = group.rows
        blocks = Blocks(rows.sizes, group.block, f"i{self.counter}")
        self.counter += 1
        size = _size(rows, group.block)
        shared = self._shared(rows, group.block, size)
        steps = blocked_steps(rows, blocks, shared)
        scheduled = tuple(_shared_sums(step, group.block, size) for step in steps)
        return Workgroups(blocks.counter, blocks.count, scheduled, size, shared)

    def _shared(self, rows: Rows, block: int, size: int) -> tuple[str, ...]:
        """The buffers in workgroup memory, smallest first."""
        members = list(zip(calls(rows.steps), rows.covers, strict=True))
        inside = Counter(name for step in every_step(rows.steps) for name in operand_names(step))
        bytes_of: dict[str, Size] = {}
        refused = set[str](self.program.live_out)
        for call, cover in members:
            for position, view in enumerate((*call.inputs, *call.outputs)):
                dims = row_dimensions(call, cover, position) if cover else {}
                if dims is None or view.type.dtype not in STORED:
                    refused.add(view.name)
                    continue
                if position >= len(call.inputs):
                    other = prod(n for d, n in enumerate(view.shape) if d not in dims)
                    bytes_of[view.name] = 4 * other * (block if cover else 1)
        left, found = SHARED - _parts(rows.steps, size), list[str]()
        for name, amount in sorted(bytes_of.items(), key=lambda item: nominal_size(item[1])):
            is_local = self.program.buffers[name].kind == "local" and name not in refused
            if not is_local or inside[name] != self.mentions[name]:
                continue
            if not dim.is_symbolic(amount) and amount <= left:
                found.append(name)
                left -= amount
        return tuple(found)


def launches(step: Step) -> int:
    """The launches of a step, at nominal sizes."""
    if isinstance(step, Repeat):
        return nominal_size(step.count) * sum(map(launches, step.steps))
    return 1


def _work(step: Step) -> float:
    """The time of a step in one workgroup, in launches, at nominal sizes."""
    if isinstance(step, Repeat):
        return nominal_size(step.count) * sum(map(_work, step.steps))
    (call,) = calls([step])
    return nominal_size(operations(call)) / OPERATIONS + nominal_size(_moved(call)) / BYTES


def _moved(call: NestCall) -> Size:
    """The bytes that a call moves, but for the weights of a product, which its operations count."""
    if call.nest.is_contraction:
        return sum(view.type.size * itemsize(view.type.dtype) for view in call.outputs)
    return moved(call)


def _factors(call: NestCall) -> Iterator[View]:
    body = call.nest.accumulators[0].body
    for expr in body.args:
        for item in call.nest.loads:
            if item is expr:
                yield call.inputs[item.value[0]]


def _repeats(rows: Rows) -> bool:
    return any(isinstance(step, Repeat) for step in rows.steps)


def _moves_vectors(rows: Rows) -> bool:
    """Whether the vector axis of a call is a loop over rows."""
    return any(
        call.schedule.tile.vector in cover
        for call, cover in zip(calls(rows.steps), rows.covers, strict=True)
    )


def _block_rows(rows: Rows) -> int:
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


def _size(rows: Rows, block: int) -> int:
    """The invocations of a workgroup. A barrier takes longer, the more there are: rows get few,
    products some, and a workgroup that computes everything, or a recurrence, as many as its largest
    call has tiles.
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
    return next((size for size in SIZES if size >= tiles), SIZES[-1])


def _shared_sums(step: Step, block: int, size: int) -> Step:
    """The step with smaller tiles where these leave invocations idle, and with sums that the
    workgroup shares where a block has few long ones.
    """
    if not isinstance(step, NestCall):
        return step.map_blocks(
            lambda inner: tuple(_shared_sums(item, block, size) for item in inner)
        )
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
    workgroup = Workgroup(size) if shares else None
    changed = replace(schedule, workgroup=workgroup)
    choice = replace(step.choice, schedule=changed, why="one of several in a launch")
    return replace(step, choice=choice)


def _tiles(call: NestCall, schedule: InvocationSchedule, block: int) -> int:
    """The tiles of a call for one block."""
    extents = {loop.axis: call.args[loop.extent.value] for loop in call.nest.axes}
    return prod(
        -(-(block if dim.is_symbolic(extent) else extent) // schedule.tile.copies(name))
        for name, extent in extents.items()
    )


def _parts(steps: Sequence[Step], size: int) -> int:
    """An upper bound of the bytes in which invocations share sums."""
    return sum(
        4 * size * len(call.nest.accumulators) * call.schedule.tile.count
        for call in calls(steps)
        if any(loop.axis == call.schedule.tile.vector for loop in call.nest.reduce)
    )
