"""Defer the division of a softmax whose quotients only products read: divide the sums of products
instead of the factors.

A softmax is three calls: the maximum of each row, the sum of exp(x - max), and exp(x - max) / sum.
If every reader sums over the row, the division moves out of the reader's sum. Exponentials are then
computed and stored once, summed as stored, and each sum of products is divided. No exponential
exceeds 1, so no sum overflows that did not before.

before:
    program g
    buffer x: float32[8,16] input
    buffer v: float32[16,4] input
    buffer p~1: float32[8]
    buffer p~2: float32[8]
    buffer p: float32[8,16]
    buffer y: float32[8,4]
    live y
    p~1: float32[8] = nest(x: float32[8,16]) @s
      where p0 = 8; p1 = 16
      for a0 < p0
      reduce r0 < p1
      acc0 = max(in0[a0, r0])
      out0[a0] = acc0
    p~2: float32[8] = nest(x: float32[8,16], p~1: float32[8]) @s
      where p0 = 8; p1 = 16
      for a0 < p0
      reduce r0 < p1
      acc0 = sum(exp(in0[a0, r0] - in1[a0]))
      out0[a0] = acc0
    p: float32[8,16] = nest(x: float32[8,16], p~1: float32[8], p~2: float32[8]) @s
      where p0 = 8; p1 = 16
      for a0 < p0, a1 < p1
      out0[a0, a1] = exp(in0[a0, a1] - in1[a0]) / in2[a0]
    y: float32[8,4] = nest(p: float32[8,16], v: float32[16,4]) @v
      where p0 = 8; p1 = 4; p2 = 16
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0

after:
    program g
    buffer x: float32[8,16] input
    buffer v: float32[16,4] input
    buffer p~1: float32[8]
    buffer p: float32[8,16]
    buffer p~2: float32[8]
    buffer y: float32[8,4]
    live y
    p~1: float32[8] = nest(x: float32[8,16]) @s
      where p0 = 8; p1 = 16
      for a0 < p0
      reduce r0 < p1
      acc0 = max(in0[a0, r0])
      out0[a0] = acc0
    p: float32[8,16] = nest(x: float32[8,16], p~1: float32[8]) @s
      where p0 = 8; p1 = 16
      for a0 < p0, a1 < p1
      out0[a0, a1] = exp(in0[a0, a1] - in1[a0])
    p~2: float32[8] = nest(p: float32[8,16]) @s
      where p0 = 8; p1 = 16
      for a0 < p0
      reduce r0 < p1
      acc0 = sum(in0[a0, r0])
      out0[a0] = acc0
    y: float32[8,4] = nest(p: float32[8,16], v: float32[16,4], p~2: float32[8]) @v
      where p0 = 8; p1 = 4; p2 = 16
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0 / in2[a0]
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from webkiln.lower.canonicalize import without_unused_inputs
from webkiln.lower.fuse import is_map
from webkiln.nest.affine import depends
from webkiln.nest.expr import Expr, apply, axis, load, rebuild
from webkiln.nest.nest import Accumulator, Operand, load_guard, load_index
from webkiln.nest.program import Program, map_runs
from webkiln.nest.steps import NestCall, View


@dataclass(frozen=True, slots=True)
class Softmax:
    """Positions of the calls of a softmax and of its readers. `rows` maps each loop of the sum to
    the axis of the quotients along it.
    """

    total: int
    quotients: int
    readers: tuple[int, ...]
    rows: Mapping[str, str]


def run(program: Program) -> Program:
    return map_runs(program, defer_softmax)


def defer_softmax(calls: Sequence[NestCall], live_out: Collection[str]) -> list[NestCall]:
    """Return the calls with quotients moved after the sums that read them. Variables in `live_out`
    are read from outside.
    """
    work: dict[int, list[NestCall]] = {number: [call] for number, call in enumerate(calls)}
    for number in range(len(calls)):
        softmax = _match_softmax(calls, number, live_out)
        if softmax is None or any(work[reader] != [calls[reader]] for reader in softmax.readers):
            continue
        quotients = calls[number]
        work[number] = []
        work[softmax.total] = [
            _exponentials(quotients),
            _total(calls[softmax.total], quotients, softmax.rows),
        ]
        for reader in softmax.readers:
            work[reader] = [_divided(calls[reader], quotients)]
    return [call for number in sorted(work) for call in work[number]]


def _match_softmax(
    calls: Sequence[NestCall], number: int, live_out: Collection[str]
) -> Softmax | None:
    """The softmax whose quotients the call at `number` computes, if only products read them."""
    call = calls[number]
    if not is_map(call.nest) or len(call.outputs) != 1 or call.outputs[0].name in live_out:
        return None
    (out,) = call.nest.outputs
    value = out.value
    if value.op != "div" or value.args[0].op != "exp" or value.args[1].op != "load" or out.also:
        return None
    shifted = value.args[0].args[0]
    moving = [item for item in out.index if item.op != "const"]
    if (
        shifted.op != "sub"
        or shifted.args[1].op != "load"
        or moving != [axis(loop.axis) for loop in call.nest.axes]
    ):
        return None
    total, largest = (
        _writer(calls, call.inputs[expr.value[0]].name) for expr in (value.args[1], shifted.args[1])
    )
    if (
        total is None
        or largest is None
        or _readers(calls, call.inputs[value.args[1].value[0]].name) != [number]
    ):
        return None
    rows = _match_rows(call, value.args[1], calls[total], "sum", value.args[0])
    readers = _readers(calls, call.outputs[0].name)
    if (
        rows is None
        or _match_rows(call, shifted.args[1], calls[largest], "max", shifted.args[0]) is None
    ):
        return None
    if (
        _writer(calls, call.outputs[0].name) is None
        or not readers
        or not all(_is_product_of(calls[reader], call) for reader in readers)
    ):
        return None
    return Softmax(total, number, tuple(readers), rows)


def _writer(calls: Sequence[NestCall], name: str) -> int | None:
    """The position of the only call that writes a Variable."""
    writers = [
        number
        for number, call in enumerate(calls)
        if any(view.name == name for view in call.outputs)
    ]
    return writers[0] if len(writers) == 1 else None


def _readers(calls: Sequence[NestCall], name: str) -> list[int]:
    return [
        number
        for number, call in enumerate(calls)
        if any(view.name == name for view in call.inputs)
    ]


def _match_rows(
    call: NestCall, row: Expr, other: NestCall, combiner: str, body: Expr
) -> dict[str, str] | None:
    """Map the loops of `other` to axes of `call`. None unless `other` reduces what `call` computes
    as `body` to the elements that `call` loads as `row`.
    """
    nest = other.nest
    if (
        len(other.outputs) != 1
        or len(nest.accumulators) != 1
        or len(nest.reduce) != 1
        or load_guard(row) is not None
    ):
        return None
    (out,), (accumulator,) = nest.outputs, nest.accumulators
    if (
        other.outputs[0] != call.inputs[row.value[0]]
        or accumulator.combiner != combiner
        or out.value.op != "acc"
        or out.also
    ):
        return None
    axes = {
        mine.value: theirs.value
        for theirs, mine in zip(load_index(row), out.index, strict=True)
        if mine.op == theirs.op == "axis"
    }
    rest = [loop.axis for loop in call.nest.axes if loop.axis not in axes.values()]
    if list(axes) != [loop.axis for loop in nest.axes] or len(rest) != 1:
        return None
    axes[nest.reduce[0].axis] = rest[0]
    sizes = {loop.axis: call.args[loop.extent.value] for loop in call.nest.axes}
    if any(
        other.args[loop.extent.value] != sizes[axes[loop.axis]]
        for loop in (*nest.axes, *nest.reduce)
    ):
        return None
    return axes if _equal(accumulator.body, other, body, call, axes) else None


def _equal(
    mine: Expr, call: NestCall, theirs: Expr, other: NestCall, axes: Mapping[str, str]
) -> bool:
    """Whether two expressions are equal after mapping the axes of the first by `axes`."""
    if (mine.op, mine.type, len(mine.args)) != (theirs.op, theirs.type, len(theirs.args)):
        return False
    if mine.op == "axis":
        return bool(axes.get(mine.value) == theirs.value)
    if mine.op == "arg":
        return call.args[mine.value] == other.args[theirs.value]
    same: bool = mine.value == theirs.value
    if mine.op == "load":
        same = (
            call.inputs[mine.value[0]] == other.inputs[theirs.value[0]]
            and mine.value[1] == theirs.value[1]
        )
    return same and all(
        _equal(a, call, b, other, axes) for a, b in zip(mine.args, theirs.args, strict=True)
    )


def _is_product_of(call: NestCall, quotients: NestCall) -> bool:
    """Whether a call is a product with one quotient as a factor, and does not sum along the index
    of the divisor.
    """
    if not call.nest.is_contraction:
        return False
    loads = _factors(call, quotients.outputs[0])
    index = _row_index(call, quotients) if len(loads) == 1 else ()
    plain = all(
        view == quotients.outputs[0]
        for view in call.inputs
        if view.name == quotients.outputs[0].name
    )
    return (
        len(loads) == 1
        and plain
        and load_guard(loads[0]) is None
        and sum(item is loads[0] for item in call.nest.accumulators[0].body.args) == 1
        and not any(depends(item, loop.axis) for item in index for loop in call.nest.reduce)
    )


def _factors(call: NestCall, view: View) -> list[Expr]:
    return [expr for expr in call.nest.loads if call.inputs[expr.value[0]] == view]


def _row_index(call: NestCall, quotients: NestCall) -> tuple[Expr, ...]:
    """The index at which a product loads the divisor of its quotients."""
    (factor,) = _factors(call, quotients.outputs[0])
    (out,) = quotients.nest.outputs
    here = {
        item: actual
        for item, actual in zip(out.index, load_index(factor), strict=True)
        if item.op == "axis"
    }
    return tuple(rebuild(item, here.get) for item in load_index(out.value.args[1]))


def _exponentials(quotients: NestCall) -> NestCall:
    (out,) = quotients.nest.outputs
    return without_unused_inputs(
        replace(
            quotients,
            nest=replace(quotients.nest, outputs=(replace(out, value=out.value.args[0]),)),
        )
    )


def _total(total: NestCall, quotients: NestCall, rows: Mapping[str, str]) -> NestCall:
    """The sum over the exponentials as stored."""
    (view,) = quotients.outputs
    loops = {theirs: axis(mine) for mine, theirs in rows.items()}
    index = [loops.get(item.value, item) for item in quotients.nest.outputs[0].index]
    stored = load(0, total.nest.accumulators[0].body.type, index)
    nest = replace(
        total.nest,
        inputs=(Operand(view.type.dtype, view.type.rank),),
        accumulators=(Accumulator("sum", stored),),
    )
    return replace(total, nest=nest, inputs=(view,))


def _divided(call: NestCall, quotients: NestCall) -> NestCall:
    (out,) = quotients.nest.outputs
    view = quotients.inputs[out.value.args[1].value[0]]
    inputs = call.inputs if view in call.inputs else (*call.inputs, view)
    row = load(inputs.index(view), out.value.type, _row_index(call, quotients))
    nest = replace(
        call.nest, inputs=tuple(Operand(item.type.dtype, item.type.rank) for item in inputs)
    )
    return replace(
        call,
        nest=nest.map(lambda expr: apply("div", expr, row) if expr.op == "acc" else None),
        inputs=inputs,
    )
