"""The blocks in which chains run, and which chains gain from them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, takewhile
from math import prod

from webkiln.ir import dim, symbols
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import itemsize
from webkiln.lower.chains import (
    Member,
    dimensions,
    is_depthwise,
    members_along,
    moves_one_factor,
    product_chain,
    window_chain,
)
from webkiln.lower.nominal_sizes import bytes_of, nominal
from webkiln.nest.steps import NestCall

MIN_ROWS = 24
"""Products of fewer rows read more than they compute."""
ROW_MULTIPLE = 6
"""Larger blocks of products are multiples of this number of rows, which are computed together."""
MAX_RECOMPUTED = 1 / 8
"""The largest share of multiplications that blocks may repeat for overlapping windows."""
MIN_WINDOW_ROWS = 32
"""Rows of a block with symbolic sizes and overlapping windows, at least. Smaller blocks recompute
too much.
"""


@dataclass(frozen=True, slots=True)
class Block:
    """Blocks along one dimension of a chain: `count` of them, one for each value of `counter`. They
    have `extent` elements of the last result, and begin `size` elements apart; the last one ends
    with the dimension, and recomputes some elements. `loops`: whether the calls loop over the
    elements of a block, instead of computing a single one.
    """

    members: Sequence[Member]
    counter: str
    count: Size
    size: Size
    extent: Size
    loops: bool = True

    @property
    def extents(self) -> list[Size]:
        """The number of elements of each member's result in a block."""
        extents = [self.extent]
        for member in self.members[:0:-1]:
            extents.append(member.window.extent(extents[-1]) if member.window else extents[-1])
        return extents[::-1]

    @property
    def firsts(self) -> list[Size]:
        """The first element of each member's result in a block."""
        full_size, begin = self.members[-1].size, symbols.counter(self.counter) * self.size
        is_even = self.count * self.size == full_size
        firsts = [begin if is_even else dim.minimum(begin, full_size - self.extent)]
        for member, extent in zip(self.members[:0:-1], self.extents[-2::-1], strict=True):
            window = member.window
            firsts.append(window.first(firsts[-1], extent) if window else firsts[-1])
        return firsts[::-1]


Tiling = tuple[Sequence[int], Sequence[Block]]
"""The positions of the calls of a chain, and its blocks, outer ones first."""


def product_tiling(
    calls: Sequence[NestCall], private: Collection[str], limit: int, counter: int
) -> Tiling | None:
    """The chain that starts with the first call, a product, in the fewest blocks whose intermediate
    results fit into `limit` bytes. None if there is no such chain, or if the blocks have too few
    rows to justify reading the other inputs again. `counter` is the number of the first free
    counter.
    """
    numbers = product_chain(calls, private) if bytes_of(calls[0].outputs[0]) > limit else None
    if numbers is None:
        return None
    chain = [calls[number] for number in numbers]
    along = {
        d: members
        for d in dimensions(chain[0])
        if len(members := members_along(chain, d)) == len(chain)
        and not any(member.window for member in members)
    }
    possible = [
        blocks
        for count in range(len(along))
        for outer in combinations(along, count)
        for inner in along.keys() - set(outer)
        if (blocks := _product_blocks(along, outer, inner, limit, counter)) is not None
    ]
    if not possible:
        return None
    return numbers, min(possible, key=lambda blocks: prod(nominal(item.count) for item in blocks))


def _product_blocks(
    along: Mapping[int, Sequence[Member]],
    outer: Sequence[int],
    inner: int,
    limit: int,
    counter: int,
) -> list[Block] | None:
    """Single elements of the outer dimensions, and as many of the inner one as fit. None if those
    are too few.
    """
    members, chosen = along[inner], [along[d] for d in (*outer, inner)]
    # One axis of a call that reads a diagonal runs along two dimensions.
    if any(len({item.axis for item in same}) < len(chosen) for same in zip(*chosen, strict=True)):
        return None
    result = members[0].result
    sizes = dict(enumerate(map(nominal, result.shape)))
    bytes_per_element = prod(
        size for d, size in sizes.items() if d not in (*outer, inner)
    ) * itemsize(result.type.dtype)
    fitting = min(limit // bytes_per_element, sizes[inner])
    others = along.keys() - {*outer, inner}
    if fitting == 0 or any(is_symbolic(result[d]) for d in others):
        return None
    counters = [f"i{counter + number}" for number in range(len(outer) + 1)]
    count, size = _even_blocks(result[inner], fitting)
    extent = dim.minimum(size, result[inner])
    blocks = [
        *(
            Block(along[d], name, result[d], 1, 1, loops=False)
            for d, name in zip(outer, counters, strict=False)
        ),
        Block(members, counters[-1], count, size, extent, loops=size != 1),
    ]
    rows = nominal(extent) * prod(sizes[d] for d in others)
    reread = sum(_bytes_reread(number, blocks) for number, _ in enumerate(members))
    mentions = 1 + sum(result.name in member.reads for member in members)
    is_worthwhile = rows >= MIN_ROWS and reread <= mentions * nominal(extent) * bytes_per_element
    return blocks if is_worthwhile else None


def _even_blocks(full_size: Size, fitting: int) -> tuple[Size, Size]:
    """The number and the size of even blocks, in multiples of the rows computed together."""
    rows = ROW_MULTIPLE if fitting >= ROW_MULTIPLE else 1
    max_rows = fitting // rows * rows
    if is_symbolic(full_size):
        count = dim.floordiv(full_size, max_rows) + 1
        return count, (dim.floordiv(full_size, count * rows) + 1) * rows
    size = -(-full_size // -(-full_size // fitting))
    if full_size % size:
        size = -(-full_size // (-(-full_size // max_rows) * rows)) * rows
    return -(-full_size // size), size


def _bytes_reread(number: int, blocks: Sequence[Block]) -> int:
    """The bytes that a call reads in each block, not counting intermediate results."""
    call, total = blocks[0].members[number].call, 0
    for position, view in enumerate(call.inputs):
        if view.name in blocks[0].members[number].reads:
            continue
        size = bytes_of(view)
        for block in blocks:
            member = block.members[number]
            if member.moves(position):
                size = size * nominal(block.extent) // nominal(member.size)
        total += size
    return total


def window_tiling(
    calls: Sequence[NestCall], private: Collection[str], limit: int, counter: int
) -> Tiling | None:
    """The chain that starts with the first call and contains a depthwise convolution, in the first
    blocks that pay and fit into `limit` bytes, or whose symbolic sizes save memory. Otherwise in
    the first ones that pay and at least halve the memory, or None. Blocks run along outer
    dimensions first, and over as many calls as possible. `counter` is the number of a free counter.
    """
    small: Tiling | None = None
    for block in _window_blocks(window_chain(calls, private, limit), limit, f"i{counter}"):
        if _pays(block):
            tiling = range(len(block.members)), [block]
            if _bytes(block) <= limit or (is_symbolic(block.count) and _halves_memory(block)):
                return tiling
            small = small or (tiling if _halves_memory(block) else None)
    return small


def _window_blocks(chain: Sequence[NestCall], limit: int, counter: str) -> Iterator[Block]:
    """Blocks along each dimension but the innermost, which is vectorised, over the most calls
    first. Chains without a depthwise convolution are left to `product_tiling`.
    """
    for start in dimensions(chain[0])[:-1] if chain else ():
        members = [*takewhile(moves_one_factor, members_along(chain, start))]
        depthwise = next(
            (n for n, member in enumerate(members) if is_depthwise(member.call)), len(members)
        )
        for end in range(len(members), max(1, depthwise), -1):
            yield from _blocks_over(members[:end], limit, counter)


def _blocks_over(members: Sequence[Member], limit: int, counter: str) -> list[Block]:
    """The possible blocks: first those that fit, by recomputed work, then the others by bytes."""
    full_size = members[-1].size
    if is_symbolic(full_size) or any(
        is_symbolic(member.result.type.size) for member in members[:-1]
    ):
        return [_symbolic_block(members, limit, counter)]
    counts = sorted({-(-full_size // rows) for rows in range(1, full_size)})
    rows = [-(-full_size // count) for count in counts]
    return sorted(
        (Block(members, counter, *item, item[1]) for item in zip(counts, rows, strict=True)),
        key=lambda block: (
            (False, _recomputed(block)) if _bytes(block) <= limit else (True, _bytes(block))
        ),
    )


def _symbolic_block(members: Sequence[Member], limit: int, counter: str) -> Block:
    """Even blocks for symbolic sizes. Their number of rows fits the limit at nominal sizes, but is
    at least the minimum.
    """
    factor, bytes_per_row = 1, 0
    for member, before in zip(members[:0:-1], members[-2::-1], strict=True):
        factor *= member.window.stride if member.window else 1
        bytes_per_row += factor * before.element_bytes
    has_windows = any(member.window for member in members)
    max_rows = max(MIN_WINDOW_ROWS if has_windows else 1, limit // bytes_per_row)
    full_size = members[-1].size
    count = dim.maximum([1, dim.floordiv(full_size + max_rows - 1, max_rows)])
    rows = dim.floordiv(full_size - 1, count) + 1
    return Block(members, counter, count, rows, rows)


def _pays(block: Block) -> bool:
    """Whether little is recomputed, and the inputs that every block reads again are smaller than
    the memory traffic saved.
    """
    reread = sum(
        bytes_of(view)
        for member in block.members
        for position, view in enumerate(member.call.inputs)
        if not member.moves(position)
    )
    saved = sum(bytes_of(member.result) for member in block.members[:-1])
    return _recomputed(block) <= MAX_RECOMPUTED and (nominal(block.count) - 1) * reread <= saved


def _recomputed(block: Block) -> float:
    """The share of the multiplications that is repeated."""
    repeated, total = 0.0, 0
    for member, extent in zip(block.members, block.extents, strict=True):
        nest = member.call.nest
        work = prod(
            nominal(member.call.args[loop.extent.value]) for loop in (*nest.axes, *nest.reduce)
        )
        repeated += work * (nominal(block.count * extent) / nominal(member.size))
        total += work
    return repeated / total - 1


def _halves_memory(block: Block) -> bool:
    return 2 * _bytes(block) <= _peak_bytes(block.members, [m.size for m in block.members])


def _bytes(block: Block) -> int:
    """The bytes of intermediate results in a block."""
    return _peak_bytes(block.members, block.extents)


def _peak_bytes(members: Sequence[Member], extents: Sequence[Size]) -> int:
    """The most bytes of intermediate results live at a time: one that is read and one that is
    written.
    """
    between = [
        member.element_bytes * nominal(extent)
        for member, extent in zip(members[:-1], extents, strict=False)
    ]
    return max(map(sum, pairwise(between)), default=between[0])
