"""Convolution: n-dimensional, grouped, dilated, strided, asymmetrically padded (or cropped, by
negative padding).

`x_dilation` inserts zeros between the elements of x, as in XLA: a transposed convolution of stride
s is a convolution of x_dilation s with the reversed kernel. The zeros are neither stored nor
multiplied.
"""

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, known, known_shape
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import Expr
from webkiln.ops.budget import CALL
from webkiln.ops.conv_cases import conv_cases
from webkiln.ops.conv_loops import Conv, Element, lower_conv, x_dilation_of
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import Cost, Operator, Perm, Traits, define
from webkiln.ops.window import (
    check_entries,
    window_size,
)

FEW_CHANNELS = 8
"""Below this number of input channels, padding is copied instead of checked for each tap."""


def _spatial(attrs: Conv, rank: int) -> int:
    count = rank - 2
    check_entries(
        count,
        "spatial axis",
        strides=attrs.strides,
        dilation=attrs.dilation,
        pad_low=attrs.pad_low,
        pad_high=attrs.pad_high,
        x_dilation=x_dilation_of(attrs, rank),
    )
    return count


def conv_types(attrs: Conv, types: Sequence[Type]) -> tuple[Type, ...]:
    x, w = types[:2]
    count = _spatial(attrs, x.rank)
    x_dilation = x_dilation_of(attrs, x.rank)
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


def conv_reference(attrs: Conv, x: Array, w: Array, *bias: Array) -> tuple[Array, ...]:
    """The sum over kernel taps of strided slices of the padded input, group by group."""
    channels_first = x.transpose(attrs.x_dims).astype(np.float64)
    kernel = w.transpose(attrs.w_dims).astype(np.float64)
    lows = known_shape(attrs.pad_low, "the padding")
    pads = list(zip(lows, known_shape(attrs.pad_high, "the padding"), strict=True))
    x_dilation = x_dilation_of(attrs, x.ndim)
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


def conv_work(attrs: Conv, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    kernel = inputs[1].size // max(inputs[1].shape[attrs.w_dims[0]], 1)
    taps = prod(inputs[1].shape[dimension] for dimension in attrs.w_dims[2:])
    return (
        conv_scratch(attrs, inputs, outputs)
        + outputs[0].size * kernel // PRODUCTS
        + taps * attrs.groups * CALL
    )


def conv_scratch(attrs: Conv, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """The dilated and padded input."""
    shape = [inputs[0].shape[dimension] for dimension in attrs.x_dims]
    x_dilation = x_dilation_of(attrs, len(shape))
    dilated = [(size - 1) * gap + 1 for size, gap in zip(shape[2:], x_dilation, strict=True)]
    padded = [
        size + max(low, 0) + max(high, 0)
        for size, low, high in zip(dilated, attrs.pad_low, attrs.pad_high, strict=True)
    ]
    return prod(shape[:2]) * (prod(dilated) + prod(padded))


def _lower_conv(low: Lowering, attrs: Conv) -> None:
    x, w, *bias = low.inputs
    few_channels = attrs.groups == 1 and w[attrs.w_dims[1]] < FEW_CHANNELS
    lower_conv(low, attrs, x, w, bias, _product, copies_padding=few_channels)


def _product(
    nest: NestBuilder,
    x: Element,
    w: Element,
    inside: Expr | None,
    feature: tuple[Expr, Expr],
) -> Expr:
    return nest.load(*x, inside) * nest.load(*w)


def conv_source_axes(attrs: Conv, rank: int) -> Perm | None:
    return tuple(range(rank)) if attrs.x_dims == attrs.out_dims else None


def conv_channel_axis(attrs: Conv, position: int, rank: int) -> int | None:
    return attrs.w_dims[0] if position == 1 else None


CONV = define(
    Operator(
        "Conv",
        conv_types,
        conv_reference,
        _lower_conv,
        Conv,
        (2, 3),
        conv_cases,
        Traits(source_axes=conv_source_axes, weight_channel_axis=conv_channel_axis),
        cost=Cost(conv_work, conv_scratch),
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
