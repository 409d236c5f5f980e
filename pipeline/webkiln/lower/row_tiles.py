"""Depthwise convolutions and the products before and after them, a strip of rows at a time where
all
rows together would be too large: what lies between them is never there as a whole.

    expand: [56, 56, 144] -> depthwise, 3 x 3: [56, 56, 144] -> project: [56, 56, 24]
    2 times: 30 rows of expand -> 28 rows of depthwise -> 28 rows of project

A row that the windows of two strips reach is computed for both, as the same sums, so that no bit
changes. Sizes may be open: a run tells them, and with them how many rows make a strip. Rows here
are the elements of any dimension along which the calls go hand in hand: of an image, or images.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from webkiln.ir import dim, symbols
from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Type, itemsize
from webkiln.lower.tiled_products import COUNTERS, bytes_of, is_plain, nominal, unique
from webkiln.nest.affine import depends, evaluate, stride
from webkiln.nest.expr import Expr, arg, axis, make, walk
from webkiln.nest.nest import Loop, load_index, make_output
from webkiln.nest.steps import NestCall, Repeat, Step, View, calls

MOST_AGAIN = 1 / 8
"""Of the multiplications, how many more there may be for rows that several strips need."""
MOST_CALLS = 8
FEWEST_ROWS = 32
"""Of strips of open sizes, where windows slide: fewer rows compute too much again."""
COUNTER = f"i{COUNTERS}"
Span = tuple[int, int]
"""The first row, and how many there are."""


@dataclass(frozen=True, slots=True)
class RowsRead:
    """Row y reads `size` rows from y * stride + low on, as far as they are among the `whole` ones
    that
    there are. They lie along `dimension` of the operands called `name`.
    """

    name: str
    dimension: int
    whole: int
    stride: int
    low: int
    size: int


@dataclass(frozen=True, slots=True)
class Member:
    """A call whose loop over `axis`, of `rows` turns, goes along `dimension` of its result and
    fills
    it; where it does not, as in a part of a concatenation, no member follows. `window`: what it
    reads of the member before it, if there is one. `steady`: the bytes that it reads for every row;
    `work`: its multiplications; `row`: the bytes of a row of its result.
    """

    call: NestCall
    axis: str
    rows: int
    dimension: int | None
    window: RowsRead | None
    steady: int
    work: int
    row: int

    @property
    def result(self) -> View:
        return self.call.outputs[0]

    @property
    def keeps(self) -> bool:
        """Whether each row reads the row of its own number, if any."""
        window = self.window
        return window is None or (window.stride, window.low, window.size, window.whole) == (
            1,
            0,
            1,
            self.rows,
        )

    def needed(self, rows: int) -> int:
        """How many rows of the member before it so many rows read at most."""
        if self.window is None or self.keeps:
            return rows
        return dim.minimum(self.window.whole, (rows - 1) * self.window.stride + self.window.size)

    def begin(self, first: int, extent: int) -> int:
        """Where the rows begin that a strip from `first` on reads: where its first window does, or
        as far from the end as they are many.
        """
        if self.window is None or self.keeps:
            return first
        return dim.maximum(
            [
                0,
                dim.minimum(
                    first * self.window.stride + self.window.low, self.window.whole - extent
                ),
            ]
        )


@dataclass(frozen=True, slots=True)
class Strips:
    """`count` strips of the last member's rows; `rows` of each member make one. What they cost is
    told of open sizes as of common ones.
    """

    members: Sequence[Member]
    count: int
    rows: Sequence[int]

    @property
    def bytes(self) -> int:
        return _at_a_time(
            [
                nominal(member.row * rows)
                for member, rows in zip(self.members[:-1], self.rows, strict=False)
            ]
        )

    @property
    def whole(self) -> list[int]:
        """The bytes of each result between the members, without strips."""
        return [nominal(member.row * member.rows) for member in self.members[:-1]]

    @property
    def saves_memory(self) -> bool:
        return 2 * self.bytes <= _at_a_time(self.whole)

    @property
    def pays(self) -> bool:
        """Whether little is computed again, and less read again than is neither written to memory
        nor read from there.
        """
        return self.again <= MOST_AGAIN and (nominal(self.count) - 1) * sum(
            member.steady for member in self.members
        ) <= sum(self.whole)

    @property
    def again(self) -> float:
        """The share of the multiplications that are done once more."""
        turns = [
            nominal(self.count * rows) / nominal(member.rows)
            for member, rows in zip(self.members, self.rows, strict=True)
        ]
        work = [member.work for member in self.members]
        return sum(one * share for one, share in zip(work, turns, strict=True)) / sum(work) - 1


def _at_a_time(between: Sequence[int]) -> int:
    """The most bytes that lie between members at a time: what one reads and what it writes."""
    return max(map(sum, pairwise(between)), default=between[0])


def stripped(steps: Sequence[Step], kept: set[str], limit: int) -> list[Step]:
    """The steps, and repeats of calls between which more than `limit` bytes would lie; Variables in
    `kept` are read from outside.
    """
    if not limit:
        return list(steps)
    every = list(calls(steps))
    readers = Counter(name for call in every for name in {view.name for view in call.inputs})
    alone = {name for name in unique(every, kept) if readers[name] == 1}
    made: list[Step] = []
    rest = list(steps)
    while rest:
        strips = _strips(_chain(rest, alone, limit), limit)
        made.append(_repeated(strips) if strips else rest[0])
        del rest[: len(strips.members) if strips else 1]
    return made


def _chain(steps: Sequence[Step], alone: set[str], limit: int) -> list[NestCall]:
    """The calls from the first step on of which each alone reads what is too large of the one
    before it.
    """
    chain: list[NestCall] = []
    for call in steps[:MOST_CALLS]:
        if not isinstance(call, NestCall) or not _can_be_cut(call):
            break
        if chain and all(view.name != chain[-1].outputs[0].name for view in call.inputs):
            break
        chain.append(call)
        if not is_plain(call, alone) or bytes_of(call.outputs[0]) <= limit:
            break
    return chain


def _can_be_cut(call: NestCall) -> bool:
    """Whether a call multiplies pixels by a matrix, or windows of each channel by numbers.
    Convolutions do both at once, in fewer multiplications as a whole, and would do many of them
    again.
    """
    return (
        call.nest.is_contraction
        and len(call.outputs) == 1
        and (not _slid(call) or _is_depthwise(call))
    )


def _is_depthwise(call: NestCall) -> bool:
    """Whether all that is summed lies in a window, as it does for each channel, and in an image of
    one.
    """
    return _slid(call) == {loop.axis for loop in call.nest.reduce} != set()


def _slid(call: NestCall) -> set[str]:
    """The axes of a sum along which windows go: they and an axis of the result stand in one index."""
    places = [
        item
        for factor in _factors(call)
        for item in factor
        if any(depends(item, loop.axis) for loop in call.nest.axes)
    ]
    return {
        loop.axis for loop in call.nest.reduce if any(depends(item, loop.axis) for item in places)
    }


def _factors(call: NestCall) -> list[tuple[Expr, ...]]:
    return [
        load_index(expr) for expr in walk([call.nest.accumulators[0].body]) if expr.op == "load"
    ]


def _strips(chain: Sequence[NestCall], limit: int) -> Strips | None:
    """Strips that fit the limit, or as open sizes let them; else smaller ones than half of what
    lies
    between: along the outermost dimension, of as many of the calls as pay.
    """
    small: Strips | None = None
    for strips in _possible(chain, limit):
        if strips.pays:
            if strips.bytes <= limit or (is_symbolic(strips.count) and strips.saves_memory):
                return strips
            small = small or (strips if strips.saves_memory else None)
    return small


def _possible(chain: Sequence[NestCall], limit: int) -> Iterator[Strips]:
    """Strips along each dimension, of as many of the calls as there may be first; without a
    depthwise convolution others decide (`chains.py`).
    """
    for members in _along(chain):
        depthwise = next(
            (n for n, member in enumerate(members) if _is_depthwise(member.call)), len(members)
        )
        for end in range(len(members), max(1, depthwise), -1):
            yield from _cut(members[:end], limit)


def _along(chain: Sequence[NestCall]) -> Iterator[list[Member]]:
    """As many of the calls as keep to a dimension of the first one's result, for each but the
    innermost, whose elements are computed side by side.
    """
    moving = [
        item.value
        for item in (chain[0].nest.outputs[0].index if chain else ())
        if item.op == "axis"
    ]
    for name in moving[:-1]:
        members: list[Member] = []
        member = _member(chain[0], name, None)
        for call in chain[1:]:
            if member is None or member.dimension is None:
                break
            members.append(member)
            member = _next(member, call)
        yield members if member is None else [*members, member]


def _member(call: NestCall, name: str, window: RowsRead | None) -> Member | None:
    """The call along one of its axes, if that goes along one factor of the sum: the other one,
    weights mostly, is the same for all rows.
    """
    if sum(any(depends(item, name) for item in factor) for factor in _factors(call)) != 1:
        return None
    (rows,) = (call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == name)
    (out,), (view,) = call.nest.outputs, call.outputs
    along = [d for d, index in enumerate(out.index) if depends(index, name)]
    fills = len(along) == 1 and out.index[along[0]] is axis(name) and view[along[0]] == rows
    return Member(
        call,
        name,
        rows,
        along[0] if fills else None,
        window,
        steady=sum(
            bytes_of(view)
            for n, view in enumerate(call.inputs)
            if not any(depends(expr, name) for expr in call.nest.loads if expr.value[0] == n)
        ),
        work=prod(
            nominal(call.args[loop.extent.value]) for loop in (*call.nest.axes, *call.nest.reduce)
        ),
        row=prod(
            (size for d, size in enumerate(view.shape) if d not in along),
            start=itemsize(view.type.dtype),
        ),
    )


def _next(before: Member, call: NestCall) -> Member | None:
    """The member that reads another one's rows, one or a window of them for each of its own."""
    positions = [n for n, view in enumerate(call.inputs) if view.name == before.result.name]
    dimension = _same(before, call.inputs[positions[0]])
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
    found = _stride_and_places(call, items.pop(), moving[0])
    return (
        None
        if found is None
        else _member(call, moving[0], RowsRead(before.result.name, dimension, before.rows, *found))
    )


def _same(before: Member, read: View) -> int | None:
    """The dimension of a view of a member's result along which its rows lie, where the views differ
    by dimensions of 1 alone.
    """
    mine, its = (
        [d for d, size in enumerate(view.shape) if size != 1] for view in (before.result, read)
    )
    if [before.result[d] for d in mine] != [read[d] for d in its] or before.dimension not in mine:
        return None
    return its[mine.index(before.dimension)]


def _stride_and_places(call: NestCall, item: Expr, name: str) -> tuple[int, int, int] | None:
    """The stride of an index along an axis, the least index where that is 0, and how many there are
    up to the largest: of sums of products.
    """
    turns = {
        loop.axis: call.args[loop.extent.value] - 1
        for loop in call.nest.reduce
        if depends(item, loop.axis)
    }
    begin = evaluate(item, call.args, dict.fromkeys((name, *turns), 0))
    along, *others = (stride(item, loop, call.args) for loop in (name, *turns))
    steps = [other for other in others if other is not None]
    if (
        begin is None
        or along is None
        or along < 1
        or len(steps) != len(turns)
        or any(map(is_symbolic, turns.values()))
    ):
        return None
    reach = [each * count for each, count in zip(steps, turns.values(), strict=True)]
    return along, begin + sum(min(0, far) for far in reach), 1 + sum(map(abs, reach))


def _cut(members: Sequence[Member], limit: int) -> list[Strips]:
    """The strips that there may be, first those that do the least again and fit, then those of the
    fewest bytes.
    """
    last = members[-1].rows
    if any(map(is_symbolic, (last, *(member.row for member in members[:-1])))):
        return [_cut_open(members, limit)]
    counts = sorted({-(-last // rows) for rows in range(1, last)})
    possible = [_of_rows(members, count, -(-last // count)) for count in counts]
    return sorted(
        possible,
        key=lambda strips: (False, strips.again) if strips.bytes <= limit else (True, strips.bytes),
    )


def _cut_open(members: Sequence[Member], limit: int) -> Strips:
    """Strips as equal as they can be, of as many rows at most as fit at common sizes, if those are
    not too few.
    """
    factor, each = 1, 0
    for member, before in zip(members[:0:-1], members[-2::-1], strict=True):
        factor *= member.window.stride if member.window else 1
        each += factor * nominal(before.row)
    most = max(1 if all(member.keeps for member in members) else FEWEST_ROWS, limit // each)
    last = members[-1].rows
    count = dim.maximum([1, dim.floordiv(last + most - 1, most)])
    return _of_rows(members, count, dim.floordiv(last - 1, count) + 1)


def _of_rows(members: Sequence[Member], count: int, rows: int) -> Strips:
    """So many strips of so many rows of the last member."""
    needed = [rows]
    for member in members[:0:-1]:
        needed.append(member.needed(needed[-1]))
    return Strips(members, count, needed[::-1])


def _repeated(strips: Strips) -> Repeat:
    """The last strip ends with the rows, and computes some of those before it once more."""
    members, rows = strips.members, strips.rows
    begin = symbols.counter(COUNTER) * rows[-1]
    firsts = [
        (
            begin
            if strips.count * rows[-1] == members[-1].rows
            else dim.minimum(begin, members[-1].rows - rows[-1])
        )
    ]
    for member, extent in zip(members[:0:-1], rows[-2::-1], strict=True):
        firsts.append(member.begin(firsts[-1], extent))
    spans: list[Span] = [*zip(reversed(firsts), rows, strict=True)]
    made = [
        _strip(member, span, before, last=member is members[-1])
        for member, span, before in zip(members, spans, (None, *spans[:-1]), strict=True)
    ]
    return Repeat(COUNTER, strips.count, tuple(made))


def _strip(member: Member, span: Span, before: Span | None, *, last: bool) -> NestCall:
    """The call for a span of rows. Of what it reads of the member before it there is a span, too,
    and
    so it is with what it writes, unless it is the last.
    """
    call, window = member.call, member.window
    row = axis(member.axis) + arg("first")
    args = {**call.args, "first": span[0], "extent": span[1], "base": before[0] if before else 0}

    def change(expr: Expr) -> Expr | None:
        if expr is axis(member.axis):
            return row
        if expr.op != "load" or window is None or call.inputs[expr.value[0]].name != window.name:
            return None
        index = list(load_index(expr))
        rest = expr.args[len(index) :]
        index[window.dimension] = (
            axis(member.axis) if member.keeps else index[window.dimension] - arg("base")
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
            _of_length(view, window.dimension, before[1])
            if window and before and view.name == window.name
            else view
        )
        for view in call.inputs
    )
    outputs = (
        call.outputs
        if last or member.dimension is None
        else (_of_length(member.result, member.dimension, span[1]),)
    )
    return replace(call, nest=nest, inputs=inputs, outputs=outputs, args=args)


def _of_length(view: View, dimension: int, rows: int) -> View:
    return View(
        view.name,
        Type(view.type.dtype, (*view.shape[:dimension], rows, *view.shape[dimension + 1 :])),
    )
