"""Canonical form of a call: unit axes dropped, adjacent axes coalesced, names numbered in order of appearance, so that equal kernels have equal text."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from webkiln.nest.affine import step
from webkiln.nest.build import NestCall, View
from webkiln.nest.expr import INT, Expr, arg, axis, const, make, rebuild, walk
from webkiln.nest.nest import Loop, Operand, Output, load_index


def tidy(call: NestCall) -> NestCall:
    call = _drop_unused_inputs(call)
    call = _squeeze(call)
    while (merged := _merge_one(call)) is not None:
        call = merged
    return _rename(call)


def _accesses(call: NestCall) -> list[tuple[tuple[str, int], View, tuple[Expr, ...]]]:
    """Every place where a tensor is indexed: (role, position) of the operand, its view, the index."""
    reads = [(("input", e.value[0]), call.inputs[e.value[0]], load_index(e)) for e in call.nest.loads]
    writes = [(("output", n), view, out.index) for n, (view, out) in enumerate(zip(call.outputs, call.nest.outputs, strict=True))]
    return reads + writes


def _reindexed(call: NestCall, inputs: Sequence[tuple[View, Sequence[int]]], outputs: Sequence[tuple[View, Sequence[int]]]) -> NestCall:
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
        inputs=tuple(Operand(o.dtype, len(kept)) for o, (_, kept) in zip(nest.inputs, inputs, strict=True)),
        outputs=tuple(
            Output(Operand(o.operand.dtype, len(kept)), o.value, tuple(o.index[d] for d in kept))
            for o, (_, kept) in zip(nest.outputs, outputs, strict=True)
        ),
    )
    return replace(call, nest=nest, inputs=tuple(v for v, _ in inputs), outputs=tuple(v for v, _ in outputs))


def _drop_unused_inputs(call: NestCall) -> NestCall:
    used = sorted({e.value[0] for e in call.nest.loads})
    position = {old: new for new, old in enumerate(used)}
    nest = call.nest.map(lambda e: make("load", e.type, e.args, (position[e.value[0]], e.value[1])) if e.op == "load" else None)
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
        dims = [d for d, size in enumerate(view.shape) if size != 1 or not all(_is_zero(index[d]) for index in places)]
        return view.reshaped([view[d] for d in dims]), dims

    inputs = [kept(view, reads[position]) for position, view in enumerate(call.inputs)]
    outputs = [kept(view, [out.index]) for view, out in zip(call.outputs, call.nest.outputs, strict=True)]
    return _reindexed(call, inputs, outputs)


def _merge_one(call: NestCall) -> NestCall | None:
    for loops in (call.nest.axes, call.nest.reduce):
        for outer, inner in pairwise(loops):
            if any(a.combiner in ("argmax", "argmin") for a in call.nest.accumulators) and loops is call.nest.reduce:
                continue
            merged = _merge(call, outer, inner)
            if merged is not None:
                return merged
    return None


def _size(call: NestCall, loop: Loop) -> int | None:
    return call.args[loop.extent.value] if loop.extent.op == "arg" else None


def _merge(call: NestCall, outer: Loop, inner: Loop) -> NestCall | None:
    """Make one loop of two where every access moves along them as along one row: (x + outer, inner) in dimensions (d, d + 1), the
    second as long as the inner loop, is x * length + merged."""
    a, b = axis(outer.axis), axis(inner.axis)
    outer_size, inner_size = _size(call, outer), _size(call, inner)
    if outer_size is None or inner_size is None or _mentioned_outside_indices(call, {a, b}):
        return None
    rows: dict[tuple[str, int], int] = {}
    for operand, view, index in _accesses(call):
        dims = [d for d, item in enumerate(index) if {a, b}.intersection(walk([item]))]
        if not dims:
            continue
        d = dims[0]
        fits = dims == [d, d + 1] and step(index[d], outer.axis) == 1 and index[d + 1] is b and view[d + 1] == inner_size
        if not fits or rows.setdefault(operand, d) != d:
            return None

    def joined(index: tuple[Expr, ...], d: int) -> tuple[Expr, ...]:
        start = rebuild(index[d], lambda e: const(0, INT) if e is a else None)
        along = a if index[d + 1] is b else index[d + 1]
        return (*index[:d], start * inner.extent + along, *index[d + 2 :])

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load" or ("input", expr.value[0]) not in rows:
            return None
        index = load_index(expr)
        return make("load", expr.type, (*joined(index, rows["input", expr.value[0]]), *expr.args[len(index) :]), expr.value)

    def narrowed(role: str, views: tuple[View, ...]) -> tuple[View, ...]:
        return tuple(_with_row(view, rows[role, n]) if (role, n) in rows else view for n, view in enumerate(views))

    inputs, outputs = narrowed("input", call.inputs), narrowed("output", call.outputs)
    nest = call.nest.map(change)
    stores = [joined(out.index, rows["output", n]) if ("output", n) in rows else out.index for n, out in enumerate(nest.outputs)]
    size = f"{outer.extent.value}+{inner.extent.value}"

    def longer(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        return tuple(Loop(loop.axis, arg(size)) if loop == outer else loop for loop in loops if loop.axis != inner.axis)

    nest = replace(
        nest,
        axes=longer(nest.axes),
        reduce=longer(nest.reduce),
        inputs=tuple(Operand(view.type.dtype, view.type.rank) for view in inputs),
        outputs=tuple(Output(Operand(o.operand.dtype, len(index)), o.value, index) for o, index in zip(nest.outputs, stores, strict=True)),
    )
    return replace(call, nest=nest, inputs=inputs, outputs=outputs, args={**call.args, size: outer_size * inner_size})


def _with_row(view: View, d: int) -> View:
    """The view with dimensions d and d + 1 made one."""
    return view.reshaped([*view.shape[:d], view[d] * view[d + 1], *view.shape[d + 2 :]])


def _mentioned_outside_indices(call: NestCall, axes: set[Expr]) -> bool:
    stores = {item for out in call.nest.outputs for item in out.index}
    roots = [root for root in call.nest.roots if root not in stores]
    for expr in walk(roots):
        rest = expr.args[len(load_index(expr)) :] if expr.op == "load" else ()
        if axes.intersection(walk(rest)):
            return True
    return bool(axes.intersection(_values(roots)))


def _values(roots: Sequence[Expr]) -> set[Expr]:
    """The nodes that are values, not parts of an index."""
    seen: set[Expr] = set()
    stack = list(roots)
    while stack:
        expr = stack.pop()
        if expr not in seen:
            seen.add(expr)
            stack += () if expr.op == "load" else expr.args
    return seen


def _rename(call: NestCall) -> NestCall:
    """Axes a0.. and r0.., arguments p0.. in order of appearance; arguments that nothing reads are dropped."""
    nest = call.nest
    axes = {loop.axis: f"a{i}" for i, loop in enumerate(nest.axes)} | {loop.axis: f"r{i}" for i, loop in enumerate(nest.reduce)}
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
