"""Fusion: a consumer that reads each element once becomes the epilogue of its producer; a cheap
producer is inlined into its consumer.

The rule depends on one number, the uses of a produced element. An element that is used once costs
nothing to fuse. One that is used more often is recomputed only if it takes at most two cheap
operations, and never inside a sum of products, except for slices.

before:
    program g
    buffer m: float32[8,4] input
    buffer b: float32[4] constant
    buffer s: float32[8,4]
    buffer y: float32[8,4]
    live y
    s: float32[8,4] = nest(m: float32[8,4], b: float32[4]) @dense
      where p0 = 8; p1 = 4
      for a0 < p0, a1 < p1
      out0[a0, a1] = in0[a0, a1] + in1[a1]
    y: float32[8,4] = nest(s: float32[8,4]) @minus
      where p0 = 8; p1 = 4
      for a0 < p0, a1 < p1
      out0[a0, a1] = neg(in0[a0, a1])

after:
    program g
    buffer m: float32[8,4] input
    buffer b: float32[4] constant
    buffer y: float32[8,4]
    live y
    y: float32[8,4] = nest(m: float32[8,4], b: float32[4]) @dense+minus
      where p0 = 8; p1 = 4
      for a0 < p0, a1 < p1
      out0[a0, a1] = neg(in0[a0, a1] + in1[a1])
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from webkiln.ir.dim import Size, is_at_least
from webkiln.ir.types import itemsize
from webkiln.lower.canonicalize import without_unused_inputs
from webkiln.lower.substitute import freshen, label, merge_inputs, substituted
from webkiln.nest.affine import depends, step
from webkiln.nest.expr import (
    COSTLY,
    FLOAT,
    INT,
    Expr,
    axis,
    const,
    make,
    rebuild,
    walk,
)
from webkiln.nest.nest import Nest, Operand, Output, load_guard, load_index
from webkiln.nest.program import Program, map_runs
from webkiln.nest.steps import NestCall, View, every_step

MAX_LOADS = 8
MAX_NODES = 256
"""Size limits of fused expressions. Beyond them fusion saves little memory traffic, and kernels
would grow with the model.
"""
CHEAP_OPERATIONS = 2
"""The most operations that fusion recomputes for every use."""


def run(program: Program) -> Program:
    used = {view.name for step in every_step(program.steps) for view in step.reads}
    init = tuple(fuse(program.init, used | program.live_out))
    return map_runs(replace(program, init=init), fuse)


def fuse(calls: Sequence[NestCall], live_out: Collection[str]) -> list[NestCall]:
    """Fuse until nothing changes. Variables in `live_out` are read from outside and stay.

    One walk suffices: fusing changes only which call reads the producer's inputs, and the walk
    retries that call at once.
    """
    remaining: dict[int, NestCall] = dict(enumerate(calls))
    writers: dict[str, set[int]] = {}
    readers: dict[str, set[int]] = {}
    for position, call in remaining.items():
        for view in call.outputs:
            writers.setdefault(view.name, set()).add(position)
        for view in call.inputs:
            readers.setdefault(view.name, set()).add(position)
    for position in range(len(calls)):
        while (fusion := _fusable(remaining, position, writers, readers, live_out)) is not None:
            producer, fused = fusion
            removed = remaining.pop(producer)
            del writers[removed.outputs[0].name]
            for view in removed.inputs:
                readers[view.name].discard(producer)
            for view in fused.inputs:
                readers[view.name].add(position)
            remaining[position] = fused
    return list(remaining.values())


def _fusable(
    work: Mapping[int, NestCall],
    position: int,
    writers: Mapping[str, set[int]],
    readers: Mapping[str, set[int]],
    live_out: Collection[str],
) -> tuple[int, NestCall] | None:
    """The position of the first producer that fuses with the call at `position`, and the fused
    call.
    """
    consumer = work[position]
    for view in consumer.inputs:
        writing = writers.get(view.name, set())
        if len(writing) != 1 or readers[view.name] != {position} or view.name in live_out:
            continue
        (writer,) = writing
        producer = work[writer]
        if (
            len(producer.outputs) != 1
            or _narrows(producer)
            or len(producer.nest.nodes) + len(consumer.nest.nodes) > MAX_NODES
        ):
            continue
        fused = as_epilogue(producer, consumer, view.name) or inlined(producer, consumer, view.name)
        if fused is not None and len(fused.nest.loads) <= MAX_LOADS:
            return writer, _without_unused_arguments(without_unused_inputs(fused))
    return None


def _without_unused_arguments(call: NestCall) -> NestCall:
    extents = walk(loop.extent for loop in (*call.nest.axes, *call.nest.reduce))
    used = {expr.value for expr in (*extents, *call.nest.nodes) if expr.op == "arg"}
    return replace(call, args={name: value for name, value in call.args.items() if name in used})


def _narrows(call: NestCall) -> bool:
    """Whether the store rounds or wraps, so that the element differs from the expression."""
    out = call.nest.outputs[0]
    if out.operand.dtype == "bool" or itemsize(out.operand.dtype) == itemsize("float32"):
        return False
    if out.value.op == "band" and out.value.args[1].op == "const":
        return bool(out.value.args[1].value > np.iinfo(out.operand.dtype).max)
    return out.value.op != "load" or call.nest.inputs[out.value.value[0]].dtype != out.operand.dtype


def is_map(nest: Nest) -> bool:
    """Whether a nest has no reduction: each output element is an expression over loads."""
    return not nest.reduce and not nest.accumulators


def _stores_all(call: NestCall) -> bool:
    """Whether the only output is stored densely, each element once, in the order of the axes."""
    index = [item for item in call.nest.outputs[0].index if item.op != "const"]
    return (
        index == [axis(loop.axis) for loop in call.nest.axes]
        and prod(_sizes(call)) == call.outputs[0].type.size
    )


def _sizes(call: NestCall) -> list[Size]:
    return [call.args[loop.extent.value] for loop in call.nest.axes]


def as_epilogue(producer: NestCall, consumer: NestCall, name: str) -> NestCall | None:
    """The producer with the consumer's expression as its epilogue. None unless the consumer reads
    every element of `name` exactly at its own index.
    """
    if not is_map(consumer.nest) or len(consumer.outputs) != 1 or not _stores_all(producer):
        return None
    consumer = freshen(consumer, producer)
    view = next(item for item in consumer.inputs if item.name == name)
    sentinel = {e for e in consumer.nest.loads if consumer.inputs[e.value[0]].name == name}
    position = _positions(producer, consumer)
    if (
        position is None
        or prod(_sizes(consumer)) != view.type.size
        or not all(_reads_at(expr, consumer, view) for expr in sentinel)
    ):
        return None
    out, produced = consumer.nest.outputs[0], producer.nest.outputs[0].value

    def mark(expr: Expr) -> Expr | None:
        return make("produced", expr.type) if expr in sentinel else None

    def map_axes(expr: Expr) -> Expr | None:
        return position[expr.value] if expr.op == "axis" else None

    def fill(expr: Expr) -> Expr | None:
        return produced if expr.op == "produced" else None

    others = [item for item in consumer.inputs if item.name != name]
    renumber = {
        old: others.index(item) for old, item in enumerate(consumer.inputs) if item.name != name
    }

    def shift(expr: Expr) -> Expr | None:
        return (
            make("load", expr.type, expr.args, (renumber[expr.value[0]], expr.value[1]))
            if expr.op == "load"
            else None
        )

    roots = [
        rebuild(rebuild(rebuild(item, mark), map_axes), shift) for item in (out.value, *out.index)
    ]
    joined = [merge_inputs(item, producer.inputs, others) for item in roots]
    views = joined[0][1]
    value, *store_index = [rebuild(item, fill) for item, _ in joined]
    nest = replace(
        producer.nest,
        inputs=tuple(Operand(item.type.dtype, item.type.rank) for item in views),
        outputs=(Output(out.operand, value, tuple(store_index)),),
    )
    return NestCall(
        nest,
        views,
        consumer.outputs,
        {**producer.args, **consumer.args},
        label(producer, consumer),
    )


def _reads_at(expr: Expr, consumer: NestCall, view: View) -> bool:
    """Whether a load reads the element of `view` at the consumer's own index."""
    index = tuple(item for item in load_index(expr) if item.op != "const")
    return (
        index == tuple(axis(loop.axis) for loop in consumer.nest.axes)
        and load_guard(expr) is None
        and consumer.inputs[expr.value[0]] == view
    )


def _positions(producer: NestCall, consumer: NestCall) -> dict[str, Expr] | None:
    """The consumer's axes as expressions over the producer's. Sizes are equal, or one consumer axis
    spans several producer axes.
    """
    mine = list(zip(producer.nest.axes, _sizes(producer), strict=True))
    result: dict[str, Expr] = {}
    for loop, size in zip(consumer.nest.axes, _sizes(consumer), strict=True):
        value = const(0, INT)
        covered: Size = 1
        while covered != size and mine:
            inner, extent = mine.pop(0)
            stride = inner.extent
            value = axis(inner.axis) if covered == 1 else value * stride + axis(inner.axis)
            covered *= extent
        if covered != size:
            return None
        result[loop.axis] = value
    return None if mine else result


def _cost(nest: Nest) -> int:
    """The operations of an epilogue in addition to its loads. A costly operation counts as nine."""
    return sum(
        9 if e.op in COSTLY else 1
        for e in walk([nest.outputs[0].value])
        if e.type != INT and e.op not in ("load", "const", "select", "cast")
    )


def _is_slice(nest: Nest) -> bool:
    """Whether each element is one of the operand's, or an integer of 8 bits as a float, and
    neighbours stay neighbours, so that a contraction can read the operand directly at no cost.
    """
    value = nest.outputs[0].value
    if value.op == "cast" and value.type == FLOAT and value.args[0].op == "load":
        (value,) = value.args
        if itemsize(nest.inputs[value.value[0]].dtype) > 1:
            return False
    if value.op != "load" or load_guard(value) is not None:
        return False
    moving = [
        [loop.axis for loop in nest.axes if depends(item, loop.axis)] for item in load_index(value)
    ]
    order = [name for names in moving for name in names]
    steady = all(
        step(item, name) == 1
        for item, names in zip(load_index(value), moving, strict=True)
        for name in names
    )
    return (
        steady
        and max(map(len, moving), default=0) <= 1
        and order == [loop.axis for loop in nest.axes]
    )


def inlined(producer: NestCall, consumer: NestCall, name: str) -> NestCall | None:
    """The consumer with the producer's expression in place of each read of `name`."""
    if (
        not is_map(producer.nest)
        or not _stores_all(producer)
        or (consumer.nest.is_contraction and not _is_slice(producer.nest))
    ):
        return None
    reads = [e for e in consumer.nest.loads if consumer.inputs[e.value[0]].name == name]
    points = prod(_sizes(consumer)) * prod(
        consumer.args[loop.extent.value] for loop in consumer.nest.reduce
    )
    if (
        points * len(reads) != producer.outputs[0].type.size
        and not is_at_least(producer.outputs[0].type.size, points * len(reads))
        and _cost(producer.nest) > CHEAP_OPERATIONS
    ):
        return None
    return substituted(producer, consumer, name)
