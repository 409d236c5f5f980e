"""Canonical form of a call: unit axes dropped, adjacent axes coalesced, names numbered in order of
appearance, so that equal kernels have equal text.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from webkiln.lower.merge_loops import merge
from webkiln.nest.expr import Expr, arg, axis, make, walk
from webkiln.nest.nest import Loop, Operand, load_index, make_output
from webkiln.nest.steps import NestCall, View


def tidy(call: NestCall) -> NestCall:
    call = without_unused_inputs(call)
    call = _squeeze(call)
    while (merged := _merge_one(call)) is not None:
        call = merged
    return renamed(call)


def _reindexed(
    call: NestCall,
    inputs: Sequence[tuple[View, Sequence[int]]],
    outputs: Sequence[tuple[View, Sequence[int]]],
) -> NestCall:
    """Keep, of every operand, the listed dimensions."""

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load":
            return None
        kept = inputs[expr.value[0]][1]
        index = load_index(expr)
        rest = expr.args[len(index) :]
        return make("load", expr.type, (*(index[d] for d in kept), *rest), expr.value)

    nest = call.nest.map(change)
    nest = replace(
        nest,
        inputs=tuple(
            Operand(o.dtype, len(kept)) for o, (_, kept) in zip(nest.inputs, inputs, strict=True)
        ),
        outputs=tuple(
            make_output(
                Operand(o.operand.dtype, len(kept)),
                [(value, tuple(index[d] for d in kept)) for value, index in o.stores],
            )
            for o, (_, kept) in zip(nest.outputs, outputs, strict=True)
        ),
    )
    return replace(
        call, nest=nest, inputs=tuple(v for v, _ in inputs), outputs=tuple(v for v, _ in outputs)
    )


def without_unused_inputs(call: NestCall) -> NestCall:
    used = sorted({e.value[0] for e in call.nest.loads})
    position = {old: new for new, old in enumerate(used)}
    nest = call.nest.map(
        lambda e: (
            make("load", e.type, e.args, (position[e.value[0]], e.value[1]))
            if e.op == "load"
            else None
        )
    )
    nest = replace(nest, inputs=tuple(call.nest.inputs[old] for old in used))
    return replace(call, nest=nest, inputs=tuple(call.inputs[old] for old in used))


def _is_zero(expr: Expr) -> bool:
    return expr.op == "const" and expr.value == 0


def _squeeze(call: NestCall) -> NestCall:
    """Drop dimensions of size 1 that are always indexed by 0."""
    reads: dict[int, list[tuple[Expr, ...]]] = {}
    for expr in call.nest.loads:
        reads.setdefault(expr.value[0], []).append(load_index(expr))

    def kept(view: View, places: Sequence[tuple[Expr, ...]]) -> tuple[View, list[int]]:
        dims = [
            d
            for d, size in enumerate(view.shape)
            if size != 1 or not all(_is_zero(index[d]) for index in places)
        ]
        return view.reshaped([view[d] for d in dims]), dims

    inputs = [kept(view, reads[position]) for position, view in enumerate(call.inputs)]
    outputs = [
        kept(view, [index for _, index in out.stores])
        for view, out in zip(call.outputs, call.nest.outputs, strict=True)
    ]
    return _reindexed(call, inputs, outputs)


def _merge_one(call: NestCall) -> NestCall | None:
    for loops in (call.nest.axes, call.nest.reduce):
        for outer, inner in pairwise(loops):
            if (
                any(a.combiner in ("argmax", "argmin") for a in call.nest.accumulators)
                and loops is call.nest.reduce
            ):
                continue
            merged = merge(call, outer, inner)
            if merged is not None:
                return merged
    return None


def renamed(call: NestCall) -> NestCall:
    """Axes a0.. and r0.., arguments p0.. in order of appearance; arguments that nothing reads are
    dropped.
    """
    nest = call.nest
    axes = {loop.axis: f"a{i}" for i, loop in enumerate(nest.axes)} | {
        loop.axis: f"r{i}" for i, loop in enumerate(nest.reduce)
    }
    extents = [loop.extent for loop in (*nest.axes, *nest.reduce)]
    names = [e.value for e in walk((*extents, *nest.roots)) if e.op == "arg"]
    args = {old: f"p{i}" for i, old in enumerate(names)}

    def change(expr: Expr) -> Expr | None:
        if expr.op == "axis":
            return axis(axes[expr.value])
        return arg(args[expr.value]) if expr.op == "arg" else None

    renamed = nest.map(change)
    renamed = replace(
        renamed,
        axes=tuple(Loop(axes[loop.axis], loop.extent) for loop in renamed.axes),
        reduce=tuple(Loop(axes[loop.axis], loop.extent) for loop in renamed.reduce),
    )
    return replace(call, nest=renamed, args={args[name]: call.args[name] for name in names})
