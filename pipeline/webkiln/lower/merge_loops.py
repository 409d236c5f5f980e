"""Make one loop of two."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from webkiln.nest.affine import step
from webkiln.nest.expr import INT, Expr, arg, axis, const, make, rebuild, walk
from webkiln.nest.nest import Loop, Operand, Output, load_index
from webkiln.nest.steps import NestCall, View

Access = tuple[tuple[str, int], View, tuple[Expr, ...]]
"""A place where a tensor is indexed: (role, position) of the operand, its view, the index."""
Quotient = Callable[[Expr, Expr], Expr]
"""How a whole number that is not negative is divided by a positive one."""


def accesses(call: NestCall) -> list[Access]:
    reads = [
        (("input", e.value[0]), call.inputs[e.value[0]], load_index(e)) for e in call.nest.loads
    ]
    writes = [
        (("output", n), view, out.index)
        for n, (view, out) in enumerate(zip(call.outputs, call.nest.outputs, strict=True))
    ]
    return reads + writes


def merge(call: NestCall, outer: Loop, inner: Loop) -> NestCall | None:
    """One loop where every access moves along both as along one row: (x + outer, inner) in
    dimensions
    (d, d + 1), the second as long as the inner loop, is x * length + merged. None where one does
    not, or where the loops count as values.
    """
    rows = _rows(call, outer, inner)
    if (
        rows is None
        or None in rows.values()
        or _mentioned_outside_indices(call, {axis(outer.axis), axis(inner.axis)})
    ):
        return None
    return _joined(
        call,
        outer,
        inner,
        {operand: d for operand, d in rows.items() if d is not None},
        lambda expr: None,
    )


def linear(call: NestCall, outer: Loop, inner: Loop, quotient: Quotient) -> NestCall | None:
    """One loop of two parallel ones; accesses that do not move along both as along one row find
    them by a `quotient`.
    """
    rows = _rows(call, outer, inner)
    if rows is None:
        return None
    whole = axis(outer.axis)
    number = quotient(whole, inner.extent)

    def found(expr: Expr) -> Expr | None:
        if expr is axis(inner.axis):
            return whole - number * inner.extent
        return number if expr is whole else None

    return _joined(
        call, outer, inner, {operand: d for operand, d in rows.items() if d is not None}, found
    )


def _rows(call: NestCall, outer: Loop, inner: Loop) -> dict[tuple[str, int], int | None] | None:
    """The operands that move along the loops, with the dimension of which they and the next are one
    row; None: they are none.
    """
    a, b = axis(outer.axis), axis(inner.axis)
    outer_size, inner_size = _size(call, outer), _size(call, inner)
    if outer_size is None or inner_size is None:
        return None
    rows: dict[tuple[str, int], int | None] = {}
    for operand, view, index in accesses(call):
        dims = [d for d, item in enumerate(index) if {a, b}.intersection(walk([item]))]
        if not dims:
            continue
        d = dims[0]
        fits = (
            dims == [d, d + 1]
            and step(index[d], outer.axis) == 1
            and index[d + 1] is b
            and view[d + 1] == inner_size
        )
        rows[operand] = d if fits and rows.get(operand, d) == d else None
    return rows


def _joined(
    call: NestCall,
    outer: Loop,
    inner: Loop,
    rows: dict[tuple[str, int], int],
    found: Callable[[Expr], Expr | None],
) -> NestCall:
    """`rows` indexed by the merged loop, which takes the name of the outer one; elsewhere the axes
    are what `found` says.
    """
    a, b = axis(outer.axis), axis(inner.axis)
    merged = axis(f"{outer.axis}+{inner.axis}")

    def joined(index: tuple[Expr, ...], d: int) -> tuple[Expr, ...]:
        start = rebuild(index[d], lambda e: const(0, INT) if e is a else None)
        along = merged if index[d + 1] is b else index[d + 1]
        return (*index[:d], start * inner.extent + along, *index[d + 2 :])

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load" or ("input", expr.value[0]) not in rows:
            return None
        index = load_index(expr)
        return make(
            "load",
            expr.type,
            (*joined(index, rows["input", expr.value[0]]), *expr.args[len(index) :]),
            expr.value,
        )

    def named(expr: Expr) -> Expr | None:
        return a if expr is merged else found(expr)

    def narrowed(role: str, views: tuple[View, ...]) -> tuple[View, ...]:
        return tuple(
            _with_row(view, rows[role, n]) if (role, n) in rows else view
            for n, view in enumerate(views)
        )

    inputs, outputs = narrowed("input", call.inputs), narrowed("output", call.outputs)
    nest = call.nest.map(change)
    stores = [
        joined(out.index, rows["output", n]) if ("output", n) in rows else out.index
        for n, out in enumerate(nest.outputs)
    ]
    nest = replace(
        nest,
        outputs=tuple(
            replace(o, index=index) for o, index in zip(nest.outputs, stores, strict=True)
        ),
    ).map(named)
    size = f"{outer.extent.value}+{inner.extent.value}"

    def longer(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        return tuple(
            Loop(loop.axis, arg(size)) if loop == outer else loop
            for loop in loops
            if loop.axis != inner.axis
        )

    nest = replace(
        nest,
        axes=longer(nest.axes),
        reduce=longer(nest.reduce),
        inputs=tuple(Operand(view.type.dtype, view.type.rank) for view in inputs),
        outputs=tuple(
            Output(Operand(o.operand.dtype, len(o.index)), o.value, o.index) for o in nest.outputs
        ),
    )
    sizes = [call.args[loop.extent.value] for loop in (outer, inner)]
    return replace(
        call,
        nest=nest,
        inputs=inputs,
        outputs=outputs,
        args={**call.args, size: sizes[0] * sizes[1]},
    )


def _size(call: NestCall, loop: Loop) -> int | None:
    return call.args[loop.extent.value] if loop.extent.op == "arg" else None


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
