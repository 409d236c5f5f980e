"""Products of which later products read what becomes of them, as attention does with its scores, a
block of rows at a time where all rows together would be too large: what lies between the products
is never there as a whole.

Each element of a result is the same sum as without blocks, so that no bit of it changes.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from webkiln.ir import dim, symbols
from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Type, itemsize
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, Expr, arg, axis, const, make
from webkiln.nest.nest import Loop, load_index, make_output
from webkiln.nest.steps import NestCall, Repeat, View

NOMINAL = 1024
"""What open sizes are taken for."""
FEWEST_ROWS = 24
"""Products of fewer rows read more than they compute."""
EVEN_ROWS = 6
"""Blocks of more rows are multiples of so many, which are computed together."""
COUNTERS = 900
"""The number of the first counter: no other repeat goes on inside but those of convolutions, and
none around is that deep.
"""


@dataclass(frozen=True, slots=True)
class Linked:
    """Calls from a product to the last one that reads what becomes of it. `places`: the dimensions
    of
    that product which all of them keep to; for each, the axis of every call that goes along it, and
    its dimension in what lies between the calls.
    """

    calls: tuple[NestCall, ...]
    between: frozenset[str]
    places: Mapping[int, tuple[tuple[str, ...], Mapping[str, int]]]

    @property
    def result(self) -> View:
        return self.calls[0].outputs[0]


@dataclass(frozen=True, slots=True)
class Portion:
    """`count` blocks of `size` elements at most, of the `whole` ones along a dimension, for each
    value of a counter.
    """

    dimension: int
    whole: int
    count: int
    size: int
    counter: str

    @property
    def extent(self) -> int:
        return dim.minimum(self.size, self.whole)

    @property
    def first(self) -> int:
        """Where the block begins; the last one ends with the dimension, and computes some elements
        once more.
        """
        begin = symbols.counter(self.counter) * self.size
        return (
            begin
            if self.count * self.size == self.whole
            else dim.minimum(begin, self.whole - self.extent)
        )


def chained(
    calls: Sequence[NestCall], kept: Collection[str], limit: int
) -> list[NestCall | Repeat]:
    """The calls, and repeats of those between which more than `limit` bytes would lie; Variables in
    `kept` are read from outside.
    """
    alone = unique(calls, kept)
    steps: list[NestCall | Repeat] = []
    rest = list(calls)
    while rest:
        numbers = _followed(rest, alone) if limit and bytes_of(rest[0].outputs[0]) > limit else None
        chain = None if numbers is None else _chain([rest[number] for number in numbers])
        blocks = None if chain is None else _blocks(chain, limit)
        if numbers is None or chain is None or blocks is None:
            steps.append(rest.pop(0))
            continue
        end = numbers[-1] + 1
        steps += (call for number, call in enumerate(rest[:end]) if number not in numbers)
        steps.append(_repeated(chain, blocks))
        rest = rest[end:]
    return steps


def unique(calls: Sequence[NestCall], kept: Collection[str]) -> set[str]:
    """The Variables that one call alone writes, and only calls read."""
    writes = Counter(view.name for call in calls for view in call.outputs)
    return {name for name, count in writes.items() if count == 1} - set(kept)


def _followed(calls: Sequence[NestCall], alone: Collection[str]) -> list[int] | None:
    """Where the calls stand that belong to a chain from the first one, if there is one: only they
    read
    what lies between them, of which nothing has another writer, and the calls that stand among them
    need nothing of theirs.
    """
    if not calls[0].nest.is_contraction or not is_plain(calls[0], alone):
        return None
    between, results, read = {calls[0].outputs[0].name}, set[str](), set[str]()
    last = max((number for number, call in enumerate(calls) if _reads(call, between)), default=0)
    found, number = [0], 0
    while number < last:
        number += 1
        call = calls[number]
        if _reads(call, results):
            return None
        if not _reads(call, between):
            if (read | results) & {view.name for view in call.outputs}:
                return None
            continue
        found.append(number)
        read |= {view.name for view in call.inputs}
        if call.nest.is_contraction and len(call.outputs) == 1:
            results.add(call.outputs[0].name)
        elif is_plain(call, alone):
            between.add(call.outputs[0].name)
            last = max((n for n, item in enumerate(calls) if _reads(item, between)), default=0)
        else:
            return None
    return found if results else None


def is_plain(call: NestCall, alone: Collection[str]) -> bool:
    """Whether a call stores each element of one output once, which it alone writes and only other
    calls read.
    """
    return (
        len(call.outputs) == 1 and call.outputs[0].name in alone and not call.nest.outputs[0].also
    )


def _reads(call: NestCall, names: Collection[str]) -> bool:
    return any(view.name in names for view in call.inputs)


def _chain(calls: Sequence[NestCall]) -> Linked | None:
    """The dimensions along which each call needs no more of what lies between than its own
    elements.
    """
    written = {view.name for call in calls for view in call.outputs}
    between = frozenset(view.name for call in calls for view in call.inputs if view.name in written)
    shapes = {
        view.name: {view.shape} for call in calls for view in call.outputs if view.name in between
    }
    for call in calls:
        for view in call.inputs:
            if view.name in between:
                shapes[view.name].add(view.shape)
    if any(len(found) > 1 for found in shapes.values()):
        return None
    found = (
        (d, _along(calls, between, d))
        for d, size in enumerate(calls[0].outputs[0].shape)
        if size != 1
    )
    places = {d: place for d, place in found if place is not None}
    return Linked(tuple(calls), between, places) if places else None


def _along(
    calls: Sequence[NestCall], between: Collection[str], start: int
) -> tuple[tuple[str, ...], Mapping[str, int]] | None:
    """The axis of each call that goes along a dimension of the first one's result, and the
    dimension of all between, if all keep to it.
    """
    first = calls[0].outputs[0]
    places = {first.name: start}
    axes: list[str] = []
    for number, call in enumerate(calls):
        (out,) = call.nest.outputs
        items = (
            {out.index[start]}
            if number == 0
            else {
                load_index(expr)[places[name]]
                for expr in call.nest.loads
                if (name := call.inputs[expr.value[0]].name) in between
            }
        )
        item = items.pop()
        loop = next((loop for loop in call.nest.axes if item is axis(loop.axis)), None)
        if items or loop is None or call.args[loop.extent.value] != first[start]:
            return None
        axes.append(loop.axis)
        name = call.outputs[0].name
        if name in between:
            moving = [d for d, index in enumerate(out.index) if depends(index, loop.axis)]
            if (
                len(moving) != 1
                or out.index[moving[0]] is not item
                or places.setdefault(name, moving[0]) != moving[0]
            ):
                return None
    return tuple(axes), places


def _blocks(chain: Linked, limit: int) -> list[Portion] | None:
    """The fewest blocks of which what lies between fits into `limit`, that have rows enough to be
    worth what they read again.
    """
    possible = []
    for outer in (
        outer for count in range(len(chain.places)) for outer in combinations(chain.places, count)
    ):
        for inner in chain.places.keys() - set(outer):
            blocks = _block(chain, outer, inner, limit)
            if blocks is not None:
                possible.append(blocks)
    return min(
        possible, key=lambda blocks: prod(nominal(block.count) for block in blocks), default=None
    )


def _block(chain: Linked, outer: Collection[int], inner: int, limit: int) -> list[Portion] | None:
    """Single elements of the outer dimensions, and so many of the inner one as fit, if those are
    enough.
    """
    sizes = dict(enumerate(map(nominal, chain.result.shape)))
    each = prod(size for d, size in sizes.items() if d not in outer and d != inner) * itemsize(
        chain.result.type.dtype
    )
    fitting = min(limit // each, sizes[inner])
    if fitting == 0 or any(
        is_symbolic(chain.result[d]) for d in chain.places.keys() - {*outer, inner}
    ):
        return None
    made = [
        Portion(d, chain.result[d], chain.result[d], 1, f"i{COUNTERS + number}")
        for number, d in enumerate(outer)
    ]
    made.append(
        Portion(
            inner,
            chain.result[inner],
            *_even(chain.result[inner], fitting),
            f"i{COUNTERS + len(made)}",
        )
    )
    most = nominal(made[-1].extent)
    rows = most * prod(sizes[d] for d in chain.places if d not in outer and d != inner)
    again = sum(_again(call, number, chain, made) for number, call in enumerate(chain.calls))
    mentions = 1 + sum(_reads(call, {chain.result.name}) for call in chain.calls)
    return made if rows >= FEWEST_ROWS and again <= mentions * most * each else None


def _even(whole: int, fitting: int) -> tuple[int, int]:
    """The number and the size of blocks as equal as they can be, of whole rows of products."""
    rows = EVEN_ROWS if fitting >= EVEN_ROWS else 1
    most = fitting // rows * rows
    if is_symbolic(whole):
        count = dim.floordiv(whole, most) + 1
        return count, (dim.floordiv(whole, count * rows) + 1) * rows
    size = -(-whole // -(-whole // fitting))
    if whole % size:
        size = -(-whole // (-(-whole // most) * rows)) * rows
    return -(-whole // size), size


def _again(call: NestCall, number: int, chain: Linked, blocks: Sequence[Portion]) -> int:
    """The bytes that a call reads in each block of what does not lie between the calls."""
    total = 0
    for position, view in enumerate(call.inputs):
        if view.name in chain.between:
            continue
        size = bytes_of(view)
        indices = [
            item
            for expr in call.nest.loads
            if expr.value[0] == position
            for item in load_index(expr)
        ]
        for block in blocks:
            name = chain.places[block.dimension][0][number]
            if any(depends(item, name) for item in indices):
                size = size * nominal(block.extent) // nominal(block.whole)
        total += size
    return total


def _repeated(chain: Linked, blocks: Sequence[Portion]) -> Repeat:
    calls = tuple(_blocked(call, number, chain, blocks) for number, call in enumerate(chain.calls))
    inner = Repeat(blocks[-1].counter, blocks[-1].count, calls)
    for block in reversed(blocks[:-1]):
        inner = Repeat(block.counter, block.count, (inner,))
    return inner


def _blocked(call: NestCall, number: int, chain: Linked, blocks: Sequence[Portion]) -> NestCall:
    """The call for the elements of a block, of which what lies between the calls holds only those."""
    known: dict[str, Expr] = {}
    local: dict[str, Expr] = {}
    args = dict(call.args)
    for block in blocks:
        name = chain.places[block.dimension][0][number]
        first, extent = f"first{block.counter}", f"extent{block.counter}"
        args |= {first: block.first, extent: block.extent}
        local[name] = const(0, INT) if block.size == 1 else axis(name)
        known[name] = local[name] + arg(first)

    def places(name: str) -> dict[int, Expr]:
        return {
            chain.places[block.dimension][1][name]: local[chain.places[block.dimension][0][number]]
            for block in blocks
        }

    def at(index: Sequence[Expr], name: str) -> tuple[Expr, ...]:
        here = places(name) if name in chain.between else {}
        return tuple(here.get(d, item) for d, item in enumerate(index))

    def change(expr: Expr) -> Expr | None:
        if expr.op == "axis":
            return known.get(expr.value)
        if expr.op != "load":
            return None
        index = load_index(expr)
        return make(
            "load",
            expr.type,
            (*at(index, call.inputs[expr.value[0]].name), *expr.args[len(index) :]),
            expr.value,
        )

    def shrunk(view: View) -> View:
        if view.name not in chain.between:
            return view
        sizes = {chain.places[block.dimension][1][view.name]: block.extent for block in blocks}
        return View(
            view.name,
            Type(view.type.dtype, tuple(sizes.get(d, size) for d, size in enumerate(view.shape))),
        )

    nest = call.nest.map(change)
    (out,) = nest.outputs
    (view,) = call.outputs
    sized = {
        chain.places[block.dimension][0][number]: arg(f"extent{block.counter}")
        for block in blocks
        if block.size != 1
    }
    gone = known.keys() - sized.keys()
    nest = replace(
        nest,
        axes=tuple(
            Loop(loop.axis, sized.get(loop.axis, loop.extent))
            for loop in nest.axes
            if loop.axis not in gone
        ),
        outputs=(
            make_output(
                out.operand, [(value, at(index, view.name)) for value, index in out.stores]
            ),
        ),
    )
    return replace(
        call, nest=nest, inputs=tuple(map(shrunk, call.inputs)), outputs=(shrunk(view),), args=args
    )


def nominal(size: int) -> int:
    """The size, with open ones taken for common ones."""
    return symbols.substitute(size, dict.fromkeys(symbols.names([size]), NOMINAL))


def bytes_of(view: View) -> int:
    """The size of a Variable, with open sizes taken for common ones."""
    return nominal(view.type.size) * itemsize(view.type.dtype)
