"""Row tiling of depthwise convolutions and the products before and after them. Where the
intermediate results would be too large, tiles of rows are computed depth first, so that no
intermediate result is ever materialised in full.

    expand: [56, 56, 144] -> depthwise, 3 x 3: [56, 56, 144] -> project: [56, 56, 24]
    2 times: 30 rows of expand -> 28 rows of depthwise -> 28 rows of project

Rows in the windows of two tiles are computed twice, by the same sums, so results are bit-identical.
Sizes may be symbolic; the number of rows in a tile then follows at run time. "Rows" are the
elements of any dimension that all calls iterate together, such as image rows or batch items.

before:
    program g
    buffer x: float32[1,130,4,2] input
    buffer w: float32[1,1,2,8] constant
    buffer d: float32[3,3,1,8] constant
    buffer e: float32[1,130,4,1,8]
    buffer y: float32[1,128,2,8,1]
    live y
    e: float32[1,130,4,1,8] = nest(x: float32[1,130,4,1,2], w: float32[1,1,2,1,8]) @expand
      where p0 = 130; p1 = 4; p2 = 8; p3 = 2
      for a0 < p0, a1 < p1, a2 < p2
      reduce r0 < p3
      acc0 = sum(in0[0, a0, a1, 0, r0] * in1[0, 0, r0, 0, a2])
      out0[0, a0, a1, 0, a2] = acc0
    y: float32[1,128,2,8,1] = nest(e: float32[1,130,4,8,1], d: float32[3,3,1,8,1]) @depthwise
      where p0 = 128; p1 = 2; p2 = 8; p3 = 3; p4 = 3
      for a0 < p0, a1 < p1, a2 < p2
      reduce r0 < p3, r1 < p4
      acc0 = sum(in0[0, a0 + r0, a1 + r1, a2, 0] * in1[r0, r1, 0, a2, 0])
      out0[0, a0, a1, a2, 0] = acc0

after:
    program g
    buffer x: float32[1,130,4,2] input
    buffer w: float32[1,1,2,8] constant
    buffer d: float32[3,3,1,8] constant
    buffer e: float32[1,15,4,1,8]
    buffer y: float32[1,128,2,8,1]
    live y
    repeat i0 < 10:
      e: float32[1,15,4,1,8] = nest(x: float32[1,130,4,1,2], w: float32[1,1,2,1,8]) @expand
        where p0 = 130; p1 = 4; p2 = 8; p3 = 2; first = min(115, min(115, 13*i0)); extent = 15
        where base = 0
        for a0 < extent, a1 < p1, a2 < p2
        reduce r0 < p3
        acc0 = sum(in0[0, a0 + first, a1, 0, r0] * in1[0, 0, r0, 0, a2])
        out0[0, a0, a1, 0, a2] = acc0
      y: float32[1,128,2,8,1] = nest(e: float32[1,15,4,8,1], d: float32[3,3,1,8,1]) @depthwise
        where p0 = 128; p1 = 2; p2 = 8; p3 = 3; p4 = 3; first = min(115, 13*i0); extent = 13
        where base = min(115, min(115, 13*i0))
        for a0 < extent, a1 < p1, a2 < p2
        reduce r0 < p3, r1 < p4
        %0 = a0 + first
        acc0 = sum(in0[0, (%0 + r0) - base, a1 + r1, a2, 0] * in1[r0, r1, 0, a2, 0])
        out0[0, %0, a1, a2, 0] = acc0
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from webkiln.ir import dim, symbols
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import Type
from webkiln.lower.nominal_sizes import nominal
from webkiln.lower.row_chains import TiledCall, is_depthwise, members_by_axis, tileable_chain
from webkiln.lower.tiled_products import unique
from webkiln.nest.expr import Expr, arg, axis, make
from webkiln.nest.nest import Loop, load_index, make_output
from webkiln.nest.program import Program, free_counter, map_runs
from webkiln.nest.steps import NestCall, Repeat, Step, View, calls
from webkiln.nest.target import Target

MAX_RECOMPUTED = 1 / 8
"""The largest share of multiplications that tiles may repeat for overlapping windows."""
MIN_WINDOW_ROWS = 32
"""Rows of a tile with symbolic sizes and sliding windows, at least. Smaller tiles recompute too
much.
"""
Span = tuple[Size, Size]
"""First row and number of rows."""


@dataclass(frozen=True, slots=True)
class RowTiling:
    """`count` tiles of the last member's rows. `rows`: the rows of each member in a tile. Costs of
    symbolic sizes are computed at nominal sizes.
    """

    members: Sequence[TiledCall]
    count: Size
    rows: Sequence[Size]

    @property
    def bytes(self) -> int:
        return _peak_bytes(
            [
                nominal(member.row_bytes * rows)
                for member, rows in zip(self.members[:-1], self.rows, strict=False)
            ]
        )

    @property
    def full_bytes(self) -> list[int]:
        """The bytes of each intermediate result without tiles."""
        return [nominal(member.row_bytes * member.rows) for member in self.members[:-1]]

    @property
    def saves_memory(self) -> bool:
        return 2 * self.bytes <= _peak_bytes(self.full_bytes)

    @property
    def pays(self) -> bool:
        """Whether little is recomputed, and the inputs that every tile reads again are smaller than
        the memory traffic saved.
        """
        return self.recomputed <= MAX_RECOMPUTED and (nominal(self.count) - 1) * sum(
            member.row_invariant_bytes for member in self.members
        ) <= sum(self.full_bytes)

    @property
    def recomputed(self) -> float:
        """The share of the multiplications that is repeated."""
        passes = [
            nominal(self.count * rows) / nominal(member.rows)
            for member, rows in zip(self.members, self.rows, strict=True)
        ]
        work = [member.work for member in self.members]
        return (
            sum(amount * share for amount, share in zip(work, passes, strict=True)) / sum(work) - 1
        )


def _peak_bytes(between: Sequence[int]) -> int:
    """The most bytes of intermediate results live at a time: one that is read and one that is
    written.
    """
    return max(map(sum, pairwise(between)), default=between[0])


def run(program: Program, target: Target) -> Program:
    """Nothing is tiled if the target has no limit."""
    limit = target.loops.row_tile_bytes if target.loops else 0
    if not limit:
        return program
    counter = f"i{free_counter(program)}"
    return map_runs(program, partial(tile_rows, limit=limit, counter=counter))


def tile_rows(
    steps: Sequence[Step], live_out: Collection[str], limit: int, counter: str
) -> list[Step]:
    """The steps, with tiled repeats of calls whose intermediate results exceed `limit` bytes.
    Variables in `live_out` are read from outside. `counter` is free.
    """
    all_calls = list(calls(steps))
    readers = Counter(name for call in all_calls for name in {view.name for view in call.inputs})
    private = {name for name in unique(all_calls, live_out) if readers[name] == 1}
    result: list[Step] = []
    rest = list(steps)
    while rest:
        tiling = _choose_tiling(tileable_chain(rest, private, limit), limit)
        result.append(_repeat(tiling, counter) if tiling else rest[0])
        del rest[: len(tiling.members) if tiling else 1]
    return result


def _choose_tiling(chain: Sequence[NestCall], limit: int) -> RowTiling | None:
    """The first tiling that pays and fits the limit, or whose symbolic sizes save memory. Otherwise
    the first one that pays and at least halves the memory. Tilings run along outer dimensions
    first, and over as many calls as possible.
    """
    small: RowTiling | None = None
    for tiling in _candidates(chain, limit):
        if tiling.pays:
            if tiling.bytes <= limit or (is_symbolic(tiling.count) and tiling.saves_memory):
                return tiling
            small = small or (tiling if tiling.saves_memory else None)
    return small


def _candidates(chain: Sequence[NestCall], limit: int) -> Iterator[RowTiling]:
    """Tilings along each dimension, over the most calls first. Chains without a depthwise
    convolution are left to `tiled_products`.
    """
    for members in members_by_axis(chain):
        depthwise = next(
            (n for n, member in enumerate(members) if is_depthwise(member.call)), len(members)
        )
        for end in range(len(members), max(1, depthwise), -1):
            yield from _tilings(members[:end], limit)


def _tilings(members: Sequence[TiledCall], limit: int) -> list[RowTiling]:
    """The possible tilings: first those that fit, by recomputed work, then the others by bytes."""
    last = members[-1].rows
    if is_symbolic(last) or any(is_symbolic(member.row_bytes) for member in members[:-1]):
        return [_symbolic_tiling(members, limit)]
    counts = sorted({-(-last // rows) for rows in range(1, last)})
    possible = [_with_rows(members, count, -(-last // count)) for count in counts]
    return sorted(
        possible,
        key=lambda tiling: (
            (False, tiling.recomputed) if tiling.bytes <= limit else (True, tiling.bytes)
        ),
    )


def _symbolic_tiling(members: Sequence[TiledCall], limit: int) -> RowTiling:
    """Even row tiles for symbolic sizes. Their number of rows fits the limit at nominal sizes, but
    is at least the minimum.
    """
    factor, bytes_per_row = 1, 0
    for member, before in zip(members[:0:-1], members[-2::-1], strict=True):
        factor *= member.window.stride if member.window else 1
        bytes_per_row += factor * nominal(before.row_bytes)
    max_rows = max(
        1 if all(member.reads_own_rows for member in members) else MIN_WINDOW_ROWS,
        limit // bytes_per_row,
    )
    last = members[-1].rows
    count = dim.maximum([1, dim.floordiv(last + max_rows - 1, max_rows)])
    return _with_rows(members, count, dim.floordiv(last - 1, count) + 1)


def _with_rows(members: Sequence[TiledCall], count: Size, rows: Size) -> RowTiling:
    """A tiling into `count` tiles of `rows` rows of the last member."""
    row_counts = [rows]
    for member in members[:0:-1]:
        row_counts.append(member.rows_read(row_counts[-1]))
    return RowTiling(members, count, row_counts[::-1])


def _repeat(tiling: RowTiling, counter: str) -> Repeat:
    """The repeat over all tiles. The last tile ends at the last row and recomputes some rows before
    it.
    """
    members, rows = tiling.members, tiling.rows
    start = symbols.counter(counter) * rows[-1]
    firsts = [
        (
            start
            if tiling.count * rows[-1] == members[-1].rows
            else dim.minimum(start, members[-1].rows - rows[-1])
        )
    ]
    for member, extent in zip(members[:0:-1], rows[-2::-1], strict=True):
        firsts.append(member.first_row_read(firsts[-1], extent))
    spans: list[Span] = [*zip(reversed(firsts), rows, strict=True)]
    tiled = [
        _tiled_call(member, span, before, last=member is members[-1])
        for member, span, before in zip(members, spans, (None, *spans[:-1]), strict=True)
    ]
    return Repeat(counter, tiling.count, tuple(tiled))


def _tiled_call(member: TiledCall, span: Span, span_read: Span | None, *, last: bool) -> NestCall:
    """The call for a span of rows. It reads a span of the preceding member's rows, and writes a
    span unless it is the last member.
    """
    call, window = member.call, member.window
    row = axis(member.axis) + arg("first")
    args = {
        **call.args,
        "first": span[0],
        "extent": span[1],
        "base": span_read[0] if span_read else 0,
    }

    def change(expr: Expr) -> Expr | None:
        if expr is axis(member.axis):
            return row
        if expr.op != "load" or window is None or call.inputs[expr.value[0]].name != window.name:
            return None
        index = list(load_index(expr))
        rest = expr.args[len(index) :]
        index[window.dimension] = (
            axis(member.axis) if member.reads_own_rows else index[window.dimension] - arg("base")
        )
        return make("load", expr.type, (*index, *rest), expr.value)

    nest = call.nest.map(change)
    (out,) = nest.outputs
    stores = [
        (
            value,
            index if last else tuple(axis(member.axis) if item is row else item for item in index),
        )
        for value, index in out.stores
    ]
    axes = tuple(
        Loop(loop.axis, arg("extent") if loop.axis == member.axis else loop.extent)
        for loop in nest.axes
    )
    nest = replace(nest, axes=axes, outputs=(make_output(out.operand, stores),))
    inputs = tuple(
        (
            _resized(view, window.dimension, span_read[1])
            if window and span_read and view.name == window.name
            else view
        )
        for view in call.inputs
    )
    outputs = (
        call.outputs
        if last or member.dimension is None
        else (_resized(member.result, member.dimension, span[1]),)
    )
    return replace(call, nest=nest, inputs=inputs, outputs=outputs, args=args)


def _resized(view: View, dimension: int, rows: Size) -> View:
    return View(
        view.name,
        Type(view.type.dtype, (*view.shape[:dimension], rows, *view.shape[dimension + 1 :])),
    )
