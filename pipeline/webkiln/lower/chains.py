"""Chains of calls that can run in blocks: each call reads earlier results along a dimension that
all of them share.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from webkiln.ir import dim
from webkiln.ir.dim import Size, all_known
from webkiln.lower.nominal_sizes import bytes_of, nominal
from webkiln.nest.affine import depends, evaluate, stride
from webkiln.nest.expr import Expr, axis, walk
from webkiln.nest.nest import load_index
from webkiln.nest.steps import NestCall, View

MAX_WINDOW_CALLS = 8
"""The most calls of a chain with windows."""


@dataclass(frozen=True, slots=True)
class Window:
    """Element y reads `size` elements starting at y * stride + low, clipped to the `full_size` that
    exist.
    """

    stride: int
    low: Size
    size: int
    full_size: Size

    def extent(self, extent: Size) -> Size:
        """The most elements that `extent` neighbouring elements read."""
        return dim.minimum(self.full_size, (extent - 1) * self.stride + self.size)

    def first(self, first: Size, extent: Size) -> Size:
        """The first of the `extent` elements that a block starting at `first` reads: the start of
        its first window, clamped so that `extent` elements remain.
        """
        return dim.maximum(
            [0, dim.minimum(first * self.stride + self.low, self.full_size - extent)]
        )


@dataclass(frozen=True, slots=True)
class Member:
    """A call of a chain, along one dimension of the chain.

    The loop over `axis` has `size` iterations and moves along `dimension` of the result. That is
    None if the result fills only part of the dimension, as in a concatenation; no member reads it
    then. `reads`: the names of the earlier results that the call reads, and the dimension in its
    operands that is the chain's. Each element reads the element of the same number there, or a
    `window` of the preceding member's result.
    """

    call: NestCall
    axis: str
    size: Size
    dimension: int | None
    reads: Mapping[str, int]
    window: Window | None

    @property
    def result(self) -> View:
        return self.call.outputs[0]

    @property
    def element_bytes(self) -> int:
        """The bytes of the result for each element along its dimension, at nominal sizes."""
        return bytes_of(self.result) // nominal(self.size)

    def moves(self, position: int) -> bool:
        """Whether the index at which the call reads an input depends on the axis."""
        return any(
            depends(item, self.axis)
            for expr in self.call.nest.loads
            if expr.value[0] == position
            for item in load_index(expr)
        )


def unique(calls: Sequence[NestCall], live_out: Collection[str]) -> set[str]:
    """The Variables that exactly one call writes and only calls read."""
    writes = Counter(view.name for call in calls for view in call.outputs)
    return {name for name, count in writes.items() if count == 1} - set(live_out)


def is_plain(call: NestCall, private: Collection[str]) -> bool:
    """Whether a call stores each element of its only output once, and only other calls read that
    output.
    """
    return (
        len(call.outputs) == 1 and call.outputs[0].name in private and not call.nest.outputs[0].also
    )


def reads(call: NestCall, names: Collection[str]) -> bool:
    return any(view.name in names for view in call.inputs)


def product_chain(calls: Sequence[NestCall], private: Collection[str]) -> list[int] | None:
    """The positions of the calls of a chain from a product, the first call, to the last one that
    depends on it, or None. Only members read the intermediate results, each has one writer, and
    calls interspersed among the members do not depend on them.
    """
    if not calls[0].nest.is_contraction or not is_plain(calls[0], private):
        return None
    between, results, read = {calls[0].outputs[0].name}, set[str](), set[str]()
    members = [0]
    for number, call in enumerate(calls[1:], 1):
        if not any(reads(later, between) for later in calls[number:]):
            break
        if reads(call, results):
            return None
        if not reads(call, between):
            if (read | results) & {view.name for view in call.outputs}:
                return None
            continue
        members.append(number)
        read |= {view.name for view in call.inputs}
        if call.nest.is_contraction and len(call.outputs) == 1:
            results.add(call.outputs[0].name)
        elif is_plain(call, private):
            between.add(call.outputs[0].name)
        else:
            return None
    shapes = {
        (view.name, view.shape)
        for number in members
        for view in (*calls[number].inputs, *calls[number].outputs)
        if view.name in between
    }
    return members if results and len(shapes) == len(between) else None


def window_chain(calls: Sequence[NestCall], private: Collection[str], limit: int) -> list[NestCall]:
    """The longest chain of products and depthwise convolutions from the first call on. Each
    intermediate result exceeds `limit` bytes and has one reader, the next call.
    """
    members: list[NestCall] = []
    for call in calls[:MAX_WINDOW_CALLS]:
        if not _is_product_or_depthwise(call) or (
            members and not reads(call, {members[-1].outputs[0].name})
        ):
            break
        members.append(call)
        name = call.outputs[0].name
        if (
            not is_plain(call, private)
            or bytes_of(call.outputs[0]) <= limit
            or sum(reads(other, {name}) for other in calls) != 1
        ):
            break
    return members


def _is_product_or_depthwise(call: NestCall) -> bool:
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


def moves_one_factor(member: Member) -> bool:
    """Whether one factor of a product depends on the axis, and the others, usually weights, are the
    same for all elements.
    """
    factors = _factors(member.call)
    return sum(any(depends(item, member.axis) for item in index) for index in factors) == 1


def dimensions(call: NestCall) -> list[int]:
    """The dimensions of the result along which a chain from this call on may run."""
    return [
        d
        for d, item in enumerate(call.nest.outputs[0].index)
        if item.op == "axis" and call.outputs[0][d] != 1
    ]


def members_along(calls: Sequence[NestCall], start: int) -> list[Member]:
    """The members along dimension `start` of the first result, for the longest prefix of the calls
    in which each call runs along it.
    """
    members = [_member(calls[0], calls[0].nest.outputs[0].index[start].value, {}, None)]
    for call in calls[1:]:
        member = _reading_member(call, members)
        if member is None:
            break
        members.append(member)
    return members


def _member(
    call: NestCall, name: str, dimensions_read: Mapping[str, int], window: Window | None
) -> Member:
    (size,) = (call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == name)
    (out,), (view,) = call.nest.outputs, call.outputs
    along = [d for d, index in enumerate(out.index) if depends(index, name)]
    fills = len(along) == 1 and out.index[along[0]] is axis(name) and view[along[0]] == size
    dimension = along[0] if fills else None
    is_own = window == Window(1, 0, 1, size)
    return Member(call, name, size, dimension, dimensions_read, None if is_own else window)


def _reading_member(call: NestCall, members: Sequence[Member]) -> Member | None:
    """The member that reads results of earlier ones, all at one index along the dimension. Only a
    call that reads nothing but the last result may read a window of it.
    """
    earlier = {member.result.name: member for member in members}
    dimensions_read: dict[str, int] = {}
    items: set[Expr] = set()
    for position, view in enumerate(call.inputs):
        if view.name not in earlier:
            continue
        dimension = _same_dimension(earlier[view.name], view)
        if dimension is None or dimensions_read.setdefault(view.name, dimension) != dimension:
            return None
        items |= {
            load_index(expr)[dimension] for expr in call.nest.loads if expr.value[0] == position
        }
    moving = [
        loop.axis for loop in call.nest.axes if any(depends(item, loop.axis) for item in items)
    ]
    sizes = {earlier[name].size for name in dimensions_read}
    if not len(items) == len(moving) == len(sizes) == 1:
        return None
    window = _window(call, items.pop(), moving[0], sizes.pop())
    if window is None:
        return None
    member = _member(call, moving[0], dimensions_read, window)
    if member.window and [*dimensions_read] != [members[-1].result.name]:
        return None
    return member


def _same_dimension(member: Member, read: View) -> int | None:
    """The dimension of a view of a member's result that is the member's. The two views may differ
    only in unit dimensions.
    """
    mine, its = (
        [d for d, size in enumerate(view.shape) if size != 1] for view in (member.result, read)
    )
    if [member.result[d] for d in mine] != [read[d] for d in its] or member.dimension not in mine:
        return None
    return its[mine.index(member.dimension)]


def _window(call: NestCall, item: Expr, name: str, full_size: Size) -> Window | None:
    """What an index reads along an axis. None unless the index is a sum of products."""
    last_indices = {
        loop.axis: call.args[loop.extent.value] - 1
        for loop in call.nest.reduce
        if depends(item, loop.axis)
    }
    start = evaluate(item, call.args, dict.fromkeys((name, *last_indices), 0))
    along, *others = (stride(item, loop, call.args) for loop in (name, *last_indices))
    steps = [other for other in others if other is not None]
    counts = all_known(last_indices.values())
    if start is None or along is None or along < 1 or counts is None or len(steps) < len(counts):
        return None
    reach = [step * count for step, count in zip(steps, counts, strict=True)]
    low = start + sum(min(0, far) for far in reach)
    return Window(along, low, 1 + sum(map(abs, reach)), full_size)
