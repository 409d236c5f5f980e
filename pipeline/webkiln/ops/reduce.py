"""Reductions over axes, softmax, and batch normalisation in its inference form."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Shape, Size
from webkiln.ir.types import Array, Type, is_float, is_integer, itemsize
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import INT, REAL, Expr, apply, cast, const
from webkiln.ops.operator import Case, Operator, define


def check_axes(axes: Sequence[int], rank: int) -> None:
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise ShapeError(f"axes {list(axes)} must be distinct dimensions of {rank}")


def _reduced_shape(shape: Sequence[Size], axes: Sequence[int], keepdims: bool) -> Shape:
    check_axes(axes, len(shape))
    return tuple(
        1 if axis in axes else size
        for axis, size in enumerate(shape)
        if keepdims or axis not in axes
    )


@dataclass(frozen=True, slots=True)
class Reduction(Attributes):
    axes: tuple[int, ...]
    keepdims: bool = False


def _types(attrs: Reduction, types: Sequence[Type]) -> tuple[Type, ...]:
    return (Type(types[0].dtype, _reduced_shape(types[0].shape, attrs.axes, attrs.keepdims)),)


def open_loops(nest: NestBuilder, shape: Sequence[Size], axes: Sequence[int]) -> list[Expr]:
    """Open reduction loops over `axes` and parallel loops over the others. Returns the index of
    each dimension.
    """
    retained = [axis for axis in range(len(shape)) if axis not in axes]
    parallel = dict(zip(retained, nest.axes([shape[axis] for axis in retained]), strict=True))
    inner = {axis: nest.reduce(shape[axis]) for axis in sorted(axes)}
    return [parallel[axis] if axis in parallel else inner[axis] for axis in range(len(shape))]


def _lower(combiner: str, mean: bool) -> Callable[[Lowering, Reduction], None]:
    def lower(low: Lowering, attrs: Reduction) -> None:
        x, axes = low.inputs[0], attrs.axes
        nest = low.nest()
        index = open_loops(nest, x.shape, axes)
        value = nest.accumulate(combiner, nest.load(x, index))
        if combiner in ("max", "min") and is_integer(x.type.dtype) and itemsize(x.type.dtype) < 4:
            limits = np.iinfo(x.type.dtype)
            value = apply(
                "max",
                apply("min", value, const(int(limits.max), value.type)),
                const(int(limits.min), value.type),
            )
        if mean:
            count = const(1, INT)
            for axis in axes:
                count = count * nest.number(x[axis])
            value = (
                value / cast(count, value.type)
                if value.type in REAL
                else apply("idiv", value, cast(count, value.type))
            )
        retained = [size for axis, size in enumerate(x.shape) if axis not in axes]
        nest.store(low.outputs[0].reshaped(retained), value)
        nest.done()

    return lower


def _cases() -> Iterable[Case]:
    x = np.random.default_rng(3).standard_normal((3, 4, 5)).astype(np.float32)
    for axes in ((1,), (0, 2), (0, 1, 2), ()):
        for keepdims in (False, True):
            yield Case((x,), {"axes": axes, "keepdims": keepdims})


def _integer_cases() -> Iterable[Case]:
    yield from _cases()
    yield Case((np.array([[-7, 2, 1], [5, 6, 9]], np.int32),), {"axes": (1,)}, name="whole numbers")
    yield from (
        Case((np.zeros((2, 0), dtype),), {"axes": (1,)}, name=f"nothing of {dtype}")
        for dtype in ("int8", "uint16", "int32")
    )


def _reference(function: Callable[..., Array]) -> Callable[..., tuple[Array, ...]]:
    def compute(attrs: Reduction, x: Array) -> tuple[Array, ...]:
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        empty = (
            {"initial": identity_of(function, str(x.dtype))} if function in (np.max, np.min) else {}
        )
        return (
            np.asarray(function(wide, axis=tuple(attrs.axes), keepdims=attrs.keepdims, **empty)),
        )

    return compute


def identity_of(function: Callable[..., Array], dtype: str) -> float:
    """The result of np.max or np.min over no elements."""
    limits = np.iinfo(dtype) if not is_float(dtype) else None
    if function is np.max:
        return -inf if limits is None else int(limits.min)
    return inf if limits is None else int(limits.max)


def mean(x: Array, axis: tuple[int, ...], *, keepdims: bool) -> Array:
    """The mean; NaN for no floats, 0 for no integers. The mean of integers is truncated; those of
    fewer than 32 bits are summed in 32 bits.
    """
    wide = x.dtype if x.dtype.kind == "f" else np.result_type(x.dtype, f"{x.dtype.kind}4")
    total, count = (
        np.sum(x, axis=axis, keepdims=keepdims, dtype=wide),
        prod(x.shape[a] for a in axis),
    )
    if x.dtype.kind == "f":
        return np.asarray(total / count)
    return np.asarray((total - np.fmod(total, count)) // count if count else np.zeros_like(total))


# Reductions over `axes`; with `keepdims`, these stay with size 1.
for _name, _combiner, _function in (
    ("ReduceSum", "sum", np.sum), ("ReduceMean", "sum", mean), ("ReduceMax", "max", np.max),
    ("ReduceMin", "min", np.min), ("ReduceProd", "prod", np.prod),
):  # fmt: skip
    define(
        Operator(
            _name,
            _types,
            _reference(_function),
            _lower(_combiner, _name == "ReduceMean"),
            Reduction,
            cases=_cases if _name == "ReduceProd" else _integer_cases,
        )
    )


@dataclass(frozen=True, slots=True)
class ArgReduction(Attributes):
    axis: int
    keepdims: bool = False


def _arg_types(attrs: ArgReduction, types: Sequence[Type]) -> tuple[Type, ...]:
    return (Type("int32", _reduced_shape(types[0].shape, (attrs.axis,), attrs.keepdims)),)


def _lower_arg(combiner: str) -> Callable[[Lowering, ArgReduction], None]:
    def lower(low: Lowering, attrs: ArgReduction) -> None:
        x, axis = low.inputs[0], attrs.axis
        nest = low.nest()
        value = nest.accumulate(combiner, nest.load(x, open_loops(nest, x.shape, (axis,))))
        nest.store(
            low.outputs[0].reshaped([size for d, size in enumerate(x.shape) if d != axis]),
            nest.index_of(value),
        )
        nest.done()

    return lower


def _arg_cases() -> Iterable[Case]:
    x = np.array([[1, 5, 5, 2], [0, -1, -1, 0], [np.nan, 3, np.nan, 9]], np.float32)
    for axis in (0, 1):
        for keepdims in (False, True):
            yield Case((x,), {"axis": axis, "keepdims": keepdims})
    yield Case((x[:, :0],), {"axis": 1, "keepdims": False}, name="of nothing")


def _arg_reference(function: Callable[..., Array]) -> Callable[..., tuple[Array, ...]]:
    """The index of the extremum; 0 for no elements."""

    def compute(attrs: ArgReduction, x: Array) -> tuple[Array, ...]:
        operand = (
            x
            if x.shape[attrs.axis]
            else np.zeros_like(
                x,
                shape=[max(size, int(axis == attrs.axis)) for axis, size in enumerate(x.shape)],
            )
        )
        return (np.asarray(function(operand, axis=attrs.axis, keepdims=attrs.keepdims)),)

    return compute


# The index (int32) of the first extremum along `axis`; with `keepdims`, the axis stays with size 1.
for _name, _combiner, _search in (("ArgMax", "argmax", np.argmax), ("ArgMin", "argmin", np.argmin)):
    define(
        Operator(
            _name,
            _arg_types,
            _arg_reference(_search),
            _lower_arg(_combiner),
            ArgReduction,
            cases=_arg_cases,
        )
    )
