"""Updates of single elements and of rows, at places that other operands tell."""

from collections.abc import Callable, Iterable, Sequence
from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.graph import Attributes
from webkiln.ir.solve import nominal_size
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import BOOL, INT, Expr, apply, cast, const, select
from webkiln.nest.nest import Accumulator
from webkiln.nest.procedure import ProcedureWriter
from webkiln.ops.index import X, check_indices, element_index, wrap_negative
from webkiln.ops.operator import REQUIRED, Case, Operator, define
from webkiln.ops.order import ZERO, writer
from webkiln.ops.reduce import check_axes

COMBINED: dict[str, Callable[..., None]] = {
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}
REDUCTIONS = ("none", *COMBINED)
COMPARED = 1 << 24
"""How many comparisons of an element with an update are worth staying off the CPU."""


def _scatter_reference(reduction: str, x: Array, places: Sequence[Array], updates: Array) -> Array:
    """Updates in order; those outside are dropped."""
    out = x.astype(np.float64) if x.dtype.kind == "f" else x.copy()
    counted = [
        np.where(place < 0, place + size, place).astype(np.int64)
        for place, size in zip(places, x.shape, strict=False)
    ]
    inside = np.logical_and.reduce(
        [(place >= 0) & (place < size) for place, size in zip(counted, x.shape, strict=False)]
    )
    chosen = tuple(np.broadcast_to(place, inside.shape)[inside] for place in counted)
    if reduction == "none":
        for number, value in enumerate(updates[inside]):
            out[tuple(place[number] for place in chosen)] = value
    else:
        COMBINED[reduction](out, chosen, updates[inside])
    return out


def _scatter_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """One update after another."""
    return 64 * inputs[1].size + _scatter_scratch(attrs, inputs, outputs)


def _scatter_scratch(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """Where each update belongs, along every axis."""
    return 4 * (inputs[0].rank + 1) * (inputs[1].size + inputs[2].size)


def _check_scatter(attrs: Attributes, types: Sequence[Type]) -> None:
    x, indices, updates = types
    check_indices(indices)
    if attrs["reduction"] not in REDUCTIONS or x.dtype != updates.dtype:
        raise ShapeError(
            f"x is {x}, updates are {updates}, reduction is {attrs['reduction']!r}; expected one"
            f" dtype and one of {', '.join(REDUCTIONS)}"
        )


def _scatter_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    _check_scatter(attrs, types)
    x, indices, updates = types
    check_axes((attrs["axis"],), x.rank)
    if indices.shape != updates.shape or indices.rank != x.rank:
        raise ShapeError(
            f"indices {indices} and updates {updates} need one shape, and as many axes as {x}"
        )
    return (x,)


def _scatter_elements_reference(
    attrs: Attributes, x: Array, indices: Array, updates: Array
) -> tuple[Array, ...]:
    return (_scatter_reference(attrs["reduction"], x, element_index(attrs, indices), updates),)


def _store_scattered(
    low: Lowering,
    nest: NestBuilder,
    reduction: str,
    match: Expr,
    number: Expr,
    index: Sequence[Expr],
    update: Callable[[Expr, Expr], Expr],
) -> None:
    """Combine an element of x with the updates, counted by the reduction loop as `number`, that
    `match` it. `update(number, guard)` loads one.
    """
    x, out = low.inputs[0], low.outputs[0]
    kept = nest.load(x, index)
    if reduction == "none":
        last = nest.accumulate("max", select(match, number, const(-1, INT)))
        found = apply("ge", last, const(0, INT))
        value = select(found, update(last, found), kept)
    else:
        combiner = "sum" if reduction == "add" else "prod" if reduction == "mul" else reduction
        given = update(number, match)
        total = nest.accumulate(
            combiner, select(match, given, Accumulator(combiner, given).identity)
        )
        value = apply(reduction, kept, total)
    nest.store(out, value)
    nest.done()


def _combined(reduction: str, kept: Expr, given: Expr) -> Expr:
    return given if reduction == "none" else apply(reduction, kept, given)


def _one_by_one(
    low: Lowering,
    attrs: Attributes,
    place: Callable[[ProcedureWriter, Expr], tuple[Expr, Expr]],
    count: int,
    inner: int,
) -> None:
    """Store the updates in order, on the CPU: rows of `inner` elements, of which `place` tells
    where the nth goes and whether that is inside.
    """
    inputs, out = [low.materialize(view) for view in low.inputs], low.outputs
    w = writer(inputs, out)
    with w.repeat(w.number(out[0].type.size)) as i:
        w.store(0, i, w.load(0, i))
    length = w.number(inner)
    with w.repeat(w.number(count)) as row:
        start, inside = place(w, row)
        with w.when(inside), w.repeat(length) as lane:
            at = w.variable(start * length + lane)
            w.store(
                0, at, _combined(attrs["reduction"], w.load(3, at), w.load(2, row * length + lane))
            )
    low.host(w, inputs, out)


def _counted(w: ProcedureWriter, at: Expr, size: int) -> Expr:
    """The index at a place of the indices, those below 0 counted from the end."""
    raw = w.variable(cast(w.load(1, at), INT))
    return w.variable(select(apply("lt", raw, ZERO), raw + w.number(size), raw))


def _is_inside(w: ProcedureWriter, index: Expr, size: int) -> Expr:
    return apply("and", apply("ge", index, ZERO), apply("lt", index, w.number(size)))


def _lower_scatter_elements(low: Lowering, attrs: Attributes) -> None:
    """For each element, the updates along the axis that go there; where these are many, each update
    by itself.
    """
    x, indices, updates = low.inputs
    axis = attrs["axis"]
    if nominal_size(x.type.size * indices[axis]) > COMPARED:
        _one_by_one(
            low,
            attrs,
            lambda w, number: _element_place(w, number, x.shape, indices.shape, axis),
            indices.type.size,
            1,
        )
        return
    nest = low.nest()
    index = list(nest.axes(x.shape))
    number = nest.reduce(indices[axis])
    place = list(index)
    place[axis] = number
    guard: Expr | None = None
    for other, size in enumerate(indices.shape):
        if other != axis and size != x[other]:
            inside = nest.in_bounds(index[other], size)
            guard = inside if guard is None else apply("and", guard, inside)
    match = apply("eq", wrap_negative(nest, nest.load(indices, place, guard), x[axis]), index[axis])
    if guard is not None:
        match = apply("and", guard, match)

    def update(which: Expr, found: Expr) -> Expr:
        return nest.load(
            updates, [which if d == axis else item for d, item in enumerate(place)], found
        )

    _store_scattered(low, nest, attrs["reduction"], match, number, index, update)


def _element_place(
    w: ProcedureWriter, number: Expr, shape: Sequence[int], given: Sequence[int], axis: int
) -> tuple[Expr, Expr]:
    """Where the update of that row-major number goes."""
    rest, place, stride, inside = (
        w.variable(number),
        w.variable(ZERO),
        w.variable(const(1, INT)),
        w.variable(const(1, BOOL)),
    )
    for d in reversed(range(len(shape))):
        extent = w.number(given[d])
        quotient = w.variable(apply("idiv", rest, extent))
        own = rest - quotient * extent
        index = _counted(w, number, shape[d]) if d == axis else w.variable(own)
        w.set(inside, apply("and", inside, _is_inside(w, index, shape[d])))
        w.set(place, place + index * stride)
        w.set(stride, stride * w.number(shape[d]))
        w.set(rest, quotient)
    return place, inside


def _scatter_elements_cases() -> Iterable[Case]:
    x = X[0] - 5
    indices = np.array([[0, -1, 1], [2, 0, 1]], np.int64)
    updates = np.array([[1.5, -2, 3], [4, 5, -6.5]], np.float32)
    for reduction in REDUCTIONS:
        for axis in (0, 1):
            yield Case(
                (x, indices, updates),
                {"axis": axis, "reduction": reduction},
                name=f"{reduction} {axis}",
            )
    many = np.random.default_rng(12).integers(-6100, 6100, (3000, 1))
    values = np.linspace(-1, 1, 3000, dtype=np.float32)[:, None]
    for reduction in ("none", "add"):
        yield Case(
            (np.zeros((6000, 2), np.float32), many, values),
            {"axis": 0, "reduction": reduction},
            name=f"many, {reduction}",
        )


define(
    Operator(
        "ScatterElements",
        _scatter_types,
        _scatter_elements_reference,
        _lower_scatter_elements,
        {"axis": REQUIRED, "reduction": "none"},
        (3, 3),
        _scatter_elements_cases,
        work=_scatter_work,
        scratch=_scatter_scratch,
    )
)


def _scatter_nd_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    _check_scatter(attrs, types)
    x, indices, updates = types
    if (
        not indices.rank
        or indices.shape[-1] > x.rank
        or updates.shape != (*indices.shape[:-1], *x.shape[indices.shape[-1] :])
    ):
        raise ShapeError(f"indices {indices} and updates {updates} do not fit {x}")
    return (x,)


def _scatter_nd_reference(
    attrs: Attributes, x: Array, indices: Array, updates: Array
) -> tuple[Array, ...]:
    return (_scatter_reference(attrs["reduction"], x, list(np.moveaxis(indices, -1, 0)), updates),)


def _lower_scatter_nd(low: Lowering, attrs: Attributes) -> None:
    """For each element, the updates whose index is its own; where these are many, each update by
    itself.
    """
    x, indices, updates = low.inputs
    depth, count = indices.shape[-1], prod(indices.shape[:-1])
    if nominal_size(x.type.size * count) > COMPARED:
        _one_by_one(
            low,
            attrs,
            lambda w, row: _row_place(w, row, x.shape[:depth]),
            count,
            prod(x.shape[depth:]),
        )
        return
    rows, values = indices.reshaped((count, depth)), updates.reshaped((count, *x.shape[depth:]))
    nest = low.nest()
    index = list(nest.axes(x.shape))
    number = nest.reduce(count)
    match = const(1, "bool")
    for position in range(depth):
        place = wrap_negative(nest, nest.load(rows, (number, nest.number(position))), x[position])
        equal = apply("eq", place, index[position])
        match = equal if position == 0 else apply("and", match, equal)

    def update(which: Expr, found: Expr) -> Expr:
        return nest.load(values, [which, *index[depth:]], found)

    _store_scattered(low, nest, attrs["reduction"], match, number, index, update)


def _row_place(w: ProcedureWriter, row: Expr, sizes: Sequence[int]) -> tuple[Expr, Expr]:
    """Which of the rows that the leading `sizes` count an update is for."""
    place, inside = w.variable(ZERO), w.variable(const(1, BOOL))
    for position, size in enumerate(sizes):
        index = _counted(w, row * len(sizes) + position, size)
        w.set(inside, apply("and", inside, _is_inside(w, index, size)))
        w.set(place, place * w.number(size) + index)
    return place, inside


def _scatter_nd_cases() -> Iterable[Case]:
    rng = np.random.default_rng(11)
    for reduction in REDUCTIONS:
        rows = np.array([[1], [0], [1]], np.int64)
        yield Case(
            (X, rows, rng.standard_normal((3, 3, 4)).astype(np.float32)),
            {"reduction": reduction},
            name=f"{reduction} rows",
        )
    cells = np.array([[0, 2, 3], [1, -1, 0]], np.int32)
    yield Case((X, cells, np.array([7, -8], np.float32)), name="cells")
    x = rng.standard_normal((40, 50, 6)).astype(np.float32)
    many = np.stack([rng.integers(-41, 41, 1500), rng.integers(0, 50, 1500)], axis=1)
    for reduction in ("none", "max"):
        yield Case(
            (x, many, rng.standard_normal((1500, 6)).astype(np.float32)),
            {"reduction": reduction},
            name=f"many, {reduction}",
        )


define(
    Operator(
        "ScatterND",
        _scatter_nd_types,
        _scatter_nd_reference,
        _lower_scatter_nd,
        {"reduction": "none"},
        (3, 3),
        _scatter_nd_cases,
        work=_scatter_work,
        scratch=_scatter_scratch,
    )
)
