"""Depthwise convolutions and the products before and after them, a strip of rows at a time where all rows together would be too large: what lies
between them is never there as a whole.

    expand: [56, 56, 144] -> depthwise, 3 x 3: [56, 56, 144] -> project: [56, 56, 24]
    2 times: 30 rows of expand -> 28 rows of depthwise -> 28 rows of project

A row that the windows of two strips reach is computed for both, as the same sums, so that no bit changes. Sizes may be open: a run tells them, and
with them how many rows make a strip.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Type, itemsize
from webkiln.lower.chains import COUNTERS, bytes_of, is_plain, nominal, unique
from webkiln.nest.affine import depends, evaluated, step
from webkiln.nest.build import NestCall, Repeat, Step, View, calls
from webkiln.nest.expr import Expr, arg, axis, make, walk
from webkiln.nest.nest import Loop, load_index, written_output

MOST_AGAIN = 1 / 8
"""Of the multiplications, how many more there may be for rows that several strips need."""
FEWEST_ROWS = 32
"""Of strips of open sizes, where windows slide: fewer rows compute too much again."""
COUNTER = f"i{COUNTERS}"
Span = tuple[int, int]
"""The first row, and how many there are."""
NOTHING: Span = (0, 0)


@dataclass(frozen=True, slots=True)
class Member:
    """A call whose loop over `axis` goes along `dimension` of its result. Row y reads `window` rows from y * stride + low on, as far as they are
    there, of the `there` ones that the member before it computes, along `read` of the view that it has of those, which `reads` names; the first member
    reads no other."""

    call: NestCall
    axis: str
    dimension: int
    reads: str = ""
    there: int = 0
    read: int = 0
    stride: int = 1
    low: int = 0
    window: int = 1

    @property
    def result(self) -> View:
        return self.call.outputs[0]

    @property
    def rows(self) -> int:
        return self.result[self.dimension]

    @property
    def slides(self) -> bool:
        """Whether a row reads another one than that of its number."""
        return (self.stride, self.low, self.window, self.there) != (1, 0, 1, self.rows)

    @property
    def row(self) -> int:
        """The bytes of a row of the result."""
        sizes = (size for dimension, size in enumerate(self.result.shape) if dimension != self.dimension)
        return prod(sizes, start=itemsize(self.result.type.dtype))

    @property
    def steady(self) -> int:
        """The bytes that it reads for every row."""
        return sum(
            bytes_of(view)
            for n, view in enumerate(self.call.inputs)
            if not any(depends(expr, self.axis) for expr in self.call.nest.loads if expr.value[0] == n)
        )

    def needed(self, rows: int) -> int:
        """How many rows of the member before it so many rows read at most."""
        return dim.least(self.there, (rows - 1) * self.stride + self.window) if self.slides else rows


@dataclass(frozen=True, slots=True)
class Strips:
    """`count` strips of the last member's rows; `rows` of each member make one. What they cost is told of open sizes as of common ones."""

    members: Sequence[Member]
    count: int
    rows: Sequence[int]

    @property
    def bytes(self) -> int:
        """What lies between the members at a time."""
        return sum(nominal(member.row * rows) for member, rows in zip(self.members[:-1], self.rows, strict=False))

    @property
    def whole(self) -> int:
        """What lies between the members without strips."""
        return sum(bytes_of(member.result) for member in self.members[:-1])

    @property
    def pays(self) -> bool:
        """Whether little is computed again, and less read again than is neither written to memory nor read from there."""
        read = (nominal(self.count) - 1) * sum(member.steady for member in self.members)
        return self.again <= MOST_AGAIN and read <= self.whole

    @property
    def again(self) -> float:
        """The share of the multiplications that are done once more."""
        work = [_multiplications(member.call) for member in self.members]
        turns = [nominal(self.count * rows) / nominal(member.rows) for member, rows in zip(self.members, self.rows, strict=True)]
        return sum(one * share for one, share in zip(work, turns, strict=True)) / sum(work) - 1


def stripped(steps: Sequence[Step], kept: set[str], limit: int) -> list[Step]:
    """The steps, and repeats of calls between which more than `limit` bytes would lie; Variables in `kept` are read from outside."""
    every = list(calls(steps))
    readers = Counter(name for call in every for name in {view.name for view in call.inputs})
    alone = {name for name in unique(every, kept) if readers[name] == 1} if limit else set()
    made: list[Step] = []
    rest = list(steps)
    while rest:
        strips = _strips(_row_of_calls(rest, alone, limit), limit)
        made.append(_repeated(strips) if strips else rest[0])
        del rest[: len(strips.members) if strips else 1]
    return made


def _row_of_calls(steps: Sequence[Step], alone: set[str], limit: int) -> list[NestCall]:
    """The longest row of calls from the first step of which each alone reads what is too large of the one before it."""
    row: list[NestCall] = []
    for call in steps:
        if not isinstance(call, NestCall) or not _is_part(call):
            break
        if row and all(view.name != row[-1].outputs[0].name for view in call.inputs):
            break
        row.append(call)
        if not is_plain(call, alone) or bytes_of(call.outputs[0]) <= limit:
            break
    return row


def _is_part(call: NestCall) -> bool:
    """Whether a call multiplies pixels by a matrix, or windows of each channel by numbers. Convolutions do both at once, in fewer multiplications as a
    whole, and would do many of them again."""
    return call.nest.is_contraction and len(call.outputs) == 1 and (not _slid(call) or _is_depthwise(call))


def _is_depthwise(call: NestCall) -> bool:
    return _slid(call) == {loop.axis for loop in call.nest.reduce} != set()


def _slid(call: NestCall) -> set[str]:
    """The axes of a sum along which windows go: they and an axis of the result stand in one index."""
    places = [item for factor in _factors(call) for item in factor if any(depends(item, loop.axis) for loop in call.nest.axes)]
    return {loop.axis for loop in call.nest.reduce if any(depends(item, loop.axis) for item in places)}


def _moves_one(call: NestCall, name: str) -> bool:
    """Whether an axis goes along one factor of the sum: the other one, weights mostly, is the same for all rows."""
    return sum(any(depends(item, name) for item in factor) for factor in _factors(call)) == 1


def _factors(call: NestCall) -> list[tuple[Expr, ...]]:
    return [load_index(expr) for expr in walk([call.nest.accumulators[0].body]) if expr.op == "load"]


def _strips(row: Sequence[NestCall], limit: int) -> Strips | None:
    """The strips of as many of the calls as are worth it."""
    for end in range(len(row), 1, -1):
        found = [strips for members in _members(row[:end]) if (strips := _cut(members, limit)) is not None]
        if found:
            return min(found, key=lambda strips: strips.again)
    return None


def _members(row: Sequence[NestCall]) -> Iterator[list[Member]]:
    """The calls, along each dimension of the first one's result that all of them keep to."""
    out = row[0].nest.outputs[0]
    for dimension, item in enumerate(out.index):
        if item.op != "axis" or not _moves_one(row[0], item.value):
            continue
        members = [Member(row[0], item.value, dimension)]
        for call in row[1:]:
            member = _next(members[-1], call)
            if member is None:
                break
            members.append(member)
        if len(members) == len(row) and any(map(_is_depthwise, row)):
            yield members


def _next(before: Member, call: NestCall) -> Member | None:
    """The member that reads another one's result along its dimension: sums of its axes, of which one is parallel, at places that it writes one by one."""
    positions = [n for n, view in enumerate(call.inputs) if view.name == before.result.name]
    read = _same(before.result, before.dimension, call.inputs[positions[0]])
    if len(positions) != 1 or read is None:
        return None
    items = {load_index(expr)[read] for expr in call.nest.loads if expr.value[0] == positions[0]}
    moving = [loop.axis for loop in call.nest.axes if any(depends(item, loop.axis) for item in items)]
    if len(items) != 1 or len(moving) != 1 or not _moves_one(call, moving[0]):
        return None
    (item,), (name,) = items, moving
    (out,) = call.nest.outputs
    along = [d for d, index in enumerate(out.index) if depends(index, name)]
    if len(along) != 1 or out.index[along[0]] is not axis(name):
        return None
    spans = {loop.axis: (0, call.args[loop.extent.value] - 1) for loop in call.nest.reduce if depends(item, loop.axis)}
    corners = [dict(zip(spans, turns, strict=True)) for turns in product(*spans.values())]
    places = [[evaluated(item, call.args, {**corner, name: row}) for corner in corners] for row in (0, 1)]
    first, second = ([place for place in found if place is not None] for found in places)
    if len(first) != len(corners) or len(second) != len(corners) or any(step(item, loop) is None for loop in (name, *spans)):
        return None
    reach, strides = [place - first[0] for place in first], {b - a for a, b in zip(first, second, strict=True)}
    if len(strides) != 1 or any(map(is_symbolic, (*reach, *strides))) or min(strides) < 1:
        return None
    low = first[0] + min(reach)
    return Member(call, name, along[0], before.result.name, before.rows, read, strides.pop(), low, max(reach) - min(reach) + 1)


def _same(written: View, dimension: int, read: View) -> int | None:
    """The dimension of a view that is that of another one, where they differ by dimensions of 1 alone."""
    mine, its = ([d for d, size in enumerate(view.shape) if size != 1] for view in (written, read))
    if [written[d] for d in mine] != [read[d] for d in its] or dimension not in mine:
        return None
    return its[mine.index(dimension)]


def _cut(members: Sequence[Member], limit: int) -> Strips | None:
    """The strips that do the least again of those between which no more lies than the limit; else the smallest that pay and halve what lies between."""
    last = members[-1].rows
    if any(map(is_symbolic, (last, *(member.row for member in members)))):
        return _cut_open(members, limit)
    counts = sorted({-(-last // rows) for rows in range(1, last)})
    possible = [strips for count in counts if (strips := _of_rows(members, count, -(-last // count))).pays]
    fitting = [strips for strips in possible if strips.bytes <= limit]
    if fitting:
        return min(fitting, key=lambda strips: strips.again)
    return min((strips for strips in possible if 2 * strips.bytes <= strips.whole), key=lambda strips: strips.bytes, default=None)


def _cut_open(members: Sequence[Member], limit: int) -> Strips | None:
    """Strips as equal as they can be, of as many rows at most as fit at common sizes, if those are not too few."""
    factor, each = 1, 0
    for member, before in zip(members[:0:-1], members[-2::-1], strict=True):
        factor *= member.stride
        each += factor * nominal(before.row)
    most = max(FEWEST_ROWS if any(member.slides for member in members[1:]) else 1, limit // each)
    last = members[-1].rows
    count = dim.greatest([1, dim.floordiv(last + most - 1, most)])
    strips = _of_rows(members, count, dim.floordiv(last - 1, count) + 1)
    return strips if strips.pays and 2 * strips.bytes <= strips.whole else None


def _of_rows(members: Sequence[Member], count: int, rows: int) -> Strips:
    """So many strips of so many rows of the last member."""
    needed = [rows]
    for member in members[:0:-1]:
        needed.append(member.needed(needed[-1]))
    return Strips(members, count, needed[::-1])


def _repeated(strips: Strips) -> Repeat:
    """Strips begin where their first window does, or as far from the ends as they are long: the last one ends with the rows, and computes some once more."""
    members, rows = strips.members, strips.rows
    begin = dim.counter(COUNTER) * rows[-1]
    firsts = [begin if strips.count * rows[-1] == members[-1].rows else dim.least(begin, members[-1].rows - rows[-1])]
    for member, extent in zip(members[:0:-1], rows[-2::-1], strict=True):
        begin = dim.least(firsts[-1] * member.stride + member.low, member.there - extent)
        firsts.append(dim.greatest([0, begin]) if member.slides else firsts[-1])
    spans = [*zip(reversed(firsts), rows, strict=True)]
    made = map(_strip, members, spans, [NOTHING, *spans[:-1]], [*spans[1:], NOTHING])
    return Repeat(COUNTER, strips.count, tuple(made))


def _strip(member: Member, mine: Span, before: Span, after: Span) -> NestCall:
    """The call for a span of rows. Of what it reads of the member before it there is a span, too, and so it is with what it writes for one after it."""
    call, local = member.call, after != NOTHING
    row = axis(member.axis) + arg("first")
    args = {**call.args, "first": mine[0], "extent": mine[1], "there": before[0]}

    def change(expr: Expr) -> Expr | None:
        if expr is axis(member.axis):
            return row
        if expr.op != "load" or call.inputs[expr.value[0]].name != member.reads:
            return None
        index = load_index(expr)
        read = index[member.read] - arg("there") if member.slides else axis(member.axis)
        return make("load", expr.type, (*index[: member.read], read, *index[member.read + 1 :], *expr.args[len(index) :]), expr.value)

    nest = call.nest.map(change)
    (out,) = nest.outputs
    stores = [(value, tuple(axis(member.axis) if local and item is row else item for item in index)) for value, index in out.stores]
    axes = tuple(Loop(loop.axis, arg("extent") if loop.axis == member.axis else loop.extent) for loop in nest.axes)
    inputs = tuple(_shorter(view, member.read, before[1]) if view.name == member.reads else view for view in call.inputs)
    outputs = (_shorter(member.result, member.dimension, mine[1]),) if local else call.outputs
    nest = replace(nest, axes=axes, outputs=(written_output(out.operand, stores),))
    return replace(call, nest=nest, inputs=inputs, outputs=outputs, args=args)


def _shorter(view: View, dimension: int, rows: int) -> View:
    return View(view.name, Type(view.type.dtype, (*view.shape[:dimension], rows, *view.shape[dimension + 1 :])))


def _multiplications(call: NestCall) -> int:
    return prod(nominal(call.args[loop.extent.value]) for loop in (*call.nest.axes, *call.nest.reduce))
