"""Substitute what a call without reductions computes for the reads of its result."""

from collections.abc import Sequence
from dataclasses import replace

from webkiln.nest.expr import Expr, arg, axis, const, make, rebuild, select, walk
from webkiln.nest.nest import Loop, Operand, load_guard, load_index
from webkiln.nest.steps import NestCall, View


def freshen(call: NestCall, other: NestCall) -> NestCall:
    """Rename axes and arguments so that they do not collide with those of `other`, which may
    contain names from an earlier fusion.
    """
    used = (*other.args, *(loop.axis for loop in (*other.nest.axes, *other.nest.reduce)))
    latest = max((int(number) for name in used for number in name.split("'")[1:]), default=0)
    mark = f"'{latest + 1}"

    def change(expr: Expr) -> Expr | None:
        if expr.op == "axis":
            return axis(expr.value + mark)
        return arg(expr.value + mark) if expr.op == "arg" else None

    nest = call.nest.map(change)
    nest = replace(
        nest,
        axes=tuple(Loop(loop.axis + mark, loop.extent) for loop in nest.axes),
        reduce=tuple(Loop(loop.axis + mark, loop.extent) for loop in nest.reduce),
    )
    return replace(call, nest=nest, args={name + mark: value for name, value in call.args.items()})


def merge_inputs(
    expr: Expr, first: Sequence[View], second: Sequence[View]
) -> tuple[Expr, tuple[View, ...]]:
    """Renumber the loads of `expr` from `second` to positions after the operands `first`. Equal
    operands are shared.
    """
    views = list(first)
    for view in second:
        if view not in views:
            views.append(view)
    position = [views.index(view) for view in second]

    def change(node: Expr) -> Expr | None:
        return (
            make("load", node.type, node.args, (position[node.value[0]], node.value[1]))
            if node.op == "load"
            else None
        )

    return rebuild(expr, change), tuple(views)


def substituted(producer: NestCall, consumer: NestCall, name: str) -> NestCall | None:
    """The consumer with the producer's expression in place of each read of `name`. None if a read
    has another shape than the result, or is an index of another one.
    """
    reads = [e for e in consumer.nest.loads if consumer.inputs[e.value[0]].name == name]
    if any(consumer.inputs[e.value[0]].shape != producer.outputs[0].shape for e in reads):
        return None
    if any(inner in reads for e in reads for inner in walk(e.args)):
        return None
    producer = freshen(producer, consumer)
    value, views = merge_inputs(producer.nest.outputs[0].value, consumer.inputs, producer.inputs)
    stored_index = producer.nest.outputs[0].index

    def at(index: tuple[Expr, ...], guard: tuple[Expr, Expr] | None) -> Expr:
        position = {
            slot.value: item
            for slot, item in zip(stored_index, index, strict=True)
            if slot.op == "axis"
        }
        moved = rebuild(value, lambda e: position[e.value] if e.op == "axis" else None)
        if guard is None:
            return moved
        guarded = rebuild(moved, lambda e: _guarded(e, guard[0]) if e.op == "load" else None)
        return select(guard[0], guarded, guard[1])

    replacement = {e: at(load_index(e), load_guard(e)) for e in reads}
    nest = consumer.nest.map(replacement.get)
    nest = replace(nest, inputs=tuple(Operand(item.type.dtype, item.type.rank) for item in views))
    return NestCall(
        nest,
        views,
        consumer.outputs,
        {**consumer.args, **producer.args},
        label(producer, consumer),
    )


def _guarded(expr: Expr, guard: Expr) -> Expr:
    """The load with an additional guard."""
    old = load_guard(expr)
    condition = guard if old is None else make("and", "bool", (guard, old[0]))
    other = const(0, expr.type) if old is None else old[1]
    return make("load", expr.type, (*load_index(expr), condition, other), (expr.value[0], True))


def label(producer: NestCall, consumer: NestCall) -> str:
    return (
        producer.layer if producer.layer == consumer.layer else f"{producer.layer}+{consumer.layer}"
    )
