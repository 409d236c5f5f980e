"""Index operators: ranges and sizes as tensors, padding from the input, and gathering by indices.

Indices have any integer dtype. Negative ones count from the end; out-of-bounds indices read 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Shape, Size, known, known_shape
from webkiln.ir.types import Array, Type, is_integer
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import INT, Expr, apply, cast, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.ops.budget import elements
from webkiln.ops.operator import Case, Cost, Operator, define, linear, per_element
from webkiln.ops.reduce import check_axes

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@dataclass(frozen=True, slots=True)
class Iota(Attributes):
    size: Size
    dtype: str


def _lower_iota(low: Lowering, attrs: Iota) -> None:
    nest = low.nest()
    (index,) = nest.axes(low.outputs[0].shape)
    nest.store(low.outputs[0], cast(index, COMPUTE[attrs.dtype]))
    nest.done()


IOTA = define(
    Operator(
        "Iota",
        lambda attrs, types: (Type(attrs.dtype, (attrs.size,)),),
        lambda attrs: (np.arange(attrs.size),),
        _lower_iota,
        Iota,
        (0, 0),
        lambda: [Case((), {"size": 7, "dtype": dtype}) for dtype in ("float32", "int32", "int64")],
    )
)
"""The vector 0, 1, ... `size` - 1 of dtype `dtype`."""


@dataclass(frozen=True, slots=True)
class Sizes(Attributes):
    sizes: Shape
    dtype: str


def _lower_sizes(low: Lowering, attrs: Sizes) -> None:
    """One nest per size; all share a kernel."""
    for position, size in enumerate(attrs.sizes):
        nest = low.nest()
        nest.store(
            low.outputs[0],
            cast(nest.argument(size), COMPUTE[attrs.dtype]),
            (nest.argument(position),),
        )
        nest.done()


SIZES = define(
    Operator(
        "Sizes",
        lambda attrs, types: (Type(attrs.dtype, (len(attrs.sizes),)),),
        lambda attrs: (np.array(attrs.sizes),),
        _lower_sizes,
        Sizes,
        (0, 0),
        lambda: [
            Case((), {"sizes": (4, 1, 1000), "dtype": dtype}) for dtype in ("int64", "float32")
        ],
    )
)
"""The vector of `sizes`, static or symbolic, of dtype `dtype`."""

PADDING = ("edge", "reflect", "wrap")


@dataclass(frozen=True, slots=True)
class PadFrom(Attributes):
    low: Shape
    high: Shape
    mode: str


def _pad_types(attrs: PadFrom, types: Sequence[Type]) -> tuple[Type, ...]:
    if (
        attrs.mode not in PADDING
        or len(attrs.low) != types[0].rank
        or len(attrs.high) != types[0].rank
    ):
        raise ShapeError(
            f"mode is {attrs.mode!r}, low {list(attrs.low)} and high {list(attrs.high)};"
            f" expected one of {', '.join(PADDING)}, and one entry for each axis of {types[0]}"
        )
    sizes = zip(types[0].shape, attrs.low, attrs.high, strict=True)
    return (Type(types[0].dtype, tuple(size + low + high for size, low, high in sizes)),)


def _pad_reference(attrs: PadFrom, x: Array) -> tuple[Array, ...]:
    low, high = (known_shape(pads, "the padding") for pads in (attrs.low, attrs.high))
    pairs = list(zip(low, high, strict=True))
    return (np.pad(x, pairs, mode=attrs.mode),)  # type: ignore[call-overload]


def _lower_pad(low: Lowering, attrs: PadFrom) -> None:
    x, out = low.inputs[0], low.outputs[0]
    nest = low.nest()
    index = list(nest.axes(out.shape))
    for axis, (size, before, after) in enumerate(zip(x.shape, attrs.low, attrs.high, strict=True)):
        if before or after:
            index[axis] = _source(nest, index[axis] - nest.number(before), size, attrs.mode)
    nest.store(out, nest.load(x, index))
    nest.done()


def _source(nest: NestBuilder, index: Expr, size: Size, mode: str) -> Expr:
    """The index in bounds whose element pads an index out of bounds."""
    if mode == "edge":
        return apply("min", apply("max", index, const(0, INT)), nest.argument(size - 1))
    if mode == "wrap":
        return apply("floormod", index, nest.argument(size))
    offset = apply("floormod", index, nest.argument(2 * size - 2))
    return apply("min", offset, nest.argument(2 * size - 2) - offset)


PAD_FROM = define(
    Operator(
        "PadFrom",
        _pad_types,
        _pad_reference,
        _lower_pad,
        PadFrom,
        cases=lambda: [
            Case((X,), {"low": (0, 4, 2), "high": (1, 0, 3), "mode": mode}, name=mode)
            for mode in PADDING
        ],
        cost=Cost(per_element(8), linear),
    )
)


"""Pads x with its own elements, by `low` and `high` elements per axis. Attributes: `mode` is that
of np.pad, one of `PADDING`.
"""


def wrap_negative(nest: NestBuilder, raw: Expr, size: Size) -> Expr:
    """Convert an index to i32, and add the size to negative ones."""
    index = cast(raw, INT)
    return select(apply("lt", index, const(0, INT)), index + nest.number(size), index)


def check_indices(indices: Type) -> None:
    if not is_integer(indices.dtype):
        raise ShapeError(f"indices are {indices}, expected integers")


def _index_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """One index per axis for each element."""
    return 4 * (inputs[0].rank + 1) * elements([*inputs, *outputs])


@dataclass(frozen=True, slots=True)
class GatherElements(Attributes):
    axis: int


def _elements_types(attrs: GatherElements, types: Sequence[Type]) -> tuple[Type, ...]:
    x, indices = types
    check_indices(indices)
    check_axes((attrs.axis,), x.rank)
    if indices.rank != x.rank:
        raise ShapeError(f"indices are {indices}, expected the same number of axes as {x}")
    return (Type(x.dtype, indices.shape),)


def _read(x: Array, index: Sequence[Array]) -> Array:
    """x[index]; negative indices count from the end, out-of-bounds ones read 0."""
    wrapped = [
        np.where(item < 0, item + size, item)
        for item, size in zip((item.astype(np.int64) for item in index), x.shape, strict=False)
    ]
    sizes = x.shape[: len(wrapped)]
    in_bounds = np.logical_and.reduce(
        [(item >= 0) & (item < size) for item, size in zip(wrapped, sizes, strict=True)]
    )
    values = x[tuple(np.clip(item, 0, size - 1) for item, size in zip(wrapped, sizes, strict=True))]
    return np.where(
        np.reshape(in_bounds, (*np.shape(in_bounds), *[1] * (values.ndim - np.ndim(in_bounds)))),
        values,
        np.zeros((), x.dtype),
    )


def element_index(axis: int, indices: Array) -> list[Array]:
    """The index of each element: `indices` on `axis`, its own position on the others."""
    return [
        indices if dimension == axis else np.asarray(position)
        for dimension, position in enumerate(np.indices(indices.shape))
    ]


def _elements_reference(attrs: GatherElements, x: Array, indices: Array) -> tuple[Array, ...]:
    return (_read(x, element_index(attrs.axis, indices)),)


def _lower_elements(low: Lowering, attrs: GatherElements) -> None:
    x, indices = low.inputs
    nest = low.nest()
    index = list(nest.axes(indices.shape))
    source = wrap_negative(nest, nest.load(indices, index), x[attrs.axis])
    index[attrs.axis] = source
    nest.store(low.outputs[0], nest.load(x, index, nest.in_bounds(source, x[attrs.axis])))
    nest.done()


GATHER_ELEMENTS = define(
    Operator(
        "GatherElements",
        _elements_types,
        _elements_reference,
        _lower_elements,
        GatherElements,
        (2, 2),
        lambda: [
            Case((X, np.array([[[0, 2, -1, 1]], [[1, 1, 0, 9]]], np.int32)), {"axis": 1}),
            Case((X[0], np.array([[1, -1], [0, 3], [2, 2]], np.int64)), {"axis": 1}),
        ],
        cost=Cost(_index_work, _index_work),
    )
)
"""Reads one element of x per element of `indices`, which replaces the position on `axis`; x and
indices have the same rank.
"""


@dataclass(frozen=True, slots=True)
class GatherND(Attributes):
    batch: int = 0


def _nd_types(attrs: GatherND, types: Sequence[Type]) -> tuple[Type, ...]:
    x, indices = types
    check_indices(indices)
    batch = attrs.batch
    depth = known(indices.shape[-1], "the number of indices of an element") if indices.rank else 0
    if (
        not indices.rank
        or batch >= indices.rank
        or batch + depth > x.rank
        or x.shape[:batch] != indices.shape[:batch]
    ):
        raise ShapeError(f"indices {indices} do not match {x} with {batch} batch axes")
    return (Type(x.dtype, (*indices.shape[:-1], *x.shape[batch + depth :])),)


def _nd_reference(attrs: GatherND, x: Array, indices: Array) -> tuple[Array, ...]:
    leading = np.indices(indices.shape[:-1]) if indices.ndim > 1 else np.zeros((0,), int)
    index = [*leading[: attrs.batch], *np.moveaxis(indices, -1, 0)]
    return (_read(x, index) if index else np.broadcast_to(x, (*indices.shape[:-1], *x.shape)),)


def _lower_nd(low: Lowering, attrs: GatherND) -> None:
    x, indices = low.inputs
    depth = known(indices.shape[-1], "the number of indices of an element")
    batch, lead = attrs.batch, indices.type.rank - 1
    nest = low.nest()
    index = list(nest.axes(low.outputs[0].shape))
    guard: Expr | None = None
    sources: list[Expr] = []
    for position in range(depth):
        size = x[batch + position]
        raw = nest.load(indices, [*index[:lead], nest.number(position)])
        source = wrap_negative(nest, raw, size)
        in_bounds = nest.in_bounds(source, size)
        guard = in_bounds if guard is None else apply("and", guard, in_bounds)
        sources.append(source)
    nest.store(low.outputs[0], nest.load(x, [*index[:batch], *sources, *index[lead:]], guard))
    nest.done()


GATHER_ND = define(Operator(
    "GatherND", _nd_types, _nd_reference, _lower_nd, GatherND, (2, 2),
    lambda: [
        Case((X, np.array([[0, 2], [1, -1], [1, 5]], np.int64))),
        Case((X, np.array([[[1, 3]], [[2, 0]]], np.int32)), {"batch": 1}),
        Case((X, np.array([1, 2, 3], np.int32))),
    ],
    cost=Cost(_index_work, _index_work),
))  # fmt: skip
"""Reads slices of x. The last axis of `indices` [..., depth] holds indices into the `depth` axes of
x after the `batch` leading axes, which x and indices share.
"""
