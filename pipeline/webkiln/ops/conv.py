"""Convolution: one nest, n-dimensional, grouped, dilated, strided, asymmetrically padded."""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering, View
from webkiln.nest.expr import Expr
from webkiln.ops.operator import REQUIRED, Case, Operator, define
from webkiln.ops.window import all_inside, window_index, window_size, write_padded

FEW_CHANNELS = 8


def _spatial(attrs: Attributes, rank: int) -> int:
    count = rank - 2
    for name in ("strides", "dilation", "pad_low", "pad_high"):
        if len(attrs[name]) != count:
            raise ShapeError(f"{name} has {len(attrs[name])} entries, there are {count} spatial axes")
    return count


def _conv_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    x, w = types[:2]
    count = _spatial(attrs, x.rank)
    if w.rank != x.rank or len({item.dtype for item in types}) != 1:
        raise ShapeError(f"input {x} and kernel {w} must have one rank and dtype")
    for name in ("x_dims", "w_dims", "out_dims"):
        if sorted(attrs[name]) != list(range(x.rank)):
            raise ShapeError(f"{name} {list(attrs[name])} is not a permutation of the {x.rank} dimensions")
    channels, kernel = x.shape[attrs["x_dims"][1]], w.shape[attrs["w_dims"][1]]
    features, groups = w.shape[attrs["w_dims"][0]], attrs["groups"]
    if kernel * groups != channels or features % groups:
        fits = (
            f", groups={channels // kernel} would fit" if kernel and channels % kernel == 0 and features % (channels // kernel) == 0 else ""
        )
        raise ShapeError(
            f"the kernel has {kernel} input channels and {features} features, x has {channels} channels; with groups={groups} the kernel needs "
            f"{channels}/{groups} input channels and features divisible by {groups}{fits}"
        )
    if len(types) == 3 and types[2].shape != (features,):
        raise ShapeError(f"the bias is {types[2]}, expected [{features}]")
    shape = [0] * x.rank
    shape[attrs["out_dims"][0]] = x.shape[attrs["x_dims"][0]]
    shape[attrs["out_dims"][1]] = features
    for axis in range(count):
        size, window = x.shape[attrs["x_dims"][axis + 2]], w.shape[attrs["w_dims"][axis + 2]]
        shape[attrs["out_dims"][axis + 2]] = window_size(
            size, window, attrs["strides"][axis], attrs["dilation"][axis], attrs["pad_low"][axis], attrs["pad_high"][axis]
        )
    return (Type(x.dtype, tuple(shape)),)


def _conv_reference(attrs: Attributes, x: Array, w: Array, *bias: Array) -> tuple[Array, ...]:
    """Sum over kernel taps of strided slices of the padded input, group by group."""
    moved = x.transpose(attrs["x_dims"]).astype(np.float64)
    kernel = w.transpose(attrs["w_dims"]).astype(np.float64)
    padded = np.pad(moved, [(0, 0), (0, 0), *zip(attrs["pad_low"], attrs["pad_high"], strict=True)])
    spans = [(k - 1) * d + 1 for k, d in zip(kernel.shape[2:], attrs["dilation"], strict=True)]
    counts = [(size - span) // stride + 1 for size, span, stride in zip(padded.shape[2:], spans, attrs["strides"], strict=True)]
    groups, per_group = attrs["groups"], kernel.shape[0] // attrs["groups"]
    out = np.zeros((x.shape[attrs["x_dims"][0]], kernel.shape[0], *counts))
    for tap in product(*map(range, kernel.shape[2:])):
        places = tuple(
            slice(t * d, t * d + (count - 1) * s + 1, s)
            for t, d, s, count in zip(tap, attrs["dilation"], attrs["strides"], counts, strict=True)
        )
        window = padded[(slice(None), slice(None), *places)]
        for group in range(groups):
            features = slice(group * per_group, (group + 1) * per_group)
            channels = slice(group * kernel.shape[1], (group + 1) * kernel.shape[1])
            weights: Array = kernel.reshape(*kernel.shape[:2], -1)[features, :, np.ravel_multi_index(tap, kernel.shape[2:])]
            out[:, features] += np.moveaxis(np.tensordot(window[:, channels], weights, axes=([1], [1])), -1, 1)
    if bias:
        out += bias[0].astype(np.float64).reshape(-1, *[1] * len(counts))
    return (out.transpose(np.argsort(attrs["out_dims"])),)


def _lower_conv(low: Lowering, attrs: Attributes) -> None:
    x, w, *bias = low.inputs
    out = low.outputs[0]
    groups = attrs["groups"]
    features, channels = w[attrs["w_dims"][0]] // groups, w[attrs["w_dims"][1]]
    count = x.type.rank - 2
    pad_low, pad_high = attrs["pad_low"], attrs["pad_high"]
    if groups == 1 and channels < FEW_CHANNELS and any((*pad_low, *pad_high)):
        x = _padded_input(low, x, attrs)
        pad_low = pad_high = (0,) * count
    nest = low.nest()

    sizes: list[int] = []
    role: list[int] = []
    for dimension in range(out.type.rank):
        if dimension == attrs["out_dims"][1]:
            role += [len(sizes)]
            sizes += [groups, features]
        else:
            role += [len(sizes)]
            sizes += [out[dimension]]
    index = nest.axes(sizes)
    batch = index[role[attrs["out_dims"][0]]]
    group, feature = index[role[attrs["out_dims"][1]]], index[role[attrs["out_dims"][1]] + 1]
    places = [index[role[dimension]] for dimension in attrs["out_dims"][2:]]
    taps = [nest.reduce(w[dimension]) for dimension in attrs["w_dims"][2:]]
    channel = nest.reduce(channels)

    x_sizes = [groups, channels]
    checks: list[tuple[Expr, int]] = []
    reads: list[Expr] = []
    for axis in range(count):
        position = window_index(nest, places[axis], taps[axis], attrs["strides"][axis], attrs["dilation"][axis], pad_low[axis])
        reads.append(position)
        if pad_low[axis] or pad_high[axis]:
            checks.append((position, x[attrs["x_dims"][axis + 2]]))
    x_view, x_index = _split(x, attrs["x_dims"], batch, (group, channel), reads, x_sizes)
    w_view, w_index = _split_kernel(w, attrs["w_dims"], (group, feature), channel, taps, groups)
    body = nest.load(x_view, x_index, all_inside(nest, checks)) * nest.load(w_view, w_index)
    total = nest.accumulate("sum", body)
    if bias:
        total = total + nest.load(bias[0].reshaped((groups, features)), (group, feature))
    nest.store(out.reshaped(sizes), total)
    nest.done()


def _padded_input(low: Lowering, x: View, attrs: Attributes) -> View:
    """A padded copy, cheaper than asking at every tap where few channels follow; without guards a row of taps is one run of memory."""
    before, shape = [0] * x.type.rank, list(x.shape)
    for dimension, first, last in zip(attrs["x_dims"][2:], attrs["pad_low"], attrs["pad_high"], strict=True):
        before[dimension] = first
        shape[dimension] += first + last
    wide = low.temporary(x.type.dtype, shape)
    write_padded(low, x, wide, before, 0)
    return wide


def _split(
    x: View, dims: Sequence[int], batch: Expr, features: tuple[Expr, Expr], places: Sequence[Expr], sizes: Sequence[int]
) -> tuple[View, list[Expr]]:  # fmt: skip
    """See the feature dimension of `x` as (group, channel)."""
    shape: list[int] = []
    index: list[Expr] = []
    for dimension in range(x.type.rank):
        if dimension == dims[1]:
            shape += sizes
            index += features
        else:
            shape.append(x[dimension])
            index.append(batch if dimension == dims[0] else places[list(dims).index(dimension) - 2])
    return x.reshaped(shape), index


def _split_kernel(
    w: View, dims: Sequence[int], features: tuple[Expr, Expr], channel: Expr, taps: Sequence[Expr], groups: int
) -> tuple[View, list[Expr]]:  # fmt: skip
    """See the output features of `w` as (group, feature)."""
    shape: list[int] = []
    index: list[Expr] = []
    for dimension in range(w.type.rank):
        if dimension == dims[0]:
            shape += [groups, w[dimension] // groups]
            index += features
        else:
            shape.append(w[dimension])
            index.append(channel if dimension == dims[1] else taps[list(dims).index(dimension) - 2])
    return w.reshaped(shape), index


NHWC = {"x_dims": (0, 3, 1, 2), "w_dims": (3, 2, 0, 1), "out_dims": (0, 3, 1, 2)}
NCHW = {"x_dims": (0, 1, 2, 3), "w_dims": (0, 1, 2, 3), "out_dims": (0, 1, 2, 3)}
PLAIN_2D = {"strides": (1, 1), "dilation": (1, 1), "pad_low": (0, 0), "pad_high": (0, 0), "groups": 1}


def _conv_cases() -> Iterable[Case]:
    rng = np.random.default_rng(1)

    def make(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float32)

    def case(name: str, x: Array, w: Array, *bias: Array, **attrs: object) -> Case:
        return Case((x, w, *bias), PLAIN_2D | attrs, 1e-5, name)

    yield case("plain", make(1, 7, 6, 3), make(3, 3, 3, 5), **NHWC)
    yield case("wide", make(2, 9, 8, 8), make(3, 3, 8, 37), make(37), **NHWC)
    yield case("one_by_one", make(1, 5, 5, 16), make(1, 1, 16, 32), make(32), **NHWC)
    yield case(
        "every_option",
        make(2, 9, 8, 6),
        make(3, 2, 3, 8),
        make(8),
        **NHWC | {"groups": 2, "strides": (2, 1), "dilation": (1, 3), "pad_low": (1, 0), "pad_high": (0, 2)},
    )
    yield case("depthwise", make(1, 8, 8, 20), make(3, 3, 1, 20), **NHWC | {"groups": 20, "pad_low": (1, 1), "pad_high": (1, 1)})
    yield case("multiplier", make(1, 6, 6, 4), make(3, 3, 1, 8), **NHWC | {"groups": 4})
    yield case(
        "channels_first",
        make(2, 4, 7, 9),
        make(8, 2, 3, 3),
        make(8),
        **NCHW | {"groups": 2, "pad_low": (2, 0), "pad_high": (1, 1), "strides": (2, 2)},
    )
    yield Case(
        (make(2, 20, 3), make(5, 3, 4)),
        {
            "x_dims": (0, 2, 1),
            "w_dims": (2, 1, 0),
            "out_dims": (0, 2, 1),
            "strides": (1,),
            "dilation": (2,),
            "pad_low": (8,),
            "pad_high": (0,),
            "groups": 1,
        },
        name="causal_1d",
    )
    yield Case(
        (make(1, 4, 5, 6, 2), make(2, 3, 3, 2, 5), make(5)),
        {
            "x_dims": (0, 4, 1, 2, 3),
            "w_dims": (4, 3, 0, 1, 2),
            "out_dims": (0, 4, 1, 2, 3),
            "strides": (1, 2, 1),
            "dilation": (1, 1, 1),
            "pad_low": (0, 1, 1),
            "pad_high": (1, 1, 1),
            "groups": 1,
        },
        name="three_d",
    )


define(Operator(
    "Conv", _conv_types, _conv_reference, _lower_conv,
    dict.fromkeys(("x_dims", "w_dims", "out_dims", "strides", "dilation", "pad_low", "pad_high"), REQUIRED) | {"groups": 1}, (2, 3), _conv_cases,
))  # fmt: skip
