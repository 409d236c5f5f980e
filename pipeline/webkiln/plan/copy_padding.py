"""Copy the padding of windows that slide along the innermost axis.

A vector cannot contain elements that a guard excludes. Where a guard is all that keeps a reduction
from being vectorised, as in depthwise convolutions and pools of images stored channel by channel,
the operand is copied with its padding, and read without a guard. Per element, the copy costs one
load and store; the reduction has several.

before:
    program g
    buffer x: float32[8,16] input
    buffer w: float32[8,3] constant
    buffer y: float32[8,16]
    live y
    y: float32[8,16] = nest(x: float32[8,16], w: float32[8,3]) @conv
      where p0 = 8; p1 = 16; p2 = 3
      for a0 < p0, a1 < p1
      reduce r0 < p2
      %0 = (a1 + r0) - 1
      acc0 = sum(in0[a0, %0 if u32&(%0) < u32&(p1) else 0.0] * in1[a0, r0])
      out0[a0, a1] = acc0

after:
    program g
    buffer x: float32[8,16] input
    buffer w: float32[8,3] constant
    buffer y~padded: float32[8,18]
    buffer y: float32[8,16]
    live y
    y~padded: float32[8,18] = nest(x: float32[8,16]) @conv
      where p0 = 8; p1 = 18; p2 = 16
      for a0 < p0, a1 < p1
      %0 = a1 - 1
      out0[a0, a1] = in0[a0, %0 if u32&(%0) < u32&(p2) else 0.0]
    y: float32[8,16] = nest(y~padded: float32[8,18], w: float32[8,3]) @conv
      where p0 = 8; p1 = 16; p2 = 3
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, a1 + r0] * in1[a0, r0])
      out0[a0, a1] = acc0
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Type, is_integer
from webkiln.nest.affine import evaluate, stride
from webkiln.nest.build import Lowering
from webkiln.nest.expr import Expr, make
from webkiln.nest.nest import conjuncts, load_guard, load_index
from webkiln.nest.program import Program, map_calls
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target
from webkiln.ops.window import all_in_bounds
from webkiln.plan.schedule import choose


def run(program: Program, target: Target) -> Program:
    constants = program.repackable
    names = set(program.buffers)

    def is_vectorised(call: NestCall) -> bool:
        return choose(call, target, constants).schedule.tile.vector is not None

    def change(call: NestCall) -> list[NestCall]:
        if not call.nest.reduce:
            return [call]
        split = _split(call, _free(f"{call.outputs[0].name}~padded", names))
        if split is None or is_vectorised(call) or not is_vectorised(split[-1]):
            return [call]
        names.update(view.name for view in split[0].outputs)
        return split

    return map_calls(program, change)


def _free(name: str, taken: Collection[str]) -> str:
    return _free(f"{name}~", taken) if name in taken else name


def _split(call: NestCall, name: str) -> list[NestCall] | None:
    """The copy of the guarded operand with its padding, called `name`, and the call that reads it.
    None if several loads are guarded, if the value outside is no constant of the operand's dtype,
    or if a size that they depend on is open.
    """
    guarded = [(expr, guard) for expr in call.nest.loads if (guard := load_guard(expr)) is not None]
    if len(guarded) != 1:
        return None
    ((expr, (condition, outside)),) = guarded
    position, index = expr.value[0], load_index(expr)
    if outside.op != "const" or not _holds(call.inputs[position].type.dtype, outside.value):
        return None
    window = _window(call, condition, index, call.inputs[position].shape)
    if window is None or [item.value[0] for item in call.nest.loads].count(position) != 1:
        return None
    view = call.inputs[position]
    sizes = [
        window[d][1] - window[d][0] if d in window else size for d, size in enumerate(view.shape)
    ]
    padded = View(name, Type(view.type.dtype, tuple(sizes)))
    before = [-window[d][0] if d in window else 0 for d in range(len(index))]
    moved = [_plus(call, item, count) for item, count in zip(index, before, strict=True)]
    if any(item is None for item in moved):
        return None
    direct = make("load", expr.type, tuple(filter(None, moved)), (position, False))
    reader = replace(
        call,
        nest=call.nest.map(lambda item: direct if item is expr else None),
        inputs=tuple(padded if n == position else item for n, item in enumerate(call.inputs)),
    )
    return [_copy(view, padded, before, list(window), outside.value, call.layer), reader]


def _window(
    call: NestCall, condition: Expr, index: Sequence[Expr], shape: Sequence[int]
) -> dict[int, tuple[int, int]] | None:
    """Checked dimension of a guarded load -> the first index and the end of those that its loops
    reach. None if the guard is not a comparison of indices with their sizes, or if a range is not
    known.
    """
    dims = [_checked_dimension(call, item, index, shape) for item in conjuncts(condition)]
    found: dict[int, tuple[int, int]] = {}
    for d in dims:
        reached = None if d is None else _reached(call, index[d])
        if d is None or reached is None:
            return None
        found[d] = reached
    return found


def _holds(dtype: str, value: float) -> bool:
    """Whether a store to this dtype keeps a value."""
    if not is_integer(dtype):
        return dtype in ("float32", "float64")
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max)


def _checked_dimension(
    call: NestCall, check: Expr, index: Sequence[Expr], shape: Sequence[int]
) -> int | None:
    """The dimension that a conjunct of a guard compares with its size."""
    if check.op != "lt" or any(item.op != "bitcast" for item in check.args):
        return None
    position, size = (item.args[0] for item in check.args)
    return next(
        (
            d
            for d, item in enumerate(index)
            if item is position and evaluate(size, call.args, {}) == shape[d]
        ),
        None,
    )


def _reached(call: NestCall, index: Expr) -> tuple[int, int] | None:
    """The first index and the end of those that the loops of a call reach, if the index grows along
    all of them, and no size is open.
    """
    loops = (*call.nest.axes, *call.nest.reduce)
    strides = [stride(index, loop.axis, call.args) for loop in loops]
    if any(item is None or item < 0 for item in strides):
        return None
    moving = [loop for loop, item in zip(loops, strides, strict=True) if item]
    ends = [evaluate(loop.extent, call.args, {}) for loop in moving]
    if any(end is None or is_symbolic(end) or end < 1 for end in ends):
        return None
    lasts = {loop.axis: end - 1 for loop, end in zip(moving, ends, strict=True) if end}
    first = evaluate(index, call.args, dict.fromkeys(lasts, 0))
    last = evaluate(index, call.args, lasts)
    if first is None or last is None or is_symbolic(first) or is_symbolic(last):
        return None
    return first, last + 1


def _plus(call: NestCall, index: Expr, before: int) -> Expr | None:
    """index + before, if that is simpler than the index: calls that differ only in their padding
    then share a kernel.
    """
    if not before:
        return index
    if index.op == "sub" and evaluate(index.args[1], call.args, {}) == before:
        return index.args[0]
    return None


def _copy(
    view: View,
    padded: View,
    before: Sequence[int],
    checked: Sequence[int],
    outside: float,
    layer: str,
) -> NestCall:
    """The call that copies `view` to `padded`, after `before` elements of each dimension. Where a
    `checked` index is out of bounds, it stores `outside`.
    """
    low = Lowering([view], [padded], layer)
    nest = low.nest()
    source = [
        item - nest.number(count) if count else item
        for item, count in zip(nest.axes(padded.shape), before, strict=True)
    ]
    inside = all_in_bounds(nest, [(source[d], view.shape[d]) for d in checked])
    nest.store(padded, nest.load(view, source, inside, outside))
    nest.done()
    return low.calls[0]
