"""Convolutions, pooling and other functions of windows. Batch and channels are the first axes."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.errors import ShapeError, SourceError
from webkiln.frontends.chainer.functions.shape import concat, reshape, transpose
from webkiln.frontends.chainer.sizes import is_open
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, nodes, sizes


def spread(value: Any, count: int) -> tuple[int, ...]:
    """One number per axis, or one for all."""
    values = tuple(value) if isinstance(value, list | tuple | np.ndarray) else (value,) * count
    if len(values) != count:
        raise ShapeError(f"{values} has {len(values)} numbers for {count} axes")
    return tuple(int(item) for item in values)


def pads_of(pad: tuple[int, ...], more: tuple[int, ...] | None = None) -> tuple[int, ...]:
    return (
        *pad,
        *(before + after for before, after in zip(pad, more or (0,) * len(pad), strict=True)),
    )


def convolution(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    cover_all: bool = False,
    dilate: Any = 1,
    groups: int = 1,
    **kwargs: Any,
) -> ChainVariable:
    """With `cover_all`, add a window if the last one would omit elements."""
    x, W = as_variable(x), as_variable(W)
    count = x.ndim - 2
    strides, gaps = spread(stride, count), spread(dilate, count)
    pads = pads_of(spread(pad, count), tuple(step - 1 for step in strides) if cover_all else None)
    return node("Conv", x, W, b, strides=strides, pads=pads, dilations=gaps, group=groups)


def convolution_of(count: int) -> Callable[..., ChainVariable]:
    def function(x: Any, *args: Any, **options: Any) -> ChainVariable:
        if as_variable(x).ndim != count + 2:
            raise ShapeError(
                f"the input has {as_variable(x).ndim} axes, {list(as_variable(x).shape)}; expected"
                f" {count + 2}"
            )
        return convolution(x, *args, **options)

    return function


def deconvolution(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Any = None,
    dilate: Any = 1,
    groups: int = 1,
    **kwargs: Any,
) -> ChainVariable:
    """The output size of a transposed convolution, or `outsize`."""
    x, W = as_variable(x), as_variable(W)
    count = x.ndim - 2
    strides, before, gaps = spread(stride, count), spread(pad, count), spread(dilate, count)
    after = before
    if outsize is not None:
        full = [
            (n - 1) * step + (k - 1) * gap + 1
            for n, step, k, gap in zip(x.shape[2:], strides, W.shape[2:], gaps, strict=True)
        ]
        after = tuple(
            n - first - want for n, first, want in zip(full, before, outsize, strict=True)
        )
    extra = tuple(max(-int(item), 0) for item in after)
    pads = (*before, *(max(int(item), 0) for item in after))
    return node(
        "ConvTranspose",
        x,
        W,
        b,
        strides=strides,
        pads=pads,
        dilations=gaps,
        group=groups,
        output_padding=extra if any(extra) else None,
    )


def dilated_convolution_2d(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    dilate: Any = 1,
    cover_all: bool = False,
) -> ChainVariable:
    return convolution(x, W, b, stride, pad, cover_all, dilate)


def depthwise_convolution_2d(
    x: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0
) -> ChainVariable:
    """The kernel is [multiplier, channels, height, width]."""
    W = as_variable(W)
    multiplier, channels, height, width = W.shape
    kernel = reshape(transpose(W, (1, 0, 2, 3)), (multiplier * channels, 1, height, width))
    return convolution(x, kernel, b, stride, pad, groups=channels)


def columns(
    x: Any, ksize: Any, stride: Any, pad: Any, cover_all: bool, dilate: Any
) -> ChainVariable:
    """The windows of an image, [N, C * taps, ...]: a convolution with one-hot kernels."""
    x = as_variable(x)
    count = x.ndim - 2
    window = spread(ksize, count)
    taps, channels = int(np.prod(window)), x.shape[1]
    kernel = np.tile(
        np.eye(taps, dtype=x.dtype).reshape(taps, 1, *window), (channels, *[1] * (count + 1))
    )
    return convolution(x, kernel, None, stride, pad, cover_all, dilate, groups=channels)


def im2col(
    x: Any, ksize: Any, stride: Any = 1, pad: Any = 0, cover_all: bool = False, dilate: Any = 1
) -> ChainVariable:
    return columns(x, ksize, stride, pad, cover_all, dilate)


def local_convolution_2d(x: Any, W: Any, b: Any = None, stride: Any = 1) -> ChainVariable:
    """One kernel per position: [out, rows, columns, in, height, width]."""
    x, W = as_variable(x), as_variable(W)
    out, rows, across, channels, height, width = W.shape
    patches = columns(x, (height, width), stride, 0, False, 1)
    taps = channels * height * width
    left = reshape(
        transpose(reshape(patches, (-1, taps, rows * across)), (2, 0, 1)), (rows * across, -1, taps)
    )
    right = reshape(transpose(W, (1, 2, 3, 4, 5, 0)), (rows * across, taps, out))
    y = reshape(transpose(node("MatMul", left, right), (1, 2, 0)), (-1, out, rows, across))
    return y if b is None else node("Add", y, as_variable(b))


def shift(x: Any, ksize: Any = 3, dilate: Any = 1) -> ChainVariable:
    """Shift each group of channels by its position in the window. The last group does not move."""
    x = as_variable(x)
    (height, width), (down, across), channels = spread(ksize, 2), spread(dilate, 2), x.shape[1]
    if not height % 2 or not width % 2:
        raise SourceError(f"F.shift: a window of {height} by {width} has no centre")
    groups = height * width
    size, middle = channels // groups, (groups - 1) // 2
    kernel = np.zeros((channels, 1, height, width), x.dtype)
    for channel in range(channels):
        group = min(channel // size, groups - 1) if size else groups - 1
        positions = {middle: groups - 1, groups - 1: middle}.get(group, group)
        kernel[channel, 0, height - 1 - positions // width, width - 1 - positions % width] = 1
    return convolution(
        x,
        kernel,
        None,
        1,
        (down * (height // 2), across * (width // 2)),
        False,
        dilate,
        groups=channels,
    )


def max_pooling(
    x: Any,
    ksize: Any,
    stride: Any = None,
    pad: Any = 0,
    cover_all: bool = True,
    return_indices: bool = False,
) -> Any:
    x = as_variable(x)
    count = x.ndim - 2
    window = spread(ksize, count)
    strides, before = window if stride is None else spread(stride, count), spread(pad, count)
    pads = pads_of(before, tuple(step - 1 for step in strides) if cover_all else None)
    attrs: dict[str, Any] = {"kernel_shape": window, "strides": strides, "pads": pads}
    if not return_indices:
        return node("MaxPool", x, **attrs)
    y, indices = nodes("MaxPool", 2, x, **attrs)
    return y, _within(x, y, indices, window, strides, before)


def _within(
    x: ChainVariable,
    y: ChainVariable,
    flat: ChainVariable,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    before: tuple[int, ...],
) -> ChainVariable:
    """Indices within windows, from indices in the tensor."""
    result: ChainVariable | None = None
    inner: Any = 1
    parts = []
    for axis in reversed(range(2, x.ndim)):
        parts.append(node("Mod", node("Div", flat, inner), x.shape[axis]))
        inner = inner * x.shape[axis]
    for number, part in enumerate(reversed(parts)):
        steps = node(
            "Range",
            np.asarray(0, np.int64),
            sizes_scalar(y.shape[number + 2]),
            np.asarray(1, np.int64),
        )
        start = node("Add", node("Mul", steps, strides[number]), -before[number])
        offset = node(
            "Sub",
            part,
            reshape(start, [y.shape[number + 2] if d == number + 2 else 1 for d in range(y.ndim)]),
        )
        result = (
            offset if result is None else node("Add", node("Mul", result, window[number]), offset)
        )
    assert result is not None
    return node("Cast", result, to=6)


def sizes_scalar(size: Any) -> ChainVariable:
    return node("Squeeze", sizes([size]), axes=(0,))


def average_pooling(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, pad_value: Any = 0
) -> ChainVariable:
    """Padding is zeros; with None, it is not counted."""
    x = as_variable(x)
    count = x.ndim - 2
    if pad_value not in (0, None):
        raise SourceError(f"average pooling has a pad_value of {pad_value}, expected 0 or None")
    window = spread(ksize, count)
    strides = window if stride is None else spread(stride, count)
    counted = 0 if pad_value is None else 1
    return node(
        "AveragePool",
        x,
        kernel_shape=window,
        strides=strides,
        pads=pads_of(spread(pad, count)),
        count_include_pad=counted,
    )


def unpooling(
    x: Any,
    ksize: Any,
    stride: Any = None,
    pad: Any = 0,
    outsize: Any = None,
    cover_all: bool = True,
) -> ChainVariable:
    """Write each element to every position of its window, and sum overlapping windows."""
    x = as_variable(x)
    count = x.ndim - 2
    window = spread(ksize, count)
    strides = window if stride is None else spread(stride, count)
    out = (
        _unpooled(x, window, strides, spread(pad, count), cover_all)
        if outsize is None
        else tuple(outsize)
    )
    kernel = np.ones((x.shape[1], 1, *window), x.dtype)
    return deconvolution(x, kernel, None, strides, pad, out, groups=x.shape[1])


def _unpooled(
    x: ChainVariable,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    pad: tuple[int, ...],
    cover_all: bool,
) -> tuple[Any, ...]:
    rows = zip(x.shape[2:], window, strides, pad, strict=True)
    return tuple(
        step * (size - 1) + k - (step - 1 if cover_all else 0) - 2 * before
        for size, k, step, before in rows
    )


def upsampling_2d(
    x: Any,
    indexes: Any,
    ksize: Any,
    stride: Any = None,
    pad: Any = 0,
    outsize: Any = None,
    cover_all: bool = True,
) -> ChainVariable:
    """Write each element to one position of its window, found by pooling."""
    x = as_variable(x)
    window = spread(ksize, 2)
    strides, before = window if stride is None else spread(stride, 2), spread(pad, 2)
    out = _unpooled(x, window, strides, before, cover_all) if outsize is None else tuple(outsize)
    taps = window[0] * window[1]
    numbers = np.arange(taps, dtype=np.int64).reshape(1, 1, taps, 1, 1)
    n, channels, height, width = x.shape
    expanded = (n, channels, 1, height, width)
    chosen = node("Equal", reshape(node("Cast", as_variable(indexes), to=7), expanded), numbers)
    values = node("Mul", node("Cast", chosen, to=1), reshape(x, expanded))
    after = tuple(
        (n_ - 1) * s + k - o - p
        for n_, s, k, o, p in zip((height, width), strides, window, out, before, strict=True)
    )
    flat = reshape(values, (n, channels * taps, height * width))
    output_sizes = tuple(
        (n_ - 1) * s + k for n_, s, k in zip((height, width), strides, window, strict=True)
    )
    image = node("Col2Im", flat, sizes(output_sizes), sizes(window), strides=strides)
    ends = [first + size for first, size in zip(before, out, strict=True)]
    if any(int(item) < 0 for item in after):
        pads = [0, 0, 0, 0, 0, 0, *(max(-int(item), 0) for item in after)]
        image = node("Pad", image, sizes(pads))
    return node("Slice", image, sizes(before), sizes(ends), sizes([2, 3]), sizes([1, 1]))


def spatial_pyramid_pooling_2d(
    x: Any, pyramid_height: int, pooling_class: Any = None, pooling: Any = None
) -> ChainVariable:
    """The maxima of 1, 4, 16, ... bins."""
    x = as_variable(x)
    chosen = pooling or pooling_class
    if chosen not in (None, "max"):
        raise SourceError(f"F.spatial_pyramid_pooling_2d: pooling is {chosen!r}, expected max")
    height, width = x.shape[2:]
    if is_open(height) or is_open(width):
        raise SourceError(
            "F.spatial_pyramid_pooling_2d: the height and"
            " width must be known; set them in input_shapes"
        )
    parts = []
    for level in range(pyramid_height):
        bins = 2**level
        window = [-(-size // bins) for size in (height, width)]
        pad = [(k * bins - size) // 2 for k, size in zip(window, (height, width), strict=True)]
        parts.append(reshape(max_pooling(x, window, None, pad, True), (x.shape[0], -1, 1, 1)))
    return concat(parts, 1)


WINDOW: Mapping[str, Callable[..., Any]] = {
    "convolution_1d": convolution_of(1),
    "convolution_2d": convolution_of(2),
    "convolution_3d": convolution_of(3),
    "convolution_nd": convolution,
    "deconvolution_1d": deconvolution,
    "deconvolution_2d": deconvolution,
    "deconvolution_3d": deconvolution,
    "deconvolution_nd": deconvolution,
    "dilated_convolution_2d": dilated_convolution_2d,
    "depthwise_convolution_2d": depthwise_convolution_2d,
    "im2col": im2col,
    "local_convolution_2d": local_convolution_2d,
    "shift": shift,
    **{f"max_pooling_{n}": max_pooling for n in ("1d", "2d", "3d", "nd")},
    **{f"average_pooling_{n}": average_pooling for n in ("1d", "2d", "3d", "nd")},
    **{f"unpooling_{n}": unpooling for n in ("1d", "2d", "3d", "nd")},
    "upsampling_2d": upsampling_2d,
    "spatial_pyramid_pooling_2d": spatial_pyramid_pooling_2d,
}
