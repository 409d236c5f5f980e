"""Chains of calls that row tiling can run depth first, and the rows that each of them reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import Size, all_known
from webkiln.ir.types import itemsize
from webkiln.lower.nominal_sizes import bytes_of, nominal
from webkiln.lower.tiled_products import is_plain
from webkiln.nest.affine import depends, evaluate, stride
from webkiln.nest.expr import Expr, axis, walk
from webkiln.nest.nest import load_index
from webkiln.nest.steps import NestCall, Step, View

MAX_CALLS = 8


@dataclass(frozen=True, slots=True)
class RowsRead:
    """Row y reads `size` rows starting at y * stride + low, clipped to the `full_rows` that exist.
    They lie along `dimension` of the operands called `name`.
    """

    name: str
    dimension: int
    full_rows: Size
    stride: int
    low: Size
    size: int


@dataclass(frozen=True, slots=True)
class TiledCall:
    """A call in a chain. Its loop over `axis`, with `rows` iterations, runs along `dimension` of
    the result. `dimension` is None if the result fills only part of it, as in a concatenation; no
    member follows then. `window`: what the call reads of the preceding member, if there is one.
    `row_invariant_bytes`: the bytes that every row reads. `work`: the multiplications. `row_bytes`:
    the bytes of a row of the result.
    """

    call: NestCall
    axis: str
    rows: Size
    dimension: int | None
    window: RowsRead | None
    row_invariant_bytes: int
    work: int
    row_bytes: Size

    @property
    def result(self) -> View:
        return self.call.outputs[0]

    @property
    def reads_own_rows(self) -> bool:
        """Whether each row reads only the row of the same number, if any."""
        window = self.window
        return window is None or (window.stride, window.low, window.size, window.full_rows) == (
            1,
            0,
            1,
            self.rows,
        )

    def rows_read(self, rows: Size) -> Size:
        """The most rows of the preceding member that `rows` rows read."""
        if self.window is None or self.reads_own_rows:
            return rows
        return dim.minimum(
            self.window.full_rows, (rows - 1) * self.window.stride + self.window.size
        )

    def first_row_read(self, first: Size, extent: Size) -> Size:
        """The first row that a tile starting at row `first` reads: the start of its first window,
        clamped so that `extent` rows remain.
        """
        if self.window is None or self.reads_own_rows:
            return first
        return dim.maximum(
            [
                0,
                dim.minimum(
                    first * self.window.stride + self.window.low, self.window.full_rows - extent
                ),
            ]
        )


def tileable_chain(steps: Sequence[Step], private: set[str], limit: int) -> list[NestCall]:
    """The longest chain of calls from the first step on. Each intermediate result exceeds `limit`
    and has one reader, the next call.
    """
    members: list[NestCall] = []
    for call in steps[:MAX_CALLS]:
        if not isinstance(call, NestCall) or not _is_tileable(call):
            break
        if members and all(view.name != members[-1].outputs[0].name for view in call.inputs):
            break
        members.append(call)
        if not is_plain(call, private) or bytes_of(call.outputs[0]) <= limit:
            break
    return members


def _is_tileable(call: NestCall) -> bool:
    """Whether a call multiplies pixels by a matrix, or slides a window over each channel. Dense
    convolutions do both: they need fewer multiplications untiled and would repeat many of them.
    """
    return (
        call.nest.is_contraction
        and len(call.outputs) == 1
        and (not _window_axes(call) or is_depthwise(call))
    )


def is_depthwise(call: NestCall) -> bool:
    """Whether every reduction axis is a window axis, as in a depthwise convolution or a convolution
    of a single channel.
    """
    return _window_axes(call) == {loop.axis for loop in call.nest.reduce} != set()


def _window_axes(call: NestCall) -> set[str]:
    """The reduction axes of windows: those that share an index with a parallel axis."""
    indices = [
        item
        for factor in _factors(call)
        for item in factor
        if any(depends(item, loop.axis) for loop in call.nest.axes)
    ]
    return {
        loop.axis for loop in call.nest.reduce if any(depends(item, loop.axis) for item in indices)
    }


def _factors(call: NestCall) -> list[tuple[Expr, ...]]:
    return [
        load_index(expr) for expr in walk([call.nest.accumulators[0].body]) if expr.op == "load"
    ]


def members_by_axis(chain: Sequence[NestCall]) -> Iterator[list[TiledCall]]:
    """For each dimension of the first result but the innermost, which is vectorised: the longest
    prefix of the chain that iterates along it.
    """
    moving = [
        item.value
        for item in (chain[0].nest.outputs[0].index if chain else ())
        if item.op == "axis"
    ]
    for name in moving[:-1]:
        members: list[TiledCall] = []
        member = _member(chain[0], name, None)
        for call in chain[1:]:
            if member is None or member.dimension is None:
                break
            members.append(member)
            member = _reading_member(member, call)
        yield members if member is None else [*members, member]


def _member(call: NestCall, name: str, window: RowsRead | None) -> TiledCall | None:
    """The call as a member that is tiled along one of its axes. None unless exactly one factor
    moves along the axis; the other factor, usually weights, is the same for all rows.
    """
    if sum(any(depends(item, name) for item in factor) for factor in _factors(call)) != 1:
        return None
    (rows,) = (call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == name)
    (out,), (view,) = call.nest.outputs, call.outputs
    along = [d for d, index in enumerate(out.index) if depends(index, name)]
    fills = len(along) == 1 and out.index[along[0]] is axis(name) and view[along[0]] == rows
    return TiledCall(
        call,
        name,
        rows,
        along[0] if fills else None,
        window,
        row_invariant_bytes=sum(
            bytes_of(view)
            for n, view in enumerate(call.inputs)
            if not any(depends(expr, name) for expr in call.nest.loads if expr.value[0] == n)
        ),
        work=prod(
            nominal(call.args[loop.extent.value]) for loop in (*call.nest.axes, *call.nest.reduce)
        ),
        row_bytes=prod(
            (size for d, size in enumerate(view.shape) if d not in along),
            start=itemsize(view.type.dtype),
        ),
    )


def _reading_member(before: TiledCall, call: NestCall) -> TiledCall | None:
    """The member that reads the rows of `before`, one row or a window for each of its own."""
    positions = [n for n, view in enumerate(call.inputs) if view.name == before.result.name]
    dimension = _row_dimension(before, call.inputs[positions[0]])
    if len(positions) != 1 or dimension is None:
        return None
    items = {
        load_index(expr)[dimension] for expr in call.nest.loads if expr.value[0] == positions[0]
    }
    moving = [
        loop.axis for loop in call.nest.axes if any(depends(item, loop.axis) for item in items)
    ]
    if len(items) != 1 or len(moving) != 1:
        return None
    window = _stride_and_window(call, items.pop(), moving[0])
    return (
        None
        if window is None
        else _member(call, moving[0], RowsRead(before.result.name, dimension, before.rows, *window))
    )


def _row_dimension(before: TiledCall, read: View) -> int | None:
    """The dimension of a view of a member's result along which its rows lie. The two views may
    differ only in unit dimensions.
    """
    mine, its = (
        [d for d, size in enumerate(view.shape) if size != 1] for view in (before.result, read)
    )
    if [before.result[d] for d in mine] != [read[d] for d in its] or before.dimension not in mine:
        return None
    return its[mine.index(before.dimension)]


def _stride_and_window(call: NestCall, item: Expr, name: str) -> tuple[int, Size, int] | None:
    """The stride of an index along an axis, the smallest index at position 0 of that axis, and the
    size of the window. The index must be a sum of products.
    """
    last_indices = {
        loop.axis: call.args[loop.extent.value] - 1
        for loop in call.nest.reduce
        if depends(item, loop.axis)
    }
    start = evaluate(item, call.args, dict.fromkeys((name, *last_indices), 0))
    along, *others = (stride(item, loop, call.args) for loop in (name, *last_indices))
    steps = [other for other in others if other is not None]
    counts = all_known(last_indices.values())
    if (
        start is None
        or along is None
        or along < 1
        or len(steps) != len(last_indices)
        or counts is None
    ):
        return None
    reach = [step * count for step, count in zip(steps, counts, strict=True)]
    return along, start + sum(min(0, far) for far in reach), 1 + sum(map(abs, reach))
