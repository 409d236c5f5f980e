"""Pooling over any number of spatial axes, with windows of a fixed size, or adapted to a number of
outputs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import inf, prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Shape, Size, known, known_shape
from webkiln.ir.size_checks import require_non_negative
from webkiln.ir.types import Array, Type, is_float
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, Expr, apply, cast, const, select
from webkiln.nest.nest import COMPUTE
from webkiln.ops.budget import CALL
from webkiln.ops.operator import Case, Cost, Operator, Traits, define, same_axes
from webkiln.ops.reduce import check_axes, identity_of
from webkiln.ops.window import all_in_bounds, check_entries, window_index, window_size


@dataclass(frozen=True, slots=True)
class Pool(Attributes):
    axes: tuple[int, ...]
    window: Shape
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    pad_low: Shape
    pad_high: Shape


def _types(attrs: Pool, types: Sequence[Type]) -> tuple[Type, ...]:
    x = types[0]
    shape = list(x.shape)
    check_entries(
        len(attrs.axes),
        "pooled axis",
        window=attrs.window,
        strides=attrs.strides,
        dilation=attrs.dilation,
        pad_low=attrs.pad_low,
        pad_high=attrs.pad_high,
    )
    for axis, window, stride, dilation, low, high in _rows(attrs):
        shape[axis] = window_size(x.shape[axis], window, stride, dilation, low, high)
    return (Type(x.dtype, tuple(shape)),)


def _rows(attrs: Pool) -> list[tuple[int, Size, int, int, Size, Size]]:
    """Axis, window, stride, dilation and padding of each pooled axis."""
    pads = zip(attrs.pad_low, attrs.pad_high, strict=True)
    windows = zip(attrs.axes, attrs.window, attrs.strides, attrs.dilation, strict=True)
    return [(*window, *pad) for window, pad in zip(windows, pads, strict=True)]


def _windows(attrs: Pool, x: Array, fill: float) -> Iterable[Array]:
    """Yield the padded input elements that each tap of the window reads, in the shape of the
    output.
    """
    widths = [(0, 0)] * x.ndim
    for axis, _, _, _, low, high in _rows(attrs):
        widths[axis] = (known(low, "the padding"), known(high, "the padding"))
    padded = np.pad(
        x.astype(np.float64) if is_float(str(x.dtype)) else x, widths, constant_values=fill
    )
    for tap in product(*map(range, known_shape(attrs.window, "the window"))):
        slices = [slice(None)] * x.ndim
        for t, (axis, window, stride, dilation, low, high) in zip(tap, _rows(attrs), strict=True):
            count = known(
                window_size(x.shape[axis], window, stride, dilation, low, high),
                "the number of windows",
            )
            slices[axis] = slice(t * dilation, t * dilation + (count - 1) * stride + 1, stride)
        yield padded[tuple(slices)]


def _window_work(attrs: Pool, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """All taps of all windows, which are retained."""
    shape = known_shape(inputs[0].shape, "x")
    pads = [
        1 + known(low + high, "the padding") / max(shape[axis], 1)
        for axis, *_, low, high in _rows(attrs)
    ]
    taps = prod(attrs.window)
    return int(prod(shape) * prod(pads)) + taps * (2 * outputs[0].size + CALL)


def _max_reference(attrs: Pool, x: Array) -> tuple[Array, ...]:
    return (np.max(np.stack(list(_windows(attrs, x, identity_of(np.max, str(x.dtype))))), axis=0),)


@dataclass(frozen=True, slots=True)
class AvgPool(Pool):
    count_include_pad: bool = False


def _average_reference(attrs: AvgPool, x: Array) -> tuple[Array, ...]:
    total = np.sum(np.stack(list(_windows(attrs, x, 0))), axis=0)
    if attrs.count_include_pad:
        return (total / prod(attrs.window),)
    return (total / np.sum(np.stack(list(_windows(attrs, np.ones_like(x), 0))), axis=0),)


def lowest(dtype: str) -> float:
    """The identity of max."""
    return -inf if is_float(dtype) else int(np.iinfo(dtype).min)


def _lower(combiner: str, low: Lowering, attrs: Pool, *, include_pad: bool = False) -> None:
    x, out = low.inputs[0], low.outputs[0]
    nest = low.nest()
    index = list(nest.axes(out.shape))
    taps = [nest.reduce(window) for window in attrs.window]
    checks: list[tuple[Expr, Size]] = []
    for tap, (axis, _, stride, dilation, before, after) in zip(taps, _rows(attrs), strict=True):
        index[axis] = window_index(nest, index[axis], tap, stride, dilation, before)
        if before or after:
            checks.append((index[axis], x[axis]))
    guard = all_in_bounds(nest, checks)
    value = nest.accumulate(
        combiner, nest.load(x, index, guard, lowest(x.type.dtype) if combiner == "max" else 0)
    )
    if combiner == "sum":
        if guard is None or include_pad:
            count = const(1, INT)
            for window in attrs.window:
                count = count * nest.number(window)
            value = value / cast(count, value.type)
        else:
            value = value / nest.accumulate(
                "sum", select(guard, const(1, value.type), const(0, value.type))
            )
    nest.store(out, value)
    nest.done()


def _cases(**extra: bool) -> Iterable[Case]:
    x = np.random.default_rng(2).standard_normal((2, 7, 6, 5)).astype(np.float32)
    plain = {
        "axes": (1, 2),
        "window": (2, 2),
        "strides": (2, 2),
        "dilation": (1, 1),
        "pad_low": (0, 0),
        "pad_high": (0, 0),
    }
    yield Case((x,), plain | extra)
    yield Case(
        (x,),
        plain
        | {"window": (3, 2), "strides": (1, 2), "pad_low": (1, 0), "pad_high": (1, 1)}
        | extra,
        name="padded",
    )
    yield Case(
        (x,),
        plain | {"axes": (2, 3), "dilation": (2, 1), "strides": (1, 1)} | extra,
        name="dilated",
    )
    yield Case(
        (x[0, 0],),
        {name: value[:1] for name, value in plain.items()} | {"axes": (0,)} | extra,
        name="one_d",
    )


MAX_POOL = define(
    Operator(
        "MaxPool",
        _types,
        _max_reference,
        lambda low, attrs: _lower("max", low, attrs),
        Pool,
        cases=_cases,
        traits=Traits(source_axes=same_axes),
        cost=Cost(_window_work, _window_work),
    )
)
"""Maximum of windows.

Attributes: the pooled `axes`; and `window` (size), `strides`, `dilation`, `pad_low` and `pad_high`,
with one entry per pooled axis. Padding never is the maximum.
"""
AVG_POOL = define(
    Operator(
        "AvgPool",
        _types,
        _average_reference,
        lambda low, attrs: _lower("sum", low, attrs, include_pad=attrs.count_include_pad),
        AvgPool,
        cases=lambda: [*_cases(count_include_pad=False), *_cases(count_include_pad=True)],
        traits=Traits(source_axes=same_axes),
        cost=Cost(_window_work, _window_work),
    )
)
"""Mean of windows, with the attributes of MaxPool. Padding counts as zeros with
`count_include_pad`; otherwise it is excluded from the mean.
"""


@dataclass(frozen=True, slots=True)
class MaxPoolIndex(Pool):
    column_major: bool = False


def _index_types(attrs: MaxPoolIndex, types: Sequence[Type]) -> tuple[Type, ...]:
    (pooled,) = _types(attrs, types)
    return (Type("int32", pooled.shape),)


def _element_numbers(attrs: MaxPoolIndex, shape: tuple[int, ...]) -> Array:
    """The number of each element in row-major order; with `column_major`, the pooled axes are in
    column-major order.
    """
    axes = list(attrs.axes)
    order = [axis for axis in range(len(shape)) if axis not in axes] + (
        axes[::-1] if attrs.column_major else axes
    )
    return (
        np.arange(prod(shape)).reshape([shape[axis] for axis in order]).transpose(np.argsort(order))
    )


def _index_reference(attrs: MaxPoolIndex, x: Array) -> tuple[Array, ...]:
    best = np.argmax(np.stack(list(_windows(attrs, x, identity_of(np.max, str(x.dtype))))), axis=0)
    numbers = _element_numbers(attrs, x.shape).astype(np.float64)
    windows = np.stack(list(_windows(attrs, numbers, -1)))
    return (np.take_along_axis(windows, best[None], 0)[0],)


def _lower_index(low: Lowering, attrs: MaxPoolIndex) -> None:
    """All taps are one reduction loop; the index of the maximum on it determines the element."""
    x, out = low.inputs[0], low.outputs[0]
    nest = low.nest()
    index = list(nest.axes(out.shape))
    number = nest.reduce(prod(attrs.window))

    def tap_index(tap: Expr) -> tuple[list[Expr], Expr | None]:
        """The index that a tap reads, and its guard."""
        source, checks = list(index), []
        for axis, window, stride, dilation, before, after in reversed(_rows(attrs)):
            source[axis] = window_index(
                nest,
                index[axis],
                apply("irem", tap, nest.argument(window)),
                stride,
                dilation,
                before,
            )
            tap = apply("idiv", tap, nest.argument(window))
            if before or after:
                checks.append((source[axis], x[axis]))
        return source, all_in_bounds(nest, checks)

    source, guard = tap_index(number)
    best, _ = tap_index(
        nest.index_of(nest.accumulate("argmax", nest.load(x, source, guard, lowest(x.type.dtype))))
    )
    axes = list(attrs.axes)
    order = [axis for axis in range(x.type.rank) if axis not in axes] + (
        axes[::-1] if attrs.column_major else axes
    )
    total = const(0, INT)
    for axis in order:
        total = total * nest.number(x[axis]) + best[axis]
    nest.store(out, total)
    nest.done()


def _index_cases() -> Iterable[Case]:
    for column_major in (False, True):
        for case in _cases():
            attrs = {**case.attrs, "column_major": column_major}
            yield Case(case.inputs, attrs, name=f"{case.name} {column_major}")


MAX_POOL_INDEX = define(
    Operator(
        "MaxPoolIndex",
        _index_types,
        _index_reference,
        _lower_index,
        MaxPoolIndex,
        cases=_index_cases,
        cost=Cost(_window_work, _window_work),
    )
)
"""The position of the maximum of each window in x (int32), the first of equal elements. Elements
are numbered in row-major order; with `column_major`, the pooled axes are in column-major order. The
other attributes are those of MaxPool.
"""


@dataclass(frozen=True, slots=True)
class AdaptivePool(Attributes):
    axes: tuple[int, ...]
    sizes: tuple[int, ...]


def _adaptive_types(attrs: AdaptivePool, types: Sequence[Type]) -> tuple[Type, ...]:
    check_axes(attrs.axes, types[0].rank)
    message = (
        f"sizes is {list(attrs.sizes)}, expected a positive size for each of the axes"
        f" {list(attrs.axes)}"
    )
    if len(attrs.sizes) != len(attrs.axes):
        raise ShapeError(message)
    for size in attrs.sizes:
        require_non_negative(size - 1, message)
    shape = list(types[0].shape)
    for axis, size in zip(attrs.axes, attrs.sizes, strict=True):
        shape[axis] = size
    return (Type(types[0].dtype, tuple(shape)),)


def _adaptive_reference(function: Callable[..., Array]) -> Callable[..., tuple[Array, ...]]:
    """Output o of `count` covers the elements from floor(o * size / count) to
    ceil((o + 1) * size / count), exclusive.
    """

    def compute(attrs: AdaptivePool, x: Array) -> tuple[Array, ...]:
        y = x.astype(np.float64) if is_float(str(x.dtype)) else x
        for axis, count in zip(attrs.axes, attrs.sizes, strict=True):
            size = y.shape[axis]
            windows = (range(o * size // count, -(-(o + 1) * size // count)) for o in range(count))
            y = np.stack(
                [function(np.take(y, list(window), axis), axis=axis) for window in windows], axis
            )
        return (y,)

    return compute


def _adaptive_work(attrs: AdaptivePool, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """Each window separately; windows may overlap by one element."""
    return CALL * sum(attrs.sizes) + 3 * len(attrs.axes) * (inputs[0].size + outputs[0].size)


def _lower_adaptive(combiner: str, low: Lowering, attrs: AdaptivePool) -> None:
    """The reduction loop has the size of the largest window; guards exclude the excess taps of the
    others.
    """
    x, out = low.inputs[0], low.outputs[0]
    nest = low.nest()
    index = list(nest.axes(out.shape))
    guard, covered = None, const(1, COMPUTE[x.type.dtype])
    for axis, count in zip(attrs.axes, attrs.sizes, strict=True):
        size = x[axis]
        widths = [-(-(o + 1) * size // count) - o * size // count for o in range(count)]
        tap, full = nest.reduce(max(widths)), nest.argument(size)
        first = apply("floordiv", index[axis] * full, nest.argument(count))
        width = (
            apply(
                "floordiv",
                (index[axis] + 1) * full + nest.argument(count - 1),
                nest.argument(count),
            )
            - first
        )
        index[axis] = first + tap
        covered = covered * cast(width, covered.type)
        if min(widths) < max(widths):
            in_window = apply("lt", tap, width)
            guard = in_window if guard is None else apply("and", guard, in_window)
    value = nest.accumulate(
        combiner, nest.load(x, index, guard, lowest(x.type.dtype) if combiner == "max" else 0)
    )
    nest.store(out, value / covered if combiner == "sum" else value)
    nest.done()


def _adaptive_cases() -> Iterable[Case]:
    x = np.random.default_rng(9).standard_normal((2, 7, 6, 5)).astype(np.float32)
    for axes, sizes in (
        ((1, 2), (3, 4)),
        ((1, 2), (1, 6)),
        ((2,), (2,)),
        ((1, 2, 3), (9, 5, 2)),
        ((2, 3), (4, 3)),
    ):
        yield Case((x,), {"axes": axes, "sizes": sizes})


# Pooling of `axes` to `sizes`: the windows partition each axis evenly, with an overlap of at most
# one element.
for _name, _combiner, _function in (
    ("AdaptiveMaxPool", "max", np.max),
    ("AdaptiveAvgPool", "sum", np.mean),
):
    define(
        Operator(
            _name,
            _adaptive_types,
            _adaptive_reference(_function),
            partial(_lower_adaptive, _combiner),
            AdaptivePool,
            cases=_adaptive_cases,
            cost=Cost(_adaptive_work, _adaptive_work),
        )
    )
