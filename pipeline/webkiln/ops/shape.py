"""Operators that move elements without computing: each is a load at another index."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Shape, Size, known_shape
from webkiln.ir.size_checks import require_all_equal, require_equal, require_non_negative
from webkiln.ir.types import Array, Type, broadcast, is_integer
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, Expr, apply, cast, const, select
from webkiln.ops.operator import Case, Operator, Perm, Traits, define, same_axes
from webkiln.ops.window import write_padded

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@dataclass(frozen=True, slots=True)
class Reshape(Attributes):
    shape: Shape


def _reshape_types(attrs: Reshape, types: Sequence[Type]) -> tuple[Type, ...]:
    require_equal(
        types[0].size, prod(attrs.shape), "the numbers of elements before and after differ"
    )
    return (Type(types[0].dtype, tuple(attrs.shape)),)


def _lower_reshape(low: Lowering, attrs: Reshape) -> None:
    nest = low.nest()
    flat = (low.outputs[0].type.size,)
    index = nest.axes(flat)
    nest.store(low.outputs[0].reshaped(flat), nest.load(low.inputs[0].reshaped(flat), index))
    nest.done()


RESHAPE = define(
    Operator(
        "Reshape",
        _reshape_types,
        lambda attrs, x: (x.reshape(attrs.shape),),
        _lower_reshape,
        Reshape,
        cases=lambda: [Case((X,), {"shape": (4, 6)}), Case((X,), {"shape": (24,)})],
        traits=Traits(is_view=True),
    )
)
"""The elements of x in row-major order with another `shape` of the same size."""


@dataclass(frozen=True, slots=True)
class Transpose(Attributes):
    perm: tuple[int, ...]


def _transpose_types(attrs: Transpose, types: Sequence[Type]) -> tuple[Type, ...]:
    if sorted(attrs.perm) != list(range(types[0].rank)):
        raise ShapeError(
            f"perm {list(attrs.perm)} is not a permutation of the {types[0].rank} dimensions of"
            f" {types[0]}"
        )
    return (Type(types[0].dtype, tuple(types[0].shape[axis] for axis in attrs.perm)),)


def _lower_transpose(low: Lowering, attrs: Transpose) -> None:
    nest = low.nest()
    index = nest.axes(low.outputs[0].shape)
    source = [index[attrs.perm.index(axis)] for axis in range(len(index))]
    nest.store(low.outputs[0], nest.load(low.inputs[0], source))
    nest.done()


def _transposed_axes(attrs: Transpose, rank: int) -> Perm:
    return attrs.perm


TRANSPOSE = define(
    Operator(
        "Transpose",
        _transpose_types,
        lambda attrs, x: (x.transpose(attrs.perm),),
        _lower_transpose,
        Transpose,
        cases=lambda: [Case((X,), {"perm": (2, 0, 1)}), Case((X,), {"perm": (1, 0, 2)})],
        traits=Traits(decodes=True, source_axes=_transposed_axes),
    )
)
"""Axis i of the output is axis `perm[i]` of x."""


@dataclass(frozen=True, slots=True)
class Broadcast(Attributes):
    shape: Shape


def _broadcast_types(attrs: Broadcast, types: Sequence[Type]) -> tuple[Type, ...]:
    result = broadcast([types[0].shape, attrs.shape])
    if len(result) != len(attrs.shape):
        raise ShapeError(f"{types[0]} does not broadcast to {list(attrs.shape)}")
    for axis, (size, expected) in enumerate(zip(result, attrs.shape, strict=True)):
        require_equal(size, expected, f"axis {axis} does not broadcast")
    return (Type(types[0].dtype, tuple(attrs.shape)),)


def _lower_broadcast(low: Lowering, attrs: Broadcast) -> None:
    nest = low.nest()
    nest.store(low.outputs[0], nest.element(low.inputs[0], nest.axes(low.outputs[0].shape)))
    nest.done()


BROADCAST = define(
    Operator(
        "Broadcast",
        _broadcast_types,
        lambda attrs, x: (np.broadcast_to(x, attrs.shape),),
        _lower_broadcast,
        Broadcast,
        cases=lambda: [Case((X[:, :1],), {"shape": (5, 2, 3, 4)})],
        traits=Traits(decodes=True),
    )
)
"""x broadcast to `shape`, by the rules of numpy."""


@dataclass(frozen=True, slots=True)
class Concat(Attributes):
    axis: int


def _concat_types(attrs: Concat, types: Sequence[Type]) -> tuple[Type, ...]:
    axis, first = attrs.axis, types[0]
    for type_ in types[1:]:
        if type_.rank != first.rank or type_.dtype != first.dtype:
            raise ShapeError(
                f"{type_} and {first} cannot be concatenated on axis {axis}: all other sizes and"
                " the dtype must be equal"
            )
    rows = enumerate(zip(*(type_.shape for type_ in types), strict=True))
    shape = [
        (
            sum(sizes)
            if dimension == axis
            else require_all_equal(
                sizes, f"concatenated on axis {axis}, the sizes of axis {dimension} differ"
            )
        )
        for dimension, sizes in rows
    ]
    return (Type(first.dtype, tuple(shape)),)


def _lower_concat(low: Lowering, attrs: Concat) -> None:
    """One nest per input, which stores to its slice of the output; one nest at load time."""
    if low.is_init:
        _lower_joined(low, attrs)
        return
    start: Size = 0
    for view in low.inputs:
        nest = low.nest()
        index = list(nest.axes(view.shape))
        target = list(index)
        target[attrs.axis] = target[attrs.axis] + nest.number(start)
        nest.store(low.outputs[0], nest.load(view, index), target)
        nest.done()
        start += view[attrs.axis]


def _lower_joined(low: Lowering, attrs: Concat) -> None:
    nest = low.nest()
    index = list(nest.axes(low.outputs[0].shape))
    start: Size = 0
    value: Expr | None = None
    for view in low.inputs:
        source = list(index)
        source[attrs.axis] = source[attrs.axis] - nest.number(start)
        is_here = nest.in_bounds(source[attrs.axis], view[attrs.axis])
        part = nest.load(view, source, is_here)
        value = part if value is None else select(is_here, part, value)
        start += view[attrs.axis]
    assert value is not None
    nest.store(low.outputs[0], value, index)
    nest.done()


def _concat_before_transpose(attrs: Concat, perm: Perm) -> Concat:
    return Concat(perm[attrs.axis])


CONCAT = define(
    Operator(
        "Concat",
        _concat_types,
        lambda attrs, *xs: (np.concatenate(xs, axis=attrs.axis),),
        _lower_concat,
        Concat,
        (1, 1 << 16),
        cases=lambda: [
            Case((X, X[:, :1], X), {"axis": 1}),
            Case((X, X), {"axis": 2}),
            Case((X,), {"axis": 0}),
        ],
        traits=Traits(decodes=True, before_transpose=_concat_before_transpose),
    )
)
"""The inputs concatenated along `axis`. All other sizes must be equal."""


@dataclass(frozen=True, slots=True)
class Slice(Attributes):
    starts: Shape
    sizes: Shape
    steps: Shape


def _slice_types(attrs: Slice, types: Sequence[Type]) -> tuple[Type, ...]:
    for axis, (size, start, count, step) in enumerate(
        zip(types[0].shape, attrs.starts, attrs.sizes, attrs.steps, strict=True)
    ):
        last = start + (count - 1) * step
        for index in (start, last) if count else ():
            message = f"the slice reads {start} to {last} of axis {axis}, which has size {size}"
            require_non_negative(index, message)
            require_non_negative(size - 1 - index, message)
    return (Type(types[0].dtype, tuple(attrs.sizes)),)


def _slice_reference(attrs: Slice, x: Array) -> tuple[Array, ...]:
    starts = known_shape(attrs.starts, "the slice")
    sizes = known_shape(attrs.sizes, "the slice")
    positions = (
        np.arange(n) * step + start
        for start, n, step in zip(starts, sizes, known_shape(attrs.steps, "the slice"), strict=True)
    )
    return (x[np.ix_(*positions)] if x.ndim else x,)


def _lower_slice(low: Lowering, attrs: Slice) -> None:
    nest = low.nest()
    index = nest.axes(low.outputs[0].shape)
    source = [
        item * nest.number(step) + nest.number(start)
        for item, start, step in zip(index, attrs.starts, attrs.steps, strict=True)
    ]
    nest.store(low.outputs[0], nest.load(low.inputs[0], source))
    nest.done()


SLICE = define(
    Operator(
        "Slice",
        _slice_types,
        _slice_reference,
        _lower_slice,
        Slice,
        cases=lambda: [Case((X,), {"starts": (0, 2, 1), "sizes": (2, 2, 2), "steps": (1, -1, 2)})],
        traits=Traits(decodes=True, source_axes=same_axes),
    )
)
"""A strided slice of x: `sizes` elements per axis, from `starts`, `steps` apart. Steps may be
negative; all indices must be in bounds.
"""


@dataclass(frozen=True, slots=True)
class Pad(Attributes):
    low: Shape
    high: Shape
    value: float = 0


def _pad_types(attrs: Pad, types: Sequence[Type]) -> tuple[Type, ...]:
    sizes = zip(types[0].shape, attrs.low, attrs.high, strict=True)
    return (Type(types[0].dtype, tuple(size + low + high for size, low, high in sizes)),)


def _pad_reference(attrs: Pad, x: Array) -> tuple[Array, ...]:
    lows = known_shape(attrs.low, "the padding")
    pairs = list(zip(lows, known_shape(attrs.high, "the padding"), strict=True))
    kept = x[
        tuple(
            slice(max(-low, 0), size - max(-high, 0))
            for size, (low, high) in zip(x.shape, pairs, strict=True)
        )
    ]
    widths = [(max(low, 0), max(high, 0)) for low, high in pairs]
    return (np.pad(kept, widths, constant_values=attrs.value),)


def _lower_pad(low: Lowering, attrs: Pad) -> None:
    write_padded(low, low.inputs[0], low.outputs[0], attrs.low, attrs.value)


def _pad_before_transpose(attrs: Pad, perm: Perm) -> Pad:
    axes = range(len(perm))
    low, high = (
        tuple(sizes[perm.index(axis)] for axis in axes) for sizes in (attrs.low, attrs.high)
    )
    return replace(attrs, low=low, high=high)


PAD = define(
    Operator(
        "Pad",
        _pad_types,
        _pad_reference,
        _lower_pad,
        Pad,
        cases=lambda: [
            Case((X,), {"low": (1, 0, 2), "high": (0, 0, 1), "value": -1.5}),
            Case((X,), {"low": (0, 0, 0), "high": (0, 0, 0)}),
        ],
        traits=Traits(source_axes=same_axes, before_transpose=_pad_before_transpose),
    )
)
"""x padded with the constant `value`, by `low` and `high` elements per axis. Negative numbers crop:
a computed size may be negative when the model runs.
"""


@dataclass(frozen=True, slots=True)
class Gather(Attributes):
    axis: int


def _gather_types(attrs: Gather, types: Sequence[Type]) -> tuple[Type, ...]:
    x, indices = types
    if not is_integer(indices.dtype):
        raise ShapeError(f"indices are {indices}, expected integers")
    return (Type(x.dtype, (*x.shape[: attrs.axis], *indices.shape, *x.shape[attrs.axis + 1 :])),)


def _gather_reference(attrs: Gather, x: Array, indices: Array) -> tuple[Array, ...]:
    """Negative indices count from the end; out-of-bounds indices read 0."""
    size, wide = x.shape[attrs.axis], indices.astype(np.int64)
    wrapped = np.where(wide < 0, wide + size, wide)
    source = (
        x
        if size
        else np.zeros_like(x, shape=(*x.shape[: attrs.axis], 1, *x.shape[attrs.axis + 1 :]))
    )
    values = np.take(source, np.clip(wrapped, 0, max(size - 1, 0)), axis=attrs.axis)
    in_bounds = ((wrapped >= 0) & (wrapped < size)).reshape(
        (*[1] * attrs.axis, *indices.shape, *[1] * (x.ndim - attrs.axis - 1))
    )
    return (np.where(in_bounds, values, 0),)


def _lower_gather(low: Lowering, attrs: Gather) -> None:
    x, indices = low.inputs
    axis, size = attrs.axis, x[attrs.axis]
    nest = low.nest()
    index: list[Expr] = list(nest.axes(low.outputs[0].shape))
    after = axis + len(indices.shape)
    raw = cast(nest.load(indices, index[axis:after]), INT)
    wrapped = select(apply("lt", raw, const(0, INT)), raw + nest.number(size), raw)
    nest.store(
        low.outputs[0],
        nest.load(x, [*index[:axis], wrapped, *index[after:]], nest.in_bounds(wrapped, size)),
    )
    nest.done()


def _gather_cases() -> Iterable[Case]:
    yield Case((X, np.array([[2, 0], [-1, 7]], np.int32)), {"axis": 1})
    yield Case((X[0], np.array([1, 1, 0], np.int32)), {"axis": 0})
    yield Case((X[:, :0], np.array([1, 0], np.int32)), {"axis": 1}, name="of nothing")
    table = np.linspace(-1, 1, 256, dtype=np.float32)
    for codes in (np.array([0, 255, 128], np.uint8), np.array([0, -1, -128], np.int8)):
        yield Case((table, codes), {"axis": 0}, name="narrow indices")


GATHER = define(
    Operator(
        "Gather",
        _gather_types,
        _gather_reference,
        _lower_gather,
        Gather,
        (2, 2),
        _gather_cases,
        Traits(
            decodes=True,
            weight_channel_axis=lambda attrs, position, rank: rank - 1 if position == 0 else None,
        ),
    )
)
"""Slices of x at the indices of `axis`. Inputs: x, indices (integers of any shape). The shape of
indices replaces the axis. Negative indices count from the end; out-of-bounds indices read 0.
"""
