"""Scattering of elements and slices to indices that are data.

Negative indices count from the end; updates at out-of-bounds indices are dropped.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size, known
from webkiln.ir.solve import nominal_size
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import BOOL, INT, Expr, apply, cast, const, select
from webkiln.nest.nest import Accumulator
from webkiln.nest.procedure import ProcedureWriter
from webkiln.ops.index import X, check_indices, element_index, wrap_negative
from webkiln.ops.operator import Case, Cost, Operator, define
from webkiln.ops.reduce import check_axes
from webkiln.ops.sorting import ZERO, writer

UFUNCS: dict[str, Callable[..., None]] = {
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}
REDUCTIONS = ("none", *UFUNCS)
MAX_COMPARISONS = 1 << 24
"""Up to this number of comparisons of elements with updates, each element searches its updates in a
nest; beyond it, a procedure on the CPU applies the updates one by one.
"""


def _scatter_reference(reduction: str, x: Array, index: Sequence[Array], updates: Array) -> Array:
    """Apply the updates in order."""
    out = x.astype(np.float64) if x.dtype.kind == "f" else x.copy()
    wrapped = [
        np.where(item < 0, item + size, item).astype(np.int64)
        for item, size in zip(index, x.shape, strict=False)
    ]
    in_bounds = np.logical_and.reduce(
        [(item >= 0) & (item < size) for item, size in zip(wrapped, x.shape, strict=False)]
    )
    targets = tuple(np.broadcast_to(item, in_bounds.shape)[in_bounds] for item in wrapped)
    if reduction == "none":
        for number, value in enumerate(updates[in_bounds]):
            out[tuple(item[number] for item in targets)] = value
    else:
        UFUNCS[reduction](out, targets, updates[in_bounds])
    return out


def _scatter_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """One update at a time."""
    return 64 * inputs[1].size + _scatter_scratch(attrs, inputs, outputs)


def _scatter_scratch(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """One index per axis for each update."""
    return 4 * (inputs[0].rank + 1) * (inputs[1].size + inputs[2].size)


def _check_scatter(reduction: str, types: Sequence[Type]) -> None:
    x, indices, updates = types
    check_indices(indices)
    if reduction not in REDUCTIONS or x.dtype != updates.dtype:
        raise ShapeError(
            f"x is {x}, updates are {updates}, reduction is {reduction!r}; expected the"
            f" same dtype and one of {', '.join(REDUCTIONS)}"
        )


@dataclass(frozen=True, slots=True)
class ScatterElements(Attributes):
    axis: int
    reduction: str = "none"


def _scatter_types(attrs: ScatterElements, types: Sequence[Type]) -> tuple[Type, ...]:
    _check_scatter(attrs.reduction, types)
    x, indices, updates = types
    check_axes((attrs.axis,), x.rank)
    if indices.shape != updates.shape or indices.rank != x.rank:
        raise ShapeError(
            f"indices are {indices}, updates are {updates}; expected the same shape, and the same"
            f" number of axes as {x}"
        )
    return (x,)


def _scatter_elements_reference(
    attrs: ScatterElements, x: Array, indices: Array, updates: Array
) -> tuple[Array, ...]:
    return (_scatter_reference(attrs.reduction, x, element_index(attrs.axis, indices), updates),)


def _store_scattered(
    low: Lowering,
    nest: NestBuilder,
    reduction: str,
    match: Expr,
    number: Expr,
    index: Sequence[Expr],
    update: Callable[[Expr, Expr], Expr],
) -> None:
    """Combine an element of x with the updates that `match` it. The reduction loop `number` numbers
    the updates; `update(number, guard)` loads one.
    """
    x, out = low.inputs[0], low.outputs[0]
    original = nest.load(x, index)
    if reduction == "none":
        last = nest.accumulate("max", select(match, number, const(-1, INT)))
        has_update = apply("ge", last, const(0, INT))
        value = select(has_update, update(last, has_update), original)
    else:
        combiner = "sum" if reduction == "add" else "prod" if reduction == "mul" else reduction
        operand = update(number, match)
        total = nest.accumulate(
            combiner, select(match, operand, Accumulator(combiner, operand).identity)
        )
        value = apply(reduction, original, total)
    nest.store(out, value)
    nest.done()


def _combine(reduction: str, original: Expr, update: Expr) -> Expr:
    return update if reduction == "none" else apply(reduction, original, update)


def _apply_one_by_one(
    low: Lowering,
    reduction: str,
    target: Callable[[ProcedureWriter, Expr], tuple[Expr, Expr]],
    count: Size,
    inner: Size,
) -> None:
    """Append a procedure that applies `count` updates in order, each a row of `inner` elements.
    `target(w, n)` returns the row of x for update n, and whether it is in bounds.
    """
    inputs, out = [low.materialize(view) for view in low.inputs], low.outputs
    w = writer(inputs, out)
    with w.repeat(w.number(out[0].type.size)) as i:
        w.store(0, i, w.load(0, i))
    length = w.number(inner)
    with w.repeat(w.number(count)) as row:
        start, in_bounds = target(w, row)
        with w.when(in_bounds), w.repeat(length) as lane:
            offset = w.variable(start * length + lane)
            update = _combine(reduction, w.load(3, offset), w.load(2, row * length + lane))
            w.store(0, offset, update)
    low.host(w, inputs, out)


def _load_index(w: ProcedureWriter, offset: Expr, size: Size) -> Expr:
    """Load an index, and add the size to negative ones."""
    raw = w.variable(cast(w.load(1, offset), INT))
    return w.variable(select(apply("lt", raw, ZERO), raw + w.number(size), raw))


def _is_in_bounds(w: ProcedureWriter, index: Expr, size: Size) -> Expr:
    return apply("and", apply("ge", index, ZERO), apply("lt", index, w.number(size)))


def _lower_scatter_elements(low: Lowering, attrs: ScatterElements) -> None:
    """Each element searches its updates along the axis. With many updates, a procedure applies them
    one by one.
    """
    x, indices, updates = low.inputs
    axis = attrs.axis
    if nominal_size(x.type.size * indices[axis]) > MAX_COMPARISONS:
        _apply_one_by_one(
            low,
            attrs.reduction,
            lambda w, number: _target_element(w, number, x.shape, indices.shape, axis),
            indices.type.size,
            1,
        )
        return
    nest = low.nest()
    index = list(nest.axes(x.shape))
    number = nest.reduce(indices[axis])
    position = list(index)
    position[axis] = number
    guard: Expr | None = None
    for other, size in enumerate(indices.shape):
        if other != axis and size != x[other]:
            in_bounds = nest.in_bounds(index[other], size)
            guard = in_bounds if guard is None else apply("and", guard, in_bounds)
    target = wrap_negative(nest, nest.load(indices, position, guard), x[axis])
    match = apply("eq", target, index[axis])
    if guard is not None:
        match = apply("and", guard, match)

    def update(number: Expr, guard: Expr) -> Expr:
        source = [number if d == axis else item for d, item in enumerate(position)]
        return nest.load(updates, source, guard)

    _store_scattered(low, nest, attrs.reduction, match, number, index, update)


def _target_element(
    w: ProcedureWriter, number: Expr, shape: Sequence[Size], updates: Sequence[Size], axis: int
) -> tuple[Expr, Expr]:
    """The offset of the element that the update with a row-major number replaces, and whether it is
    in bounds. `updates` is the shape of the updates.
    """
    rest, target, stride, in_bounds = (
        w.variable(number),
        w.variable(ZERO),
        w.variable(const(1, INT)),
        w.variable(const(1, BOOL)),
    )
    for d in reversed(range(len(shape))):
        extent = w.number(updates[d])
        quotient = w.variable(apply("idiv", rest, extent))
        position = rest - quotient * extent
        index = _load_index(w, number, shape[d]) if d == axis else w.variable(position)
        w.set(in_bounds, apply("and", in_bounds, _is_in_bounds(w, index, shape[d])))
        w.set(target, target + index * stride)
        w.set(stride, stride * w.number(shape[d]))
        w.set(rest, quotient)
    return target, in_bounds


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


SCATTER_ELEMENTS = define(
    Operator(
        "ScatterElements",
        _scatter_types,
        _scatter_elements_reference,
        _lower_scatter_elements,
        ScatterElements,
        (3, 3),
        _scatter_elements_cases,
        cost=Cost(_scatter_work, _scatter_scratch),
    )
)
"""Replaces elements of x. Inputs: x, indices, updates. An update replaces the element at its own
position, with the position on `axis` replaced by its index. With a `reduction`, it is combined with
the element instead.
"""


@dataclass(frozen=True, slots=True)
class ScatterND(Attributes):
    reduction: str = "none"


def _scatter_nd_types(attrs: ScatterND, types: Sequence[Type]) -> tuple[Type, ...]:
    _check_scatter(attrs.reduction, types)
    x, indices, updates = types
    depth = known(indices.shape[-1], "the number of indices of an element") if indices.rank else 0
    if (
        not indices.rank
        or depth > x.rank
        or updates.shape != (*indices.shape[:-1], *x.shape[depth:])
    ):
        raise ShapeError(f"indices {indices} and updates {updates} do not match {x}")
    return (x,)


def _scatter_nd_reference(
    attrs: ScatterND, x: Array, indices: Array, updates: Array
) -> tuple[Array, ...]:
    return (_scatter_reference(attrs.reduction, x, list(np.moveaxis(indices, -1, 0)), updates),)


def _lower_scatter_nd(low: Lowering, attrs: ScatterND) -> None:
    """Each element searches its updates. With many updates, a procedure applies them one by one."""
    x, indices, updates = low.inputs
    depth = known(indices.shape[-1], "the number of indices of an element")
    count, row_size = prod(indices.shape[:-1]), prod(x.shape[depth:])
    if nominal_size(x.type.size * count) > MAX_COMPARISONS:
        _apply_one_by_one(
            low,
            attrs.reduction,
            lambda w, row: _target_row(w, row, x.shape[:depth]),
            count,
            row_size,
        )
        return
    rows, values = indices.reshaped((count, depth)), updates.reshaped((count, *x.shape[depth:]))
    nest = low.nest()
    index = list(nest.axes(x.shape))
    number = nest.reduce(count)
    match = const(1, "bool")
    for position in range(depth):
        target = wrap_negative(nest, nest.load(rows, (number, nest.number(position))), x[position])
        equal = apply("eq", target, index[position])
        match = equal if position == 0 else apply("and", match, equal)

    def update(number: Expr, guard: Expr) -> Expr:
        return nest.load(values, [number, *index[depth:]], guard)

    _store_scattered(low, nest, attrs.reduction, match, number, index, update)


def _target_row(w: ProcedureWriter, row: Expr, sizes: Sequence[Size]) -> tuple[Expr, Expr]:
    """The row of x, over the leading axes of the given sizes, that an update replaces, and whether
    it is in bounds.
    """
    target, in_bounds = w.variable(ZERO), w.variable(const(1, BOOL))
    for position, size in enumerate(sizes):
        index = _load_index(w, row * len(sizes) + position, size)
        w.set(in_bounds, apply("and", in_bounds, _is_in_bounds(w, index, size)))
        w.set(target, target * w.number(size) + index)
    return target, in_bounds


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


SCATTER_ND = define(
    Operator(
        "ScatterND",
        _scatter_nd_types,
        _scatter_nd_reference,
        _lower_scatter_nd,
        ScatterND,
        (3, 3),
        _scatter_nd_cases,
        cost=Cost(_scatter_work, _scatter_scratch),
    )
)
"""Replaces slices of x. Inputs: x, indices, updates. The last axis of indices [..., depth] holds
indices into the leading `depth` axes of x. With a `reduction`, updates are combined with the slices
instead.
"""
