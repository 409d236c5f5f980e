"""Normal form of a call: sizes of 1 dropped, adjacent axes merged, names in order of appearance, so that equal kernels have equal text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from webkiln.nest.build import Call, View
from webkiln.nest.expr import Expr, arg, axis, make, walk
from webkiln.nest.nest import Loop, Operand, Output, load_index

MIXED = -1


def tidy(call: Call) -> Call:
    call = _drop_unused_inputs(call)
    call = _squeeze(call)
    while (merged := _merge_one(call)) is not None:
        call = merged
    return _rename(call)


@dataclass(frozen=True, slots=True)
class _Access:
    """One place where a tensor is indexed."""

    view: View
    index: tuple[Expr, ...]


def _accesses(call: Call) -> list[_Access]:
    reads = [_Access(call.inputs[e.value[0]], load_index(e)) for e in call.nest.loads]
    writes = [_Access(view, out.index) for view, out in zip(call.outputs, call.nest.outputs, strict=True)]
    return reads + writes


def _reindexed(call: Call, inputs: Sequence[tuple[View, Sequence[int]]], outputs: Sequence[tuple[View, Sequence[int]]]) -> Call:
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


def _drop_unused_inputs(call: Call) -> Call:
    used = sorted({e.value[0] for e in call.nest.loads})
    position = {old: new for new, old in enumerate(used)}
    nest = call.nest.map(lambda e: make("load", e.type, e.args, (position[e.value[0]], e.value[1])) if e.op == "load" else None)
    nest = replace(nest, inputs=tuple(call.nest.inputs[old] for old in used))
    return replace(call, nest=nest, inputs=tuple(call.inputs[old] for old in used))


def _is_zero(expr: Expr) -> bool:
    return expr.op == "const" and expr.value == 0


def _squeeze(call: Call) -> Call:
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


def _merge_one(call: Call) -> Call | None:
    for loops in (call.nest.axes, call.nest.reduce):
        for outer, inner in pairwise(loops):
            if any(a.combiner in ("argmax", "argmin") for a in call.nest.accumulators) and loops is call.nest.reduce:
                continue
            merged = _merge(call, outer, inner)
            if merged is not None:
                return merged
    return None


def _size(call: Call, loop: Loop) -> int | None:
    return call.args[loop.extent.value] if loop.extent.op == "arg" else None


def _merge(call: Call, outer: Loop, inner: Loop) -> Call | None:
    """Make one loop of two where every access reads them as neighbouring dimensions (or not at all)."""
    a, b = axis(outer.axis), axis(inner.axis)
    sizes = _size(call, outer), _size(call, inner)
    if sizes[0] is None or sizes[1] is None:
        return None
    where: dict[View, int | None] = {}
    for access in _accesses(call):
        place = _neighbours(access, a, b, sizes[1])
        if place == MIXED or where.setdefault(access.view, place) != place:
            return None
    values = [e for e in call.nest.roots if e not in {i for out in call.nest.outputs for i in out.index}]
    if _mentioned_outside_indices(values, {a, b}):
        return None
    return _merged(call, outer, inner, sizes[0] * sizes[1])


def _neighbours(access: _Access, a: Expr, b: Expr, size: int) -> int | None:
    """The dimension indexed by `a` alone and followed by `b` alone over its whole `size`; None without both, else MIXED."""
    mentions = [d for d, item in enumerate(access.index) if {a, b}.intersection(walk([item]))]
    if not mentions:
        return None
    d = mentions[0]
    adjacent = mentions == [d, d + 1] and access.index[d] is a and access.index[d + 1] is b
    return d if adjacent and access.view[d + 1] == size else MIXED


def _mentioned_outside_indices(roots: Sequence[Expr], axes: set[Expr]) -> bool:
    for expr in walk(roots):
        rest = expr.args[len(load_index(expr)) :] if expr.op == "load" else expr.args
        if axes.intersection(rest):
            return True
    return bool(axes.intersection(roots))


def _merged(call: Call, outer: Loop, inner: Loop, size: int) -> Call:
    b = axis(inner.axis)

    def narrow(view: View, index: tuple[Expr, ...]) -> tuple[View, list[int]]:
        if b not in index:
            return view, list(range(len(index)))
        d = index.index(b)
        shape = [*view.shape[: d - 1], view[d - 1] * view[d], *view.shape[d + 1 :]]
        return view.reshaped(shape), [p for p in range(len(index)) if p != d]

    first = {e.value[0]: load_index(e) for e in call.nest.loads}
    call = _reindexed(
        call,
        [narrow(view, first[position]) for position, view in enumerate(call.inputs)],
        [narrow(view, out.index) for view, out in zip(call.outputs, call.nest.outputs, strict=True)],
    )
    name = outer.extent.value

    def loops(items: tuple[Loop, ...]) -> tuple[Loop, ...]:
        return tuple(loop for loop in items if loop.axis != inner.axis)

    nest = replace(call.nest, axes=loops(call.nest.axes), reduce=loops(call.nest.reduce))
    return replace(call, nest=nest, args={**call.args, name: size})


def _rename(call: Call) -> Call:
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
