"""Blocking of chains of products, such as the two products of attention: where the intermediate
results of all rows would be too large, the chain runs for one block of rows at a time, so that no
intermediate result is ever materialised in full.

Each element of a result is the same sum as without blocks, so results are bit-identical.

before:
    program g
    buffer q: float32[96,2] input
    buffer k: float32[2,16] constant
    buffer v: float32[16,2] constant
    buffer s: float32[96,16]
    buffer y: float32[96,2]
    live y
    s: float32[96,16] = nest(q: float32[96,2], k: float32[2,16]) @scores
      where p0 = 96; p1 = 16; p2 = 2
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0
    y: float32[96,2] = nest(s: float32[96,16], v: float32[16,2]) @values
      where p0 = 96; p1 = 2; p2 = 16
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0

after:
    program g
    buffer q: float32[96,2] input
    buffer k: float32[2,16] constant
    buffer v: float32[16,2] constant
    buffer s: float32[32,16]
    buffer y: float32[96,2]
    live y
    repeat i0 < 3:
      s: float32[32,16] = nest(q: float32[96,2], k: float32[2,16]) @scores
        where p0 = 96; p1 = 16; p2 = 2; firsti0 = 32*i0; extenti0 = 32
        for a0 < extenti0, a1 < p1
        reduce r0 < p2
        acc0 = sum(in0[a0 + firsti0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0
      y: float32[96,2] = nest(s: float32[32,16], v: float32[16,2]) @values
        where p0 = 96; p1 = 2; p2 = 16; firsti0 = 32*i0; extenti0 = 32
        for a0 < extenti0, a1 < p1
        reduce r0 < p2
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0 + firsti0, a1] = acc0
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import prod

from webkiln.ir import dim, symbols
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import Type, itemsize
from webkiln.lower.nominal_sizes import bytes_of, nominal
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, Expr, arg, axis, const, make
from webkiln.nest.nest import Loop, load_index, make_output
from webkiln.nest.program import Program, free_counter, map_runs
from webkiln.nest.steps import NestCall, Repeat, View
from webkiln.nest.target import Target

MIN_ROWS = 24
"""Products of fewer rows read more than they compute."""
ROW_MULTIPLE = 6
"""Larger blocks are multiples of this number of rows, which are computed together."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The calls from a product to the last one that depends on it. `between`: the intermediate
    results. `positions`: the dimensions of the first product along which all calls can be blocked;
    for each, the axis of every call along it, and its dimension in each intermediate result.
    `counter`: the number of the first free counter.
    """

    calls: tuple[NestCall, ...]
    between: frozenset[str]
    positions: Mapping[int, tuple[tuple[str, ...], Mapping[str, int]]]
    counter: int

    @property
    def result(self) -> View:
        return self.calls[0].outputs[0]


@dataclass(frozen=True, slots=True)
class Block:
    """Blocks along a dimension of `full_size` elements: `count` blocks of at most `size` elements,
    one for each value of a counter.
    """

    dimension: int
    full_size: Size
    count: Size
    size: Size
    counter: str

    @property
    def extent(self) -> Size:
        return dim.minimum(self.size, self.full_size)

    @property
    def first(self) -> Size:
        """The first element of the block. The last block ends with the dimension, and recomputes
        some elements.
        """
        begin = symbols.counter(self.counter) * self.size
        return (
            begin
            if self.count * self.size == self.full_size
            else dim.minimum(begin, self.full_size - self.extent)
        )


def run(program: Program, target: Target) -> Program:
    """Nothing is tiled if the target has no limit."""
    if not target.tiled_product_bytes:
        return program
    tiled = partial(tile_products, limit=target.tiled_product_bytes, counter=free_counter(program))
    return map_runs(program, tiled)


def tile_products(
    calls: Sequence[NestCall], live_out: Collection[str], limit: int, counter: int
) -> list[NestCall | Repeat]:
    """The calls, with blocked repeats of those whose intermediate results exceed `limit` bytes.
    Variables in `live_out` are read from outside. `counter` is the number of the first free
    counter.
    """
    private = unique(calls, live_out)
    steps: list[NestCall | Repeat] = []
    rest = list(calls)
    while rest:
        numbers = _chain_members(rest, private) if bytes_of(rest[0].outputs[0]) > limit else None
        chain = None if numbers is None else _chain([rest[number] for number in numbers], counter)
        blocks = None if chain is None else _blocks(chain, limit)
        if numbers is None or chain is None or blocks is None:
            steps.append(rest.pop(0))
            continue
        end = numbers[-1] + 1
        steps += (call for number, call in enumerate(rest[:end]) if number not in numbers)
        steps.append(_repeat(chain, blocks))
        rest = rest[end:]
    return steps


def unique(calls: Sequence[NestCall], live_out: Collection[str]) -> set[str]:
    """The Variables that exactly one call writes and only calls read."""
    writes = Counter(view.name for call in calls for view in call.outputs)
    return {name for name, count in writes.items() if count == 1} - set(live_out)


def _chain_members(calls: Sequence[NestCall], private: Collection[str]) -> list[int] | None:
    """The positions of the calls of a chain that starts at the first call, or None. Only members
    read the intermediate results, each has one writer, and calls interspersed among the members do
    not depend on them.
    """
    if not calls[0].nest.is_contraction or not is_plain(calls[0], private):
        return None
    between, results, read = {calls[0].outputs[0].name}, set[str](), set[str]()
    last = max((number for number, call in enumerate(calls) if _reads(call, between)), default=0)
    members, number = [0], 0
    while number < last:
        number += 1
        call = calls[number]
        if _reads(call, results):
            return None
        if not _reads(call, between):
            if (read | results) & {view.name for view in call.outputs}:
                return None
            continue
        members.append(number)
        read |= {view.name for view in call.inputs}
        if call.nest.is_contraction and len(call.outputs) == 1:
            results.add(call.outputs[0].name)
        elif is_plain(call, private):
            between.add(call.outputs[0].name)
            last = max((n for n, item in enumerate(calls) if _reads(item, between)), default=0)
        else:
            return None
    return members if results else None


def is_plain(call: NestCall, private: Collection[str]) -> bool:
    """Whether a call stores each element of its only output once, and only other calls read that
    output.
    """
    return (
        len(call.outputs) == 1 and call.outputs[0].name in private and not call.nest.outputs[0].also
    )


def _reads(call: NestCall, names: Collection[str]) -> bool:
    return any(view.name in names for view in call.inputs)


def _chain(calls: Sequence[NestCall], counter: int) -> Chain | None:
    """The chain with every dimension along which each call needs only its own elements of the
    intermediate results.
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
    if any(len(candidates) > 1 for candidates in shapes.values()):
        return None
    candidates = (
        (d, _positions_along(calls, between, d))
        for d, size in enumerate(calls[0].outputs[0].shape)
        if size != 1
    )
    positions = {d: position for d, position in candidates if position is not None}
    return Chain(tuple(calls), between, positions, counter) if positions else None


def _positions_along(
    calls: Sequence[NestCall], between: Collection[str], start: int
) -> tuple[tuple[str, ...], Mapping[str, int]] | None:
    """The axis of each call along a dimension of the first result, and that dimension in all
    intermediate results. None unless all calls iterate along it.
    """
    first = calls[0].outputs[0]
    positions = {first.name: start}
    axes: list[str] = []
    for number, call in enumerate(calls):
        (out,) = call.nest.outputs
        items = (
            {out.index[start]}
            if number == 0
            else {
                load_index(expr)[positions[name]]
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
                or positions.setdefault(name, moving[0]) != moving[0]
            ):
                return None
    return tuple(axes), positions


def _blocks(chain: Chain, limit: int) -> list[Block] | None:
    """The fewest blocks whose intermediate results fit into `limit`, with enough rows to justify
    reading the other inputs again.
    """
    possible = []
    for outer in (
        outer
        for count in range(len(chain.positions))
        for outer in combinations(chain.positions, count)
    ):
        for inner in chain.positions.keys() - set(outer):
            blocks = _outer_and_inner_blocks(chain, outer, inner, limit)
            if blocks is not None:
                possible.append(blocks)
    return min(
        possible, key=lambda blocks: prod(nominal(block.count) for block in blocks), default=None
    )


def _outer_and_inner_blocks(
    chain: Chain, outer: Collection[int], inner: int, limit: int
) -> list[Block] | None:
    """Single elements of the outer dimensions, and as many of the inner one as fit. None if those
    are too few.
    """
    sizes = dict(enumerate(map(nominal, chain.result.shape)))
    bytes_per_element = prod(
        size for d, size in sizes.items() if d not in outer and d != inner
    ) * itemsize(chain.result.type.dtype)
    fitting = min(limit // bytes_per_element, sizes[inner])
    if fitting == 0 or any(
        is_symbolic(chain.result[d]) for d in chain.positions.keys() - {*outer, inner}
    ):
        return None
    blocks = [
        Block(d, chain.result[d], chain.result[d], 1, f"i{chain.counter + number}")
        for number, d in enumerate(outer)
    ]
    blocks.append(
        Block(
            inner,
            chain.result[inner],
            *_even_blocks(chain.result[inner], fitting),
            f"i{chain.counter + len(blocks)}",
        )
    )
    max_extent = nominal(blocks[-1].extent)
    rows = max_extent * prod(sizes[d] for d in chain.positions if d not in outer and d != inner)
    reread = sum(
        _bytes_reread(call, number, chain, blocks) for number, call in enumerate(chain.calls)
    )
    mentions = 1 + sum(_reads(call, {chain.result.name}) for call in chain.calls)
    return (
        blocks if rows >= MIN_ROWS and reread <= mentions * max_extent * bytes_per_element else None
    )


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


def _bytes_reread(call: NestCall, number: int, chain: Chain, blocks: Sequence[Block]) -> int:
    """The bytes that a call reads in each block, not counting intermediate results."""
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
            name = chain.positions[block.dimension][0][number]
            if any(depends(item, name) for item in indices):
                size = size * nominal(block.extent) // nominal(block.full_size)
        total += size
    return total


def _repeat(chain: Chain, blocks: Sequence[Block]) -> Repeat:
    calls = tuple(
        _blocked_call(call, number, chain, blocks) for number, call in enumerate(chain.calls)
    )
    inner = Repeat(blocks[-1].counter, blocks[-1].count, calls)
    for block in reversed(blocks[:-1]):
        inner = Repeat(block.counter, block.count, (inner,))
    return inner


def _blocked_call(call: NestCall, number: int, chain: Chain, blocks: Sequence[Block]) -> NestCall:
    """The call for the elements of one block. Intermediate results contain only those elements."""
    global_index: dict[str, Expr] = {}
    block_index: dict[str, Expr] = {}
    args = dict(call.args)
    for block in blocks:
        name = chain.positions[block.dimension][0][number]
        first, extent = f"first{block.counter}", f"extent{block.counter}"
        args |= {first: block.first, extent: block.extent}
        block_index[name] = const(0, INT) if block.size == 1 else axis(name)
        global_index[name] = block_index[name] + arg(first)

    def positions(name: str) -> dict[int, Expr]:
        return {
            chain.positions[block.dimension][1][name]: block_index[
                chain.positions[block.dimension][0][number]
            ]
            for block in blocks
        }

    def at(index: Sequence[Expr], name: str) -> tuple[Expr, ...]:
        here = positions(name) if name in chain.between else {}
        return tuple(here.get(d, item) for d, item in enumerate(index))

    def change(expr: Expr) -> Expr | None:
        if expr.op == "axis":
            return global_index.get(expr.value)
        if expr.op != "load":
            return None
        index = load_index(expr)
        return make(
            "load",
            expr.type,
            (*at(index, call.inputs[expr.value[0]].name), *expr.args[len(index) :]),
            expr.value,
        )

    nest = call.nest.map(change)
    (out,) = nest.outputs
    (view,) = call.outputs
    nest = replace(
        nest,
        axes=_block_loops(nest.axes, number, chain, blocks),
        outputs=(
            make_output(
                out.operand, [(value, at(index, view.name)) for value, index in out.stores]
            ),
        ),
    )
    return replace(
        call,
        nest=nest,
        inputs=tuple(_block_view(item, chain, blocks) for item in call.inputs),
        outputs=(_block_view(view, chain, blocks),),
        args=args,
    )


def _block_loops(
    loops: Sequence[Loop], number: int, chain: Chain, blocks: Sequence[Block]
) -> tuple[Loop, ...]:
    """The loops over one block."""
    found = {chain.positions[block.dimension][0][number]: block for block in blocks}
    return tuple(
        Loop(loop.axis, arg(f"extent{found[loop.axis].counter}")) if loop.axis in found else loop
        for loop in loops
        if loop.axis not in found or found[loop.axis].size != 1
    )


def _block_view(view: View, chain: Chain, blocks: Sequence[Block]) -> View:
    """The elements of one block, if the view is an intermediate result."""
    if view.name not in chain.between:
        return view
    sizes = {chain.positions[block.dimension][1][view.name]: block.extent for block in blocks}
    shape = tuple(sizes.get(d, size) for d, size in enumerate(view.shape))
    return View(view.name, Type(view.type.dtype, shape))
