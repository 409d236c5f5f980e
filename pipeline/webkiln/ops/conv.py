"""Convolution: n-dimensional, grouped, dilated, strided, asymmetrically padded (or cropped, by
negative padding).

`x_dilation` inserts zeros between the elements of x, as in XLA: a transposed convolution of stride
s is a convolution of x_dilation s with the reversed kernel. The zeros are neither stored nor
multiplied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Shape, Size, is_at_least, is_symbolic, known, known_shape
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import Expr, apply
from webkiln.nest.steps import View
from webkiln.ops.budget import CALL
from webkiln.ops.conv_cases import conv_cases
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import Cost, Operator, Perm, Traits, define
from webkiln.ops.window import (
    Phase,
    all_in_bounds,
    check_entries,
    phases,
    window_index,
    window_size,
    write_padded,
)

FEW_CHANNELS = 8
"""Below this number of input channels, padding is copied instead of checked for each tap."""


@dataclass(frozen=True, slots=True)
class Conv(Attributes):
    x_dims: tuple[int, ...]
    w_dims: tuple[int, ...]
    out_dims: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    pad_low: Shape
    pad_high: Shape
    groups: Size = 1
    x_dilation: tuple[int, ...] = ()


def _spatial(attrs: Conv, rank: int) -> int:
    count = rank - 2
    check_entries(
        count,
        "spatial axis",
        strides=attrs.strides,
        dilation=attrs.dilation,
        pad_low=attrs.pad_low,
        pad_high=attrs.pad_high,
        x_dilation=_x_dilation(attrs, rank),
    )
    return count


def _x_dilation(attrs: Conv, rank: int) -> tuple[int, ...]:
    """The dilation of each spatial axis of x; an empty attribute means 1."""
    return attrs.x_dilation or (1,) * (rank - 2)


def _conv_types(attrs: Conv, types: Sequence[Type]) -> tuple[Type, ...]:
    x, w = types[:2]
    count = _spatial(attrs, x.rank)
    x_dilation = _x_dilation(attrs, x.rank)
    if w.rank != x.rank or len({item.dtype for item in types}) != 1:
        raise ShapeError(f"input {x} and kernel {w} must have the same rank and dtype")
    for name, dims in (
        ("x_dims", attrs.x_dims),
        ("w_dims", attrs.w_dims),
        ("out_dims", attrs.out_dims),
    ):
        if sorted(dims) != list(range(x.rank)):
            raise ShapeError(f"{name} {list(dims)} is not a permutation of the {x.rank} dimensions")
    channels, kernel = x.shape[attrs.x_dims[1]], w.shape[attrs.w_dims[1]]
    features, groups = w.shape[attrs.w_dims[0]], attrs.groups
    if kernel * groups != channels or features % groups:
        fits = (
            f", groups={channels // kernel} would fit"
            if kernel and channels % kernel == 0 and features % (channels // kernel) == 0
            else ""
        )
        raise ShapeError(
            f"the kernel has {kernel} input channels and {features} features, x has {channels}"
            f" channels; with groups={groups}, the kernel must have {channels}/{groups} input"
            f" channels and a number of features divisible by {groups}{fits}"
        )
    if len(types) == 3 and types[2].shape != (features,):
        raise ShapeError(f"the bias is {types[2]}, expected [{features}]")
    shape: list[Size] = [0] * x.rank
    shape[attrs.out_dims[0]] = x.shape[attrs.x_dims[0]]
    shape[attrs.out_dims[1]] = features
    for axis in range(count):
        size, window = x.shape[attrs.x_dims[axis + 2]], w.shape[attrs.w_dims[axis + 2]]
        shape[attrs.out_dims[axis + 2]] = window_size(
            size,
            window,
            attrs.strides[axis],
            attrs.dilation[axis],
            attrs.pad_low[axis],
            attrs.pad_high[axis],
            x_dilation[axis],
        )
    return (Type(x.dtype, tuple(shape)),)


def _conv_reference(attrs: Conv, x: Array, w: Array, *bias: Array) -> tuple[Array, ...]:
    """The sum over kernel taps of strided slices of the padded input, group by group."""
    channels_first = x.transpose(attrs.x_dims).astype(np.float64)
    kernel = w.transpose(attrs.w_dims).astype(np.float64)
    lows = known_shape(attrs.pad_low, "the padding")
    pads = list(zip(lows, known_shape(attrs.pad_high, "the padding"), strict=True))
    x_dilation = _x_dilation(attrs, x.ndim)
    dilated = np.zeros(
        (
            *channels_first.shape[:2],
            *(
                (size - 1) * gap + 1
                for size, gap in zip(channels_first.shape[2:], x_dilation, strict=True)
            ),
        )
    )
    everything = (slice(None), slice(None))
    dilated[(*everything, *(slice(None, None, gap) for gap in x_dilation))] = channels_first
    inner = (
        slice(max(-low, 0), size - max(-high, 0))
        for size, (low, high) in zip(dilated.shape[2:], pads, strict=True)
    )
    padded = np.pad(
        dilated[(*everything, *inner)],
        [(0, 0), (0, 0), *((max(low, 0), max(high, 0)) for low, high in pads)],
    )
    spans = [(k - 1) * d + 1 for k, d in zip(kernel.shape[2:], attrs.dilation, strict=True)]
    counts = [
        (size - span) // stride + 1
        for size, span, stride in zip(padded.shape[2:], spans, attrs.strides, strict=True)
    ]
    groups = known(attrs.groups, "the number of groups")
    per_group = kernel.shape[0] // groups
    out = np.zeros((x.shape[attrs.x_dims[0]], kernel.shape[0], *counts))
    for tap in product(*map(range, kernel.shape[2:])):
        slices = tuple(
            slice(t * d, t * d + (count - 1) * s + 1, s)
            for t, d, s, count in zip(tap, attrs.dilation, attrs.strides, counts, strict=True)
        )
        window = padded[(*everything, *slices)]
        for group in range(groups):
            features = slice(group * per_group, (group + 1) * per_group)
            channels = slice(group * kernel.shape[1], (group + 1) * kernel.shape[1])
            weights: Array = kernel.reshape(*kernel.shape[:2], -1)[
                features, :, np.ravel_multi_index(tap, kernel.shape[2:])
            ]
            out[:, features] += np.moveaxis(
                np.tensordot(window[:, channels], weights, axes=([1], [1])), -1, 1
            )
    if bias:
        out += bias[0].astype(np.float64).reshape(-1, *[1] * len(counts))
    return (out.transpose(np.argsort(attrs.out_dims)),)


def _conv_work(attrs: Conv, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    kernel = inputs[1].size // max(inputs[1].shape[attrs.w_dims[0]], 1)
    taps = prod(inputs[1].shape[dimension] for dimension in attrs.w_dims[2:])
    return (
        _conv_scratch(attrs, inputs, outputs)
        + outputs[0].size * kernel // PRODUCTS
        + taps * attrs.groups * CALL
    )


def _conv_scratch(attrs: Conv, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """The dilated and padded input."""
    shape = [inputs[0].shape[dimension] for dimension in attrs.x_dims]
    x_dilation = _x_dilation(attrs, len(shape))
    dilated = [(size - 1) * gap + 1 for size, gap in zip(shape[2:], x_dilation, strict=True)]
    padded = [
        size + max(low, 0) + max(high, 0)
        for size, low, high in zip(dilated, attrs.pad_low, attrs.pad_high, strict=True)
    ]
    return prod(shape[:2]) * (prod(dilated) + prod(padded))


def _lower_conv(low: Lowering, attrs: Conv) -> None:
    """One nest per combination of phases (`ops/window.py`). There is only one without `x_dilation`,
    and if symbolic sizes determine which taps read elements: then the dilated input is stored.
    """
    x, w, *bias = low.inputs
    x_dilation = _x_dilation(attrs, x.type.rank)
    pad_low = attrs.pad_low
    if any(is_symbolic(before % gap) for before, gap in zip(pad_low, x_dilation, strict=True)):
        x, x_dilation = _dilated_input(low, x, attrs, x_dilation), (1,) * len(x_dilation)
    few_channels = attrs.groups == 1 and w[attrs.w_dims[1]] < FEW_CHANNELS
    if (
        few_channels
        and max(x_dilation, default=1) == 1
        and all(is_at_least(pad, 0) for pad in (*pad_low, *attrs.pad_high))
        and any((*pad_low, *attrs.pad_high))
    ):
        x = _padded_input(low, x, attrs)
        pad_low = (0,) * len(pad_low)
    rows = zip(attrs.x_dims[2:], attrs.out_dims[2:], attrs.w_dims[2:], strict=True)
    sizes = [
        (x[source], low.outputs[0][target], known(w[window], "a size of the kernel"))
        for source, target, window in rows
    ]
    options = zip(attrs.strides, attrs.dilation, pad_low, x_dilation, strict=True)
    for combination in product(
        *(
            phases(size, count, window, stride, gap, before, inner)
            for (size, count, window), (stride, gap, before, inner) in zip(
                sizes, options, strict=True
            )
        )
    ):
        _lower_phases(low, attrs, x, w, bias, combination)


def _lower_phases(
    low: Lowering,
    attrs: Conv,
    x: View,
    w: View,
    bias: Sequence[View],
    combination: Sequence[Phase],
) -> None:
    """Append the nest of one combination of phases, one per spatial axis."""
    nest = low.nest()
    out = low.outputs[0]
    groups = attrs.groups
    features, channels = w[attrs.w_dims[0]] // groups, w[attrs.w_dims[1]]
    counts = dict(zip(attrs.out_dims[2:], (phase.count for phase in combination), strict=True))

    sizes: list[Size] = []
    extents: list[Size] = []
    role: list[int] = []
    for dimension in range(out.type.rank):
        role.append(len(sizes))
        split = [groups, features] if dimension == attrs.out_dims[1] else [out[dimension]]
        sizes += split
        extents += [counts[dimension]] if dimension in counts else split
    index = list(nest.axes(extents))
    batch = index[role[attrs.out_dims[0]]]
    group, feature = index[role[attrs.out_dims[1]]], index[role[attrs.out_dims[1]] + 1]
    positions = [index[role[dimension]] for dimension in attrs.out_dims[2:]]
    taps = [nest.reduce(phase.taps) for phase in combination]
    channel = nest.reduce(channels)

    checks: list[tuple[Expr, Size]] = []
    reads: list[Expr] = []
    for axis, phase in enumerate(combination):
        reads.append(
            window_index(
                nest,
                positions[axis],
                taps[axis],
                phase.stride,
                phase.dilation,
                phase.low,
                shared=phase.period > 1,
            )
        )
        if phase.padded:
            checks.append((reads[axis], x[attrs.x_dims[axis + 2]]))
        if phase.every > 1:
            taps[axis] = taps[axis] * nest.number(phase.every) + nest.argument(phase.first)
        if phase.period > 1:
            index[role[attrs.out_dims[axis + 2]]] = positions[axis] * nest.number(
                phase.period
            ) + nest.argument(phase.start)
    x_view, x_index = _split(x, attrs.x_dims, batch, (group, channel), reads, [groups, channels])
    w_view, w_index = _split_kernel(w, attrs.w_dims, (group, feature), channel, taps, groups)
    body = nest.load(x_view, x_index, all_in_bounds(nest, checks)) * nest.load(w_view, w_index)
    total = nest.accumulate("sum", body)
    if bias:
        total = total + nest.load(bias[0].reshaped((groups, features)), (group, feature))
    nest.store(out.reshaped(sizes), total, index)
    nest.done()


def _padded_input(low: Lowering, x: View, attrs: Conv) -> View:
    """A padded copy of x. With few channels, it is cheaper than guards on all taps, and without
    guards a row of taps is contiguous in memory.
    """
    before: list[Size] = [0] * x.type.rank
    shape = list(x.shape)
    for dimension, first, last in zip(attrs.x_dims[2:], attrs.pad_low, attrs.pad_high, strict=True):
        before[dimension] = first
        shape[dimension] += first + last
    padded = low.temporary(x.type.dtype, shape)
    write_padded(low, x, padded, before, 0)
    return padded


def _dilated_input(low: Lowering, x: View, attrs: Conv, x_dilation: Sequence[int]) -> View:
    """A copy of x with zeros between its elements."""
    gaps = [
        dict(zip(attrs.x_dims[2:], x_dilation, strict=True)).get(dimension, 1)
        for dimension in range(x.type.rank)
    ]
    dilated = low.temporary(
        x.type.dtype, [(size - 1) * gap + 1 for size, gap in zip(x.shape, gaps, strict=True)]
    )
    nest = low.nest()
    index = nest.axes(dilated.shape)
    source = [
        item if gap == 1 else apply("floordiv", item, nest.argument(gap))
        for item, gap in zip(index, gaps, strict=True)
    ]
    remainders = [
        (item - quotient * nest.argument(gap), 1)
        for item, quotient, gap in zip(index, source, gaps, strict=True)
        if gap > 1
    ]
    nest.store(dilated, nest.load(x, source, all_in_bounds(nest, remainders), 0))
    nest.done()
    return dilated


def _split(
    x: View,
    dims: Sequence[int],
    batch: Expr,
    features: tuple[Expr, Expr],
    positions: Sequence[Expr],
    sizes: Sequence[Size],
) -> tuple[View, list[Expr]]:
    """Reshape the feature dimension of `x` to (group, channel). Returns the view and its index."""
    shape: list[Size] = []
    index: list[Expr] = []
    for dimension in range(x.type.rank):
        if dimension == dims[1]:
            shape += sizes
            index += features
        else:
            shape.append(x[dimension])
            index.append(
                batch if dimension == dims[0] else positions[list(dims).index(dimension) - 2]
            )
    return x.reshaped(shape), index


def _split_kernel(
    w: View,
    dims: Sequence[int],
    features: tuple[Expr, Expr],
    channel: Expr,
    taps: Sequence[Expr],
    groups: Size,
) -> tuple[View, list[Expr]]:
    """Reshape the feature dimension of `w` to (group, feature). Returns the view and its index."""
    shape: list[Size] = []
    index: list[Expr] = []
    for dimension in range(w.type.rank):
        if dimension == dims[0]:
            shape += [groups, w[dimension] // groups]
            index += features
        else:
            shape.append(w[dimension])
            index.append(channel if dimension == dims[1] else taps[list(dims).index(dimension) - 2])
    return w.reshaped(shape), index


def _source_axes(attrs: Conv, rank: int) -> Perm | None:
    return tuple(range(rank)) if attrs.x_dims == attrs.out_dims else None


def _weight_channel_axis(attrs: Conv, position: int, rank: int) -> int | None:
    return attrs.w_dims[0] if position == 1 else None


CONV = define(
    Operator(
        "Conv",
        _conv_types,
        _conv_reference,
        _lower_conv,
        Conv,
        (2, 3),
        conv_cases,
        Traits(source_axes=_source_axes, weight_channel_axis=_weight_channel_axis),
        cost=Cost(_conv_work, _conv_scratch),
    )
)
"""Inputs: x, the kernel w and, optionally, a bias [features]. Output: the convolution.

Attributes:

* `x_dims`, `w_dims`, `out_dims`: the axes of the operands in the order (batch, channel, spatial
  ...), for w (feature, channel, spatial ...). NHWC images have the `x_dims` (0, 3, 1, 2).
* `strides`, `dilation`, `pad_low`, `pad_high`: one entry per spatial axis. Negative padding crops.
* `groups`: w has channels / groups input channels, and a number of features divisible by groups.
* `x_dilation`: the distance of the elements of x, which has zeros between them; empty means 1.
"""
