"""Operators that compute where elements are: numbers by position, and gathering and scattering by
indices of any integer dtype.

A negative index counts from the end. What lies outside is 0 when gathered and dropped when
scattered.
"""

from collections.abc import Sequence

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Array, Type, is_integer
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import INT, Expr, apply, cast, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.ops.budget import elements
from webkiln.ops.operator import REQUIRED, Case, Operator, define, linear, per_element
from webkiln.ops.reduce import check_axes

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def _lower_iota(low: Lowering, attrs: Attributes) -> None:
    nest = low.nest()
    (index,) = nest.axes(low.outputs[0].shape)
    nest.store(low.outputs[0], cast(index, COMPUTE[attrs["dtype"]]))
    nest.done()


IOTA = define(
    Operator(
        "Iota",
        lambda attrs, types: (Type(attrs["dtype"], (attrs["size"],)),),
        lambda attrs: (np.arange(attrs["size"]),),
        _lower_iota,
        {"size": REQUIRED, "dtype": REQUIRED},
        (0, 0),
        lambda: [Case((), {"size": 7, "dtype": dtype}) for dtype in ("float32", "int32", "int64")],
    )
)
"""0, 1, ... below `size`."""


def _lower_sizes(low: Lowering, attrs: Attributes) -> None:
    """A nest for each, all of one kernel."""
    for position, size in enumerate(attrs["sizes"]):
        nest = low.nest()
        nest.store(
            low.outputs[0],
            cast(nest.argument(size), COMPUTE[attrs["dtype"]]),
            (nest.argument(position),),
        )
        nest.done()


SIZES = define(
    Operator(
        "Sizes",
        lambda attrs, types: (Type(attrs["dtype"], (len(attrs["sizes"]),)),),
        lambda attrs: (np.array(attrs["sizes"]),),
        _lower_sizes,
        {"sizes": REQUIRED, "dtype": REQUIRED},
        (0, 0),
        lambda: [
            Case((), {"sizes": (4, 1, 1000), "dtype": dtype}) for dtype in ("int64", "float32")
        ],
    )
)
"""Sizes as numbers, also those that are set at run time."""

PADDING = ("edge", "reflect", "wrap")


def _pad_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    if (
        attrs["mode"] not in PADDING
        or len(attrs["low"]) != types[0].rank
        or len(attrs["high"]) != types[0].rank
    ):
        raise ShapeError(
            f"mode {attrs['mode']!r} is one of {', '.join(PADDING)}; low and high have an entry for"
            f" each axis of {types[0]}"
        )
    sizes = zip(types[0].shape, attrs["low"], attrs["high"], strict=True)
    return (Type(types[0].dtype, tuple(size + low + high for size, low, high in sizes)),)


def _pad_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    return (np.pad(x, list(zip(attrs["low"], attrs["high"], strict=True)), mode=attrs["mode"]),)


def _lower_pad(low: Lowering, attrs: Attributes) -> None:
    x, out = low.inputs[0], low.outputs[0]
    nest = low.nest()
    index = list(nest.axes(out.shape))
    for axis, (size, before, after) in enumerate(
        zip(x.shape, attrs["low"], attrs["high"], strict=True)
    ):
        if before or after:
            index[axis] = _reflected(nest, index[axis] - nest.number(before), size, attrs["mode"])
    nest.store(out, nest.load(x, index))
    nest.done()


def _reflected(nest: NestBuilder, index: Expr, size: int, mode: str) -> Expr:
    """Where an element beyond the ends of an axis is taken from."""
    if mode == "edge":
        return apply("min", apply("max", index, const(0, INT)), nest.argument(size - 1))
    if mode == "wrap":
        return apply("floormod", index, nest.argument(size))
    turned = apply("floormod", index, nest.argument(2 * size - 2))
    return apply("min", turned, nest.argument(2 * size - 2) - turned)


define(
    Operator(
        "PadFrom",
        _pad_types,
        _pad_reference,
        _lower_pad,
        {"low": REQUIRED, "high": REQUIRED, "mode": REQUIRED},
        cases=lambda: [
            Case((X,), {"low": (0, 4, 2), "high": (1, 0, 3), "mode": mode}, name=mode)
            for mode in PADDING
        ],
        work=per_element(8),
        scratch=linear,
    )
)


def wrapped(nest: NestBuilder, raw: Expr, size: int) -> Expr:
    """An index as i32, counted from the front."""
    index = cast(raw, INT)
    return select(apply("lt", index, const(0, INT)), index + nest.number(size), index)


def check_indices(indices: Type) -> None:
    if not is_integer(indices.dtype):
        raise ShapeError(f"indices are {indices}, expected integers")


def _places_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """Where each element is read, along every axis."""
    return 4 * (inputs[0].rank + 1) * elements([*inputs, *outputs])


def _elements_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    x, indices = types
    check_indices(indices)
    check_axes((attrs["axis"],), x.rank)
    if indices.rank != x.rank:
        raise ShapeError(f"indices {indices} need as many axes as {x}")
    return (Type(x.dtype, indices.shape),)


def _outside_is_zero(x: Array, places: Sequence[Array]) -> Array:
    """x at these places, negative ones from the end, 0 outside."""
    counted = [
        np.where(place < 0, place + size, place).astype(np.int64)
        for place, size in zip(places, x.shape, strict=False)
    ]
    sizes = x.shape[: len(counted)]
    inside = np.logical_and.reduce(
        [(place >= 0) & (place < size) for place, size in zip(counted, sizes, strict=True)]
    )
    taken = x[
        tuple(np.clip(place, 0, size - 1) for place, size in zip(counted, sizes, strict=True))
    ]
    return np.where(
        np.reshape(inside, (*np.shape(inside), *[1] * (taken.ndim - np.ndim(inside)))),
        taken,
        np.zeros((), x.dtype),
    )


def element_places(attrs: Attributes, indices: Array) -> list[Array]:
    return [
        indices if axis == attrs["axis"] else np.asarray(place)
        for axis, place in enumerate(np.indices(indices.shape))
    ]


def _elements_reference(attrs: Attributes, x: Array, indices: Array) -> tuple[Array, ...]:
    return (_outside_is_zero(x, element_places(attrs, indices)),)


def _lower_elements(low: Lowering, attrs: Attributes) -> None:
    x, indices = low.inputs
    nest = low.nest()
    index = list(nest.axes(indices.shape))
    place = wrapped(nest, nest.load(indices, index), x[attrs["axis"]])
    index[attrs["axis"]] = place
    nest.store(low.outputs[0], nest.load(x, index, nest.in_bounds(place, x[attrs["axis"]])))
    nest.done()


define(
    Operator(
        "GatherElements",
        _elements_types,
        _elements_reference,
        _lower_elements,
        {"axis": REQUIRED},
        (2, 2),
        lambda: [
            Case((X, np.array([[[0, 2, -1, 1]], [[1, 1, 0, 9]]], np.int32)), {"axis": 1}),
            Case((X[0], np.array([[1, -1], [0, 3], [2, 2]], np.int64)), {"axis": 1}),
        ],
        work=_places_work,
        scratch=_places_work,
    )
)


def _nd_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    x, indices = types
    check_indices(indices)
    batch = attrs["batch"]
    if (
        not indices.rank
        or batch >= indices.rank
        or batch + indices.shape[-1] > x.rank
        or x.shape[:batch] != indices.shape[:batch]
    ):
        raise ShapeError(f"indices {indices} do not fit {x} behind {batch} common axes")
    return (Type(x.dtype, (*indices.shape[:-1], *x.shape[batch + indices.shape[-1] :])),)


def _nd_reference(attrs: Attributes, x: Array, indices: Array) -> tuple[Array, ...]:
    leading = np.indices(indices.shape[:-1]) if indices.ndim > 1 else np.zeros((0,), int)
    places = [*leading[: attrs["batch"]], *np.moveaxis(indices, -1, 0)]
    return (
        (
            _outside_is_zero(x, places)
            if places
            else np.broadcast_to(x, (*indices.shape[:-1], *x.shape))
        ),
    )


def _lower_nd(low: Lowering, attrs: Attributes) -> None:
    x, indices = low.inputs
    batch, depth, lead = attrs["batch"], indices.shape[-1], indices.type.rank - 1
    nest = low.nest()
    index = list(nest.axes(low.outputs[0].shape))
    guard: Expr | None = None
    places: list[Expr] = []
    for position in range(depth):
        size = x[batch + position]
        place = wrapped(nest, nest.load(indices, [*index[:lead], nest.number(position)]), size)
        inside = nest.in_bounds(place, size)
        guard = inside if guard is None else apply("and", guard, inside)
        places.append(place)
    nest.store(low.outputs[0], nest.load(x, [*index[:batch], *places, *index[lead:]], guard))
    nest.done()


define(Operator(
    "GatherND", _nd_types, _nd_reference, _lower_nd, {"batch": 0}, (2, 2),
    lambda: [
        Case((X, np.array([[0, 2], [1, -1], [1, 5]], np.int64))),
        Case((X, np.array([[[1, 3]], [[2, 0]]], np.int32)), {"batch": 1}),
        Case((X, np.array([1, 2, 3], np.int32))),
    ],
    work=_places_work, scratch=_places_work,
))  # fmt: skip
