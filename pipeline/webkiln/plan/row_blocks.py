"""Rewrite calls that share rows to compute one block of rows: neighbours along the last dimension
of the row space, for one index along each of the others.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from webkiln.errors import InternalError
from webkiln.ir import dim, symbols
from webkiln.ir.dim import Size
from webkiln.ir.types import Type
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, Expr, arg, axis, const, make
from webkiln.nest.nest import Loop, Nest, load_index, make_output
from webkiln.nest.schedule import InvocationSchedule, Tile
from webkiln.nest.steps import NestCall, Step, View
from webkiln.plan.shared_rows import Cover, Rows


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a row space of `sizes`, numbered by a counter. A block has `rows` rows, or less
    at the end of the last dimension.
    """

    sizes: tuple[Size, ...]
    rows: int
    counter: str

    @property
    def count(self) -> Size:
        return prod(self.sizes[:-1]) * self._along if self.sizes else 1

    @property
    def _along(self) -> Size:
        """The blocks along the last dimension."""
        return dim.floordiv(self.sizes[-1] + (self.rows - 1), self.rows)

    @property
    def _outer(self) -> Size:
        """The number of the block's index along the other dimensions, flattened."""
        number = symbols.counter(self.counter)
        return dim.floordiv(number, self._along) if len(self.sizes) > 1 else 0

    @property
    def first(self) -> Size:
        """The first row along the last dimension."""
        return (symbols.counter(self.counter) - self._outer * self._along) * self.rows

    @property
    def extent(self) -> Size:
        """The rows of the block."""
        size = self.sizes[-1]
        if not dim.is_symbolic(size) and size % self.rows == 0:
            return self.rows
        return dim.minimum(self.rows, size - self.first)

    def start(self, first: int, end: int) -> Size:
        """The first index of a loop over the dimensions first..end."""
        total: Size = 0
        for number in range(first, end):
            total = total * self.sizes[number] + self._index(number)
        return total

    def _index(self, number: int) -> Size:
        """The index of the first row along a dimension."""
        if number == len(self.sizes) - 1:
            return self.first
        rest = dim.floordiv(self._outer, prod(self.sizes[number + 1 : -1]))
        if number == 0:
            return rest
        return rest - dim.floordiv(rest, self.sizes[number]) * self.sizes[number]

    def is_last(self, end: int) -> bool:
        """Whether a loop over dimensions up to `end` moves within a block."""
        return end == len(self.sizes)


def blocked_steps(rows: Rows, blocks: Blocks, shared: Collection[str]) -> tuple[Step, ...]:
    """The steps for one block. The buffers `shared` have the size of a block."""
    covers = iter(rows.covers)
    return tuple(_blocked(step, covers, blocks, shared) for step in rows.steps)


def _blocked(step: Step, covers: Iterator[Cover], blocks: Blocks, shared: Collection[str]) -> Step:
    if isinstance(step, NestCall):
        return _Member(step, next(covers), blocks).call(shared)
    return step.map_blocks(
        lambda block: tuple(_blocked(inner, covers, blocks, shared) for inner in block)
    )


class _Member:
    """A call for one block of rows."""

    def __init__(self, call: NestCall, cover: Cover, blocks: Blocks) -> None:
        self.source, self.cover, self.blocks = call, cover, blocks
        used = [int(name[1:]) for name in call.args]
        self._next = max(used, default=-1) + 1
        self.args = dict(call.args)
        self.local: dict[str, Expr] = {}
        self.everywhere: dict[str, Expr] = {}
        self.loops: dict[str, Loop | None] = dict.fromkeys(cover)
        for name, (first, end) in cover.items():
            start = self._argument(blocks.start(first, end))
            if blocks.is_last(end) and blocks.rows > 1:
                self.local[name] = axis(name)
                self.everywhere[name] = axis(name) + start
                self.loops[name] = Loop(name, self._argument(blocks.extent))
            else:
                self.local[name] = const(0, INT)
                self.everywhere[name] = start

    def _argument(self, size: Size) -> Expr:
        name = f"p{self._next}"
        self._next += 1
        self.args[name] = size
        return arg(name)

    def call(self, shared: Collection[str]) -> NestCall:
        call = self.source
        if not self.cover:
            return call
        nest = self._nest(call.nest, shared)
        count = len(call.inputs)
        positions = range(count + len(call.outputs))
        views = [self._view(position, shared) for position in positions]
        assert call.choice is not None
        choice = replace(call.choice, schedule=self._schedule(call.schedule))
        args = {name: self.args[name] for name in self.args if name in _used(nest)}
        return replace(
            call,
            nest=nest,
            inputs=tuple(views[:count]),
            outputs=tuple(views[count:]),
            args=args,
            choice=choice,
        )

    def _nest(self, nest: Nest, shared: Collection[str]) -> Nest:
        call = self.source

        def change(expr: Expr) -> Expr | None:
            if expr.op == "axis":
                return self.everywhere.get(expr.value)
            if expr.op != "load" or call.inputs[expr.value[0]].name not in shared:
                return None
            count = len(load_index(expr))
            index = self._local_index(expr.value[0], expr.args[:count])
            return make("load", expr.type, (*index, *expr.args[count:]), expr.value)

        changed = nest.map(change)
        outputs = tuple(
            make_output(
                out.operand,
                [(value, self._local_index(position, index)) for value, index in out.stores],
            )
            if call.outputs[position - len(nest.inputs)].name in shared
            else out
            for position, out in enumerate(changed.outputs, len(nest.inputs))
        )
        axes = (self.loops.get(loop.axis, loop) for loop in nest.axes)
        return replace(
            changed, axes=tuple(loop for loop in axes if loop is not None), outputs=outputs
        )

    def _local_index(self, position: int, index: Sequence[Expr]) -> tuple[Expr, ...]:
        """An index of a shared buffer, with the numbers of rows within the block."""
        names = row_dimensions(self.source, self.cover, position)
        return tuple(
            self.local[names[d]] if names and d in names else item for d, item in enumerate(index)
        )

    def _view(self, position: int, shared: Collection[str]) -> View:
        """The view of an operand. A shared buffer has the rows of a block."""
        view = (*self.source.inputs, *self.source.outputs)[position]
        if view.name not in shared:
            return view
        names = row_dimensions(self.source, self.cover, position) or {}
        sizes = {
            d: self.blocks.rows if self.loops[name] is not None else 1 for d, name in names.items()
        }
        shape = tuple(sizes.get(d, size) for d, size in enumerate(view.shape))
        return View(view.name, Type(view.type.dtype, shape))

    def _schedule(self, schedule: object) -> InvocationSchedule:
        """The schedule without the loops that a block does not have."""
        if not isinstance(schedule, InvocationSchedule):
            raise InternalError(f"{self.source.label}: only invocations share workgroups")
        tile = schedule.tile
        if tile.axis is not None and tile.axis in self.cover:
            is_looped = self.loops[tile.axis] is not None
            if not is_looped or self.blocks.rows < tile.count:
                tile = Tile(tile.vector, tile.lanes)
        order = tuple(name for name in schedule.order if self.loops.get(name, name) is not None)
        return replace(schedule, order=order, tile=tile)


def row_dimensions(call: NestCall, cover: Cover, position: int) -> dict[int, str] | None:
    """The dimensions of an operand along which loops over rows move, if every access moves through
    the rows along the same dimensions.
    """
    nest, found = call.nest, list[dict[int, str]]()
    if position < len(nest.inputs):
        indices = [load_index(expr) for expr in nest.loads if expr.value[0] == position]
    else:
        indices = [index for _, index in nest.outputs[position - len(nest.inputs)].stores]
    for index in indices:
        names = {d: item.value for d, item in enumerate(index) if item.op == "axis"}
        found.append({d: name for d, name in names.items() if name in cover})
        moving = [item for item in index if any(depends(item, name) for name in cover)]
        if len(moving) != len(cover) or sorted(found[-1].values()) != sorted(cover):
            return None
    return found[0] if found and all(item == found[0] for item in found) else None


def _used(nest: Nest) -> set[str]:
    loops = (*nest.axes, *nest.reduce)
    extents = {loop.extent.value for loop in loops}
    return extents | {expr.value for expr in nest.nodes if expr.op == "arg"}
