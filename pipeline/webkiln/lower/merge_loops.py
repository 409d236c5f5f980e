"""Merge two loops into one."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from webkiln.ir.dim import Size
from webkiln.nest.affine import step
from webkiln.nest.expr import INT, Expr, arg, axis, const, make, rebuild, walk
from webkiln.nest.nest import Loop, Nest, Operand, Output, load_index
from webkiln.nest.steps import NestCall, View

Access = tuple[tuple[str, int], View, tuple[Expr, ...]]
"""An access to an operand: its (role, position), its view and the index."""
Quotient = Callable[[Expr, Expr], Expr]
"""Divides a non-negative integer by a positive one."""


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
    """One loop over both, if every access that moves along them moves along a single row: its index
    is (x + outer, inner) in dimensions (d, d + 1), and dimension d + 1 is as long as the inner
    loop. The access becomes x * length + merged. None for any other access, or if an expression
    uses a loop index as a value.
    """
    row_dims = _row_dims(call, outer, inner)
    if (
        row_dims is None
        or None in row_dims.values()
        or _mentioned_outside_indices(call, {axis(outer.axis), axis(inner.axis)})
    ):
        return None
    return _merge(
        call,
        outer,
        inner,
        {operand: d for operand, d in row_dims.items() if d is not None},
        lambda expr: None,
    )


def merge_by_division(
    call: NestCall, outer: Loop, inner: Loop, quotient: Quotient
) -> NestCall | None:
    """One loop over two parallel ones. Accesses that do not move along a single row recompute both
    indices by division with `quotient`.
    """
    row_dims = _row_dims(call, outer, inner)
    if row_dims is None:
        return None
    flat_index = axis(outer.axis)
    outer_index = quotient(flat_index, inner.extent)

    def substitute(expr: Expr) -> Expr | None:
        if expr is axis(inner.axis):
            return flat_index - outer_index * inner.extent
        return outer_index if expr is flat_index else None

    return _merge(
        call,
        outer,
        inner,
        {operand: d for operand, d in row_dims.items() if d is not None},
        substitute,
    )


def _row_dims(call: NestCall, outer: Loop, inner: Loop) -> dict[tuple[str, int], int | None] | None:
    """Maps each operand that moves along the loops to the dimension d for which (d, d + 1) form one
    row, or to None if there is none. Returns None if the extent of a loop is no argument.
    """
    a, b = axis(outer.axis), axis(inner.axis)
    outer_size, inner_size = _size(call, outer), _size(call, inner)
    if outer_size is None or inner_size is None:
        return None
    row_dims: dict[tuple[str, int], int | None] = {}
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
        row_dims[operand] = d if fits and row_dims.get(operand, d) == d else None
    return row_dims


def _merge(
    call: NestCall,
    outer: Loop,
    inner: Loop,
    row_dims: dict[tuple[str, int], int],
    substitute: Callable[[Expr], Expr | None],
) -> NestCall:
    """Index `row_dims` by the merged loop, which takes the name of the outer one. Elsewhere
    `substitute` replaces the axes.
    """
    merged = axis(f"{outer.axis}+{inner.axis}")

    def named(expr: Expr) -> Expr | None:
        return axis(outer.axis) if expr is merged else substitute(expr)

    def merged_views(role: str, views: tuple[View, ...]) -> tuple[View, ...]:
        return tuple(
            _with_row(view, row_dims[role, n]) if (role, n) in row_dims else view
            for n, view in enumerate(views)
        )

    inputs, outputs = merged_views("input", call.inputs), merged_views("output", call.outputs)
    nest = _merged_indices(call.nest, outer, inner, row_dims, merged).map(named)
    size = f"{outer.extent.value}+{inner.extent.value}"

    def merged_loops(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        return tuple(
            Loop(loop.axis, arg(size)) if loop == outer else loop
            for loop in loops
            if loop.axis != inner.axis
        )

    nest = replace(
        nest,
        axes=merged_loops(nest.axes),
        reduce=merged_loops(nest.reduce),
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


def _merged_indices(
    nest: Nest, outer: Loop, inner: Loop, row_dims: dict[tuple[str, int], int], merged: Expr
) -> Nest:
    """The nest, with the rows of operands indexed by `merged`."""
    a, b = axis(outer.axis), axis(inner.axis)

    def at(index: tuple[Expr, ...], operand: tuple[str, int]) -> tuple[Expr, ...]:
        if operand not in row_dims:
            return index
        d = row_dims[operand]
        start = rebuild(index[d], lambda e: const(0, INT) if e is a else None)
        along = merged if index[d + 1] is b else index[d + 1]
        return (*index[:d], start * inner.extent + along, *index[d + 2 :])

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load" or ("input", expr.value[0]) not in row_dims:
            return None
        index = load_index(expr)
        args = (*at(index, ("input", expr.value[0])), *expr.args[len(index) :])
        return make("load", expr.type, args, expr.value)

    changed = nest.map(change)
    outputs = (
        replace(out, index=at(out.index, ("output", n))) for n, out in enumerate(changed.outputs)
    )
    return replace(changed, outputs=tuple(outputs))


def _size(call: NestCall, loop: Loop) -> Size | None:
    return call.args[loop.extent.value] if loop.extent.op == "arg" else None


def _with_row(view: View, d: int) -> View:
    """The view with dimensions d and d + 1 merged."""
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
    """The nodes used as values, not in an index."""
    visited: set[Expr] = set()
    stack = list(roots)
    while stack:
        expr = stack.pop()
        if expr not in visited:
            visited.add(expr)
            stack += () if expr.op == "load" else expr.args
    return visited
