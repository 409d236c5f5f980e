"""Convolution: n-dimensional, grouped, dilated, strided, asymmetrically padded (or cropped, by
negative padding).

With `x_dilation` the elements of x lie that far apart with zeros between them, as in XLA: a
transposed convolution of stride s is one of x_dilation s over the kernel turned round. Its zeros
are neither stored nor multiplied.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import is_at_least, is_symbolic
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import Expr, apply
from webkiln.nest.steps import View
from webkiln.ops.budget import CALL
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import REQUIRED, Case, Operator, define
from webkiln.ops.window import Phase, all_inside, phases, window_index, window_size, write_padded

FEW_CHANNELS = 8


def _spatial(attrs: Attributes, rank: int) -> int:
    count = rank - 2
    for name in ("strides", "dilation", "pad_low", "pad_high", "x_dilation"):
        if len(attrs[name]) != count and (attrs[name] or name != "x_dilation"):
            raise ShapeError(
                f"{name} has {len(attrs[name])} entries, there are {count} spatial axes"
            )
    return count


def _x_dilation(attrs: Attributes, rank: int) -> tuple[int, ...]:
    """One number a spatial axis; none at all means 1 each."""
    return tuple(attrs["x_dilation"]) or (1,) * (rank - 2)


def _conv_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    x, w = types[:2]
    count = _spatial(attrs, x.rank)
    spread = _x_dilation(attrs, x.rank)
    if w.rank != x.rank or len({item.dtype for item in types}) != 1:
        raise ShapeError(f"input {x} and kernel {w} must have one rank and dtype")
    for name in ("x_dims", "w_dims", "out_dims"):
        if sorted(attrs[name]) != list(range(x.rank)):
            raise ShapeError(
                f"{name} {list(attrs[name])} is not a permutation of the {x.rank} dimensions"
            )
    channels, kernel = x.shape[attrs["x_dims"][1]], w.shape[attrs["w_dims"][1]]
    features, groups = w.shape[attrs["w_dims"][0]], attrs["groups"]
    if kernel * groups != channels or features % groups:
        fits = (
            f", groups={channels // kernel} would fit"
            if kernel and channels % kernel == 0 and features % (channels // kernel) == 0
            else ""
        )
        raise ShapeError(
            f"the kernel has {kernel} input channels and {features} features, x has {channels}"
            f" channels; with groups={groups} the kernel needs {channels}/{groups} input channels"
            f" and features divisible by {groups}{fits}"
        )
    if len(types) == 3 and types[2].shape != (features,):
        raise ShapeError(f"the bias is {types[2]}, expected [{features}]")
    shape = [0] * x.rank
    shape[attrs["out_dims"][0]] = x.shape[attrs["x_dims"][0]]
    shape[attrs["out_dims"][1]] = features
    for axis in range(count):
        size, window = x.shape[attrs["x_dims"][axis + 2]], w.shape[attrs["w_dims"][axis + 2]]
        shape[attrs["out_dims"][axis + 2]] = window_size(
            size,
            window,
            attrs["strides"][axis],
            attrs["dilation"][axis],
            attrs["pad_low"][axis],
            attrs["pad_high"][axis],
            spread[axis],
        )
    return (Type(x.dtype, tuple(shape)),)


def _conv_reference(attrs: Attributes, x: Array, w: Array, *bias: Array) -> tuple[Array, ...]:
    """Sum over kernel taps of strided slices of the padded input, group by group."""
    moved = x.transpose(attrs["x_dims"]).astype(np.float64)
    kernel = w.transpose(attrs["w_dims"]).astype(np.float64)
    pads = list(zip(attrs["pad_low"], attrs["pad_high"], strict=True))
    spread = _x_dilation(attrs, x.ndim)
    wide = np.zeros(
        (
            *moved.shape[:2],
            *((size - 1) * gap + 1 for size, gap in zip(moved.shape[2:], spread, strict=True)),
        )
    )
    everything = (slice(None), slice(None))
    wide[(*everything, *(slice(None, None, gap) for gap in spread))] = moved
    inner = (
        slice(max(-low, 0), size - max(-high, 0))
        for size, (low, high) in zip(wide.shape[2:], pads, strict=True)
    )
    padded = np.pad(
        wide[(*everything, *inner)],
        [(0, 0), (0, 0), *((max(low, 0), max(high, 0)) for low, high in pads)],
    )
    spans = [(k - 1) * d + 1 for k, d in zip(kernel.shape[2:], attrs["dilation"], strict=True)]
    counts = [
        (size - span) // stride + 1
        for size, span, stride in zip(padded.shape[2:], spans, attrs["strides"], strict=True)
    ]
    groups, per_group = attrs["groups"], kernel.shape[0] // attrs["groups"]
    out = np.zeros((x.shape[attrs["x_dims"][0]], kernel.shape[0], *counts))
    for tap in product(*map(range, kernel.shape[2:])):
        places = tuple(
            slice(t * d, t * d + (count - 1) * s + 1, s)
            for t, d, s, count in zip(tap, attrs["dilation"], attrs["strides"], counts, strict=True)
        )
        window = padded[(*everything, *places)]
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
    return (out.transpose(np.argsort(attrs["out_dims"])),)


def _conv_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    kernel = inputs[1].size // max(inputs[1].shape[attrs["w_dims"][0]], 1)
    taps = prod(inputs[1].shape[dimension] for dimension in attrs["w_dims"][2:])
    return int(
        _conv_scratch(attrs, inputs, outputs)
        + outputs[0].size * kernel // PRODUCTS
        + taps * attrs["groups"] * CALL
    )


def _conv_scratch(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """The dilated and padded input."""
    shape = [inputs[0].shape[dimension] for dimension in attrs["x_dims"]]
    spread = _x_dilation(attrs, len(shape))
    wide = [(size - 1) * gap + 1 for size, gap in zip(shape[2:], spread, strict=True)]
    padded = [
        size + max(low, 0) + max(high, 0)
        for size, low, high in zip(wide, attrs["pad_low"], attrs["pad_high"], strict=True)
    ]
    return int(prod(shape[:2]) * (prod(wide) + prod(padded)))


def _lower_conv(low: Lowering, attrs: Attributes) -> None:
    """One nest for each combination of phases: one in all without `x_dilation`, or where open sizes
    say which taps meet elements.
    """
    x, w, *bias = low.inputs
    spread = _x_dilation(attrs, x.type.rank)
    pad_low = attrs["pad_low"]
    if any(is_symbolic(before % gap) for before, gap in zip(pad_low, spread, strict=True)):
        x, spread = _spread_input(low, x, attrs, spread), (1,) * len(spread)
    thin = attrs["groups"] == 1 and w[attrs["w_dims"][1]] < FEW_CHANNELS
    if (
        thin
        and max(spread, default=1) == 1
        and all(is_at_least(pad, 0) for pad in (*pad_low, *attrs["pad_high"]))
        and any((*pad_low, *attrs["pad_high"]))
    ):
        x = _padded_input(low, x, attrs)
        pad_low = (0,) * len(pad_low)
    rows = zip(attrs["x_dims"][2:], attrs["out_dims"][2:], attrs["w_dims"][2:], strict=True)
    sizes = [(x[source], low.outputs[0][place], w[window]) for source, place, window in rows]
    options = zip(attrs["strides"], attrs["dilation"], pad_low, spread, strict=True)
    for chosen in product(
        *(phases(*size, *option) for size, option in zip(sizes, options, strict=True))
    ):
        _lower_phase(low, attrs, x, w, bias, chosen)


def _lower_phase(
    low: Lowering,
    attrs: Attributes,
    x: View,
    w: View,
    bias: Sequence[View],
    chosen: Sequence[Phase],
) -> None:
    nest = low.nest()
    out = low.outputs[0]
    groups = attrs["groups"]
    features, channels = w[attrs["w_dims"][0]] // groups, w[attrs["w_dims"][1]]
    counts = dict(zip(attrs["out_dims"][2:], (phase.count for phase in chosen), strict=True))

    sizes: list[int] = []
    extents: list[int] = []
    role: list[int] = []
    for dimension in range(out.type.rank):
        role.append(len(sizes))
        split = [groups, features] if dimension == attrs["out_dims"][1] else [out[dimension]]
        sizes += split
        extents += [counts[dimension]] if dimension in counts else split
    index = list(nest.axes(extents))
    batch = index[role[attrs["out_dims"][0]]]
    group, feature = index[role[attrs["out_dims"][1]]], index[role[attrs["out_dims"][1]] + 1]
    places = [index[role[dimension]] for dimension in attrs["out_dims"][2:]]
    taps = [nest.reduce(phase.taps) for phase in chosen]
    channel = nest.reduce(channels)

    checks: list[tuple[Expr, int]] = []
    reads: list[Expr] = []
    for axis, phase in enumerate(chosen):
        reads.append(
            window_index(
                nest,
                places[axis],
                taps[axis],
                phase.stride,
                phase.dilation,
                phase.low,
                shared=phase.period > 1,
            )
        )
        if phase.padded:
            checks.append((reads[axis], x[attrs["x_dims"][axis + 2]]))
        if phase.every > 1:
            taps[axis] = taps[axis] * nest.number(phase.every) + nest.argument(phase.first)
        if phase.period > 1:
            index[role[attrs["out_dims"][axis + 2]]] = places[axis] * nest.number(
                phase.period
            ) + nest.argument(phase.start)
    x_view, x_index = _split(x, attrs["x_dims"], batch, (group, channel), reads, [groups, channels])
    w_view, w_index = _split_kernel(w, attrs["w_dims"], (group, feature), channel, taps, groups)
    body = nest.load(x_view, x_index, all_inside(nest, checks)) * nest.load(w_view, w_index)
    total = nest.accumulate("sum", body)
    if bias:
        total = total + nest.load(bias[0].reshaped((groups, features)), (group, feature))
    nest.store(out.reshaped(sizes), total, index)
    nest.done()


def _padded_input(low: Lowering, x: View, attrs: Attributes) -> View:
    """A padded copy, cheaper than asking at every tap where few channels follow; without guards a
    row of taps is one run of memory.
    """
    before, shape = [0] * x.type.rank, list(x.shape)
    for dimension, first, last in zip(
        attrs["x_dims"][2:], attrs["pad_low"], attrs["pad_high"], strict=True
    ):
        before[dimension] = first
        shape[dimension] += first + last
    wide = low.temporary(x.type.dtype, shape)
    write_padded(low, x, wide, before, 0)
    return wide


def _spread_input(low: Lowering, x: View, attrs: Attributes, spread: Sequence[int]) -> View:
    """A copy with the zeros between its elements."""
    gaps = [
        dict(zip(attrs["x_dims"][2:], spread, strict=True)).get(dimension, 1)
        for dimension in range(x.type.rank)
    ]
    wide = low.temporary(
        x.type.dtype, [(size - 1) * gap + 1 for size, gap in zip(x.shape, gaps, strict=True)]
    )
    nest = low.nest()
    places = nest.axes(wide.shape)
    source = [
        place if gap == 1 else apply("floordiv", place, nest.argument(gap))
        for place, gap in zip(places, gaps, strict=True)
    ]
    rests = [
        (place - whole * nest.argument(gap), 1)
        for place, whole, gap in zip(places, source, gaps, strict=True)
        if gap > 1
    ]
    nest.store(wide, nest.load(x, source, all_inside(nest, rests), 0))
    nest.done()
    return wide


def _split(
    x: View,
    dims: Sequence[int],
    batch: Expr,
    features: tuple[Expr, Expr],
    places: Sequence[Expr],
    sizes: Sequence[int],
) -> tuple[View, list[Expr]]:
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
    w: View,
    dims: Sequence[int],
    features: tuple[Expr, Expr],
    channel: Expr,
    taps: Sequence[Expr],
    groups: int,
) -> tuple[View, list[Expr]]:
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
PLAIN_2D = {
    "strides": (1, 1),
    "dilation": (1, 1),
    "pad_low": (0, 0),
    "pad_high": (0, 0),
    "groups": 1,
}


def _conv_cases() -> Iterable[Case]:
    rng = np.random.default_rng(1)

    def make(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float32)

    def case(name: str, x: Array, w: Array, *bias: Array, **attrs: object) -> Case:
        return Case((x, w, *bias), PLAIN_2D | attrs, 1e-5, name)

    yield case("plain", make(1, 7, 6, 3), make(3, 3, 3, 5), **NHWC)
    yield case("wide", make(2, 9, 8, 8), make(3, 3, 8, 37), make(37), **NHWC)
    yield case(
        "few_features",
        make(1, 6, 7, 16),
        make(3, 3, 16, 3),
        make(3),
        **NHWC | {"pad_low": (1, 1), "pad_high": (1, 1)},
    )
    yield case("one_by_one", make(1, 5, 5, 16), make(1, 1, 16, 32), make(32), **NHWC)
    yield case(
        "every_option",
        make(2, 9, 8, 6),
        make(3, 2, 3, 8),
        make(8),
        **NHWC
        | {
            "groups": 2,
            "strides": (2, 1),
            "dilation": (1, 3),
            "pad_low": (1, 0),
            "pad_high": (0, 2),
        },
    )
    yield case(
        "depthwise",
        make(1, 8, 8, 20),
        make(3, 3, 1, 20),
        **NHWC | {"groups": 20, "pad_low": (1, 1), "pad_high": (1, 1)},
    )
    yield case("multiplier", make(1, 6, 6, 4), make(3, 3, 1, 8), **NHWC | {"groups": 4})
    yield case(
        "channels_first",
        make(2, 4, 7, 9),
        make(8, 2, 3, 3),
        make(8),
        **NCHW | {"groups": 2, "pad_low": (2, 0), "pad_high": (1, 1), "strides": (2, 2)},
    )
    transposed = {**NHWC, "x_dilation": (2, 2)}
    yield case(
        "transposed",
        make(1, 4, 5, 6),
        make(4, 4, 6, 20),
        make(20),
        **transposed | {"pad_low": (2, 2), "pad_high": (2, 2)},
    )
    yield case(
        "transposed_odd",
        make(2, 4, 3, 6),
        make(3, 3, 3, 8),
        **transposed | {"groups": 2, "pad_low": (2, 1), "pad_high": (1, 2)},
    )
    yield case(
        "transposed_gap",
        make(1, 3, 4, 5),
        make(1, 2, 5, 8),
        make(8),
        **transposed | {"x_dilation": (3, 4), "pad_low": (0, 1), "pad_high": (2, 3)},
    )
    yield case(
        "transposed_crop",
        make(1, 5, 4, 3),
        make(2, 3, 3, 4),
        **transposed
        | {
            "strides": (3, 4),
            "dilation": (2, 3),
            "pad_low": (-1, 4),
            "pad_high": (2, -1),
        },
    )
    yield case(
        "crop",
        make(1, 8, 9, 3),
        make(3, 3, 3, 4),
        **NHWC | {"pad_low": (-1, 2), "pad_high": (1, -2)},
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


define(
    Operator(
        "Conv",
        _conv_types,
        _conv_reference,
        _lower_conv,
        dict.fromkeys(
            ("x_dims", "w_dims", "out_dims", "strides", "dilation", "pad_low", "pad_high"), REQUIRED
        )
        | {"groups": 1, "x_dilation": ()},
        (2, 3),
        _conv_cases,
        work=_conv_work,
        scratch=_conv_scratch,
    )
)
