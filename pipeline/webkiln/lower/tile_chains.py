"""Run chains of calls in blocks, where the intermediate results would be too large, so that none of
them is ever materialised in full. Chains of products, such as the two products of attention, run in
blocks along one or more dimensions. Depthwise convolutions and the products around them run in
blocks of rows, whose windows overlap:

    expand: [56, 56, 144] -> depthwise, 3 x 3: [56, 56, 144] -> project: [56, 56, 24]
    2 times: 30 rows of expand -> 28 rows of depthwise -> 28 rows of project

Elements in the windows of two blocks are computed twice. Each element is the same sum as without
blocks, so results are bit-identical. Sizes may be symbolic; the size of a block then follows at run
time. "Rows" are the elements of any dimension that all calls share, such as image rows or batch
items.

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
        where p0 = 130; p1 = 4; p2 = 8; p3 = 2; firsti0 = min(115, min(115, 13*i0))
        where extenti0 = 15
        for a0 < extenti0, a1 < p1, a2 < p2
        reduce r0 < p3
        acc0 = sum(in0[0, a0 + firsti0, a1, 0, r0] * in1[0, 0, r0, 0, a2])
        out0[0, a0, a1, 0, a2] = acc0
      y: float32[1,128,2,8,1] = nest(e: float32[1,15,4,8,1], d: float32[3,3,1,8,1]) @depthwise
        where p0 = 128; p1 = 2; p2 = 8; p3 = 3; p4 = 3; firsti0 = min(115, 13*i0)
        where extenti0 = 13; basei0 = min(115, min(115, 13*i0))
        for a0 < extenti0, a1 < p1, a2 < p2
        reduce r0 < p3, r1 < p4
        %0 = a0 + firsti0
        acc0 = sum(in0[0, (%0 + r0) - basei0, a1 + r1, a2, 0] * in1[r0, r1, 0, a2, 0])
        out0[0, %0, a1, a2, 0] = acc0
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from webkiln.ir.dim import Size
from webkiln.ir.types import Type
from webkiln.lower.chain_blocks import Block, Tiling, product_tiling, window_tiling
from webkiln.lower.chains import unique
from webkiln.nest.expr import INT, Expr, arg, axis, const, make
from webkiln.nest.nest import Loop, load_index
from webkiln.nest.program import Program, free_counter, map_runs
from webkiln.nest.steps import NestCall, Repeat, View
from webkiln.nest.target import Target

Choose = Callable[[Sequence[NestCall], Collection[str]], Tiling | None]
"""Chooses the blocks of a chain that starts with the first call. The second argument are the
Variables that one call writes and only calls read.
"""


def run(program: Program, target: Target) -> Program:
    """Chains of a kind for which the target has no limit are not tiled. Chains of products
    are tiled first, then chains with windows of the other calls.
    """
    limits = target.chain_bytes
    for limit, tiling in ((limits.products, product_tiling), (limits.windows, window_tiling)):
        if limit:
            choose = partial(tiling, limit=limit, counter=free_counter(program))
            program = map_runs(program, partial(tile_chains, choose=choose))
    return program


def tile_chains(
    calls: Sequence[NestCall], live_out: Collection[str], choose: Choose
) -> list[NestCall | Repeat]:
    """The calls, with repeats over the blocks of chains. Variables in `live_out` are read from
    outside.
    """
    private = unique(calls, live_out)
    steps: list[NestCall | Repeat] = []
    rest = list(calls)
    while rest:
        tiling = choose(rest, private)
        if tiling is None:
            steps.append(rest.pop(0))
            continue
        numbers, blocks = tiling
        end = numbers[-1] + 1
        steps += (call for number, call in enumerate(rest[:end]) if number not in numbers)
        steps.append(_repeat(blocks))
        del rest[:end]
    return steps


def _repeat(blocks: Sequence[Block]) -> Repeat:
    """The repeats over all blocks, one in the other."""
    members, (*outer, inner) = blocks[0].members, blocks
    between = {name for member in members for name in member.reads}
    calls = (_blocked_call(number, blocks, between) for number, _ in enumerate(members))
    repeat = Repeat(inner.counter, inner.count, tuple(calls))
    for block in reversed(outer):
        repeat = Repeat(block.counter, block.count, (repeat,))
    return repeat


def _blocked_call(number: int, blocks: Sequence[Block], between: Collection[str]) -> NestCall:
    """A call, for the elements of one block: `extent` elements from `first` on. The intermediate
    results that it reads contain only those elements, or those from `base` on that its windows
    read.
    """
    call = blocks[0].members[number].call
    along = [(block, block.members[number]) for block in blocks]
    args = dict(call.args)
    local: dict[str, Expr] = {}
    everywhere: dict[str, Expr] = {}
    for block, member in along:
        first = f"first{block.counter}"
        args |= {first: block.firsts[number], f"extent{block.counter}": block.extents[number]}
        if member.window:
            args[f"base{block.counter}"] = block.firsts[number - 1]
        local[member.axis] = axis(member.axis) if block.loops else const(0, INT)
        everywhere[member.axis] = local[member.axis] + arg(first)

    def change(expr: Expr) -> Expr | None:
        if expr.op == "axis":
            return everywhere.get(expr.value)
        if expr.op != "load":
            return None
        index, name = list(load_index(expr)), call.inputs[expr.value[0]].name
        rest = expr.args[len(index) :]
        for block, member in along:
            d = member.reads.get(name)
            if d is not None:
                base = arg(f"base{block.counter}")
                index[d] = index[d] - base if member.window else local[member.axis]
        return make("load", expr.type, (*index, *rest), expr.value)

    nest = call.nest.map(change)
    looped = {member.axis: block for block, member in along}
    axes = tuple(
        Loop(loop.axis, arg(f"extent{looped[loop.axis].counter}")) if loop.axis in looped else loop
        for loop in nest.axes
        if loop.axis not in looped or looped[loop.axis].loops
    )
    inputs = tuple(
        _resized(
            view,
            {member.reads.get(view.name): block.extents[number - 1] for block, member in along},
        )
        for view in call.inputs
    )
    (view,), (out,) = call.outputs, nest.outputs
    if view.name in between:
        view = _resized(view, {member.dimension: block.extents[number] for block, member in along})
        places = {member.dimension: local[member.axis] for _, member in along}
        index = tuple(places.get(d, item) for d, item in enumerate(out.index))
        out = replace(out, index=index)
    nest = replace(nest, axes=axes, outputs=(out,))
    return replace(call, nest=nest, inputs=inputs, outputs=(view,), args=args)


def _resized(view: View, sizes: Mapping[int | None, Size]) -> View:
    """The view with other sizes of some dimensions. The key None has no effect."""
    shape = tuple(sizes.get(d, size) for d, size in enumerate(view.shape))
    return View(view.name, Type(view.type.dtype, shape))
