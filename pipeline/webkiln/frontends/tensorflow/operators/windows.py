"""Raw operators over windows and images: convolutions, pooling, normalization, resizing.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from webkiln.frontends.keras.layers.resize import BICUBIC_STEPS
from webkiln.frontends.keras.operations.nn import depth_to_space as deep_to_wide
from webkiln.frontends.keras.operations.nn import extract_patches as patches
from webkiln.frontends.keras.operations.nn import space_to_depth as wide_to_deep
from webkiln.frontends.keras.windows import (
    Pads,
    by_channel,
    convolved,
    dims_of,
    padding_of,
    pads,
    plain,
    spans,
)
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, element, iota, part, sized


def layout(call: NodeCall, name: str = "data_format") -> str:
    return "channels_first" if call.attr(name, "NHWC").startswith("NC") else "channels_last"


def spatial(call: NodeCall, values: Sequence[int], rank: int) -> tuple[int, ...]:
    """The spatial entries of a list with one number per axis."""
    if not values:
        return (1,) * (rank - 2)
    return tuple(values[axis] for axis in dims_of(layout(call), rank)[2:])


def padding(
    call: NodeCall,
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    rank: int,
) -> Pads:
    kind = call.attr("padding", "VALID")
    if kind == "EXPLICIT":
        given = call.attr("explicit_paddings")
        return [(given[2 * axis], given[2 * axis + 1]) for axis in dims_of(layout(call), rank)[2:]]
    return padding_of(kind.lower(), sizes, window, strides, dilation)


def window_of(call: NodeCall, x: Tensor, window: Sequence[int]) -> dict[str, Any]:
    rank = x.type.rank
    strides, dilation = (
        spatial(call, call.attr("strides"), rank),
        spatial(call, call.attr("dilations", ()), rank),
    )
    sizes = [x.shape[axis] for axis in dims_of(layout(call), rank)[2:]]
    return {"strides": strides, "dilation": dilation} | pads(
        padding(call, sizes, window, strides, dilation, rank)
    )


def conv(call: NodeCall) -> Tensor:
    """Filters are [*window, in / groups, out]; the number of groups follows from x."""
    x, w = call.tensors()
    channels, own = x.shape[dims_of(layout(call), x.type.rank)[1]], w.shape[-2]
    if channels % own or w.shape[-1] % (channels // own):
        raise call.error(
            f"x has {channels} channels, the filter is {list(w.shape)}; its input channels must"
            " divide them"
        )
    return convolved(
        call.builder, x, w, layout(call), channels // own, window_of(call, x, w.shape[:-2])
    )


def depthwise_conv(call: NodeCall) -> Tensor:
    """Filters are [*window, in, multiplier]."""
    x, w = call.tensors()
    return convolved(
        call.builder,
        x,
        by_channel(call.builder, w),
        layout(call),
        w.shape[-2],
        window_of(call, x, w.shape[:-2]),
    )


def conv_backprop_input(call: NodeCall) -> Tensor:
    """A transposed convolution, which is the gradient with respect to the input of a convolution
    with filters [*window, out, in]. The first operand is the size of the result.
    """
    sizes, w, x = call.sizes(0), call.tensor(1), call.tensor(2)
    return _gradient(call, sizes, w, x, 1)


def depthwise_backprop_input(call: NodeCall) -> Tensor:
    sizes, w, x = call.sizes(0), call.tensor(1), call.tensor(2)
    *window, channels, multiplier = w.shape
    grouped = call.op("Reshape", [w], {"shape": (*window, 1, channels * multiplier)})
    return _gradient(call, sizes, grouped, x, channels)


def _gradient(call: NodeCall, sizes: Sequence[int], w: Tensor, x: Tensor, groups: int) -> Tensor:
    """The gradient with respect to the input of a convolution with filters [*window, in / groups,
    out].
    """
    rank = x.type.rank
    axes = dims_of(layout(call), rank)[2:]
    strides, dilation = (
        spatial(call, call.attr("strides"), rank),
        spatial(call, call.attr("dilations", ()), rank),
    )
    window = w.shape[:-2]
    wanted = [sizes[axis] for axis in axes] if len(sizes) == rank else list(sizes)
    around = padding(call, wanted, window, strides, dilation, rank)
    pairs = []
    for axis, size, span, stride, (low, _) in zip(
        axes, wanted, spans(window, dilation), strides, around, strict=True
    ):
        before = span - 1 - low
        pairs.append((before, size + span - 1 - before - ((x.shape[axis] - 1) * stride + 1)))
    flipped = {
        "starts": (*(size - 1 for size in window), 0, 0),
        "sizes": w.shape,
        "steps": (*(-1,) * len(window), 1, 1),
    }
    w = call.op("Slice", [w], flipped)
    own, features = w.shape[-2], w.shape[-1] // groups
    w = call.op("Reshape", [w], {"shape": (*window, own, groups, features)})
    count = len(window)
    w = call.op("Transpose", [w], {"perm": (*range(count), count + 2, count + 1, count)})
    w = call.op("Reshape", [w], {"shape": (*window, features, groups * own)})
    attrs = plain(count) | {"dilation": tuple(dilation), "x_dilation": tuple(strides)} | pads(pairs)
    return convolved(call.builder, x, w, layout(call), groups, attrs)


def pool(op: str) -> NodeHandler:
    """Averages exclude padding. In `V2` of max pooling, window and strides are operands."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        rank = x.type.rank
        given = (
            (call.sizes(1), call.sizes(2))
            if call.spec.op == "MaxPoolV2"
            else (call.attr("ksize"), call.attr("strides"))
        )
        axes = dims_of(layout(call), rank)[2:]
        window, strides = ([values[axis] for axis in axes] for values in given)
        others = [values[axis] for values in given for axis in dims_of(layout(call), rank)[:2]]
        if any(value != 1 for value in others):
            raise call.unsupported(
                "pools over the batch or the channels", "Pool over the spatial axes"
            )
        ones = (1,) * len(axes)
        around = padding(call, [x.shape[axis] for axis in axes], window, strides, ones, rank)
        attrs = {
            "axes": axes,
            "window": tuple(window),
            "strides": tuple(strides),
            "dilation": ones,
        } | pads(around)
        return call.op(op, [x], attrs)

    return handler


def taps(
    call: NodeCall,
    x: Tensor,
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    outside: float,
) -> Iterator[tuple[tuple[int, int], Tensor, Tensor]]:
    """For images [N, H, W, C], by position in the window: the position, the elements of all windows
    there, and their indices in the image, [rows, columns, 1].
    """
    b = call.builder
    around = padding(call, x.shape[1:3], window, strides, dilation, 4)
    low, high = ((0, *(pair[side] for pair in around), 0) for side in (0, 1))
    wide = call.op("Pad", [x], {"low": low, "high": high, "value": outside})
    counts = [
        (size - span) // step + 1
        for size, span, step in zip(wide.shape[1:3], spans(window, dilation), strides, strict=True)
    ]
    for row in range(window[0]):
        for column in range(window[1]):
            found = wide
            lines = []
            for axis, place in enumerate((row, column)):
                begin, step, count = place * dilation[axis], strides[axis], counts[axis]
                found = part(b, found, axis + 1, begin, count, step)
                lines.append(
                    iota(b, count, "int64") * step + sized(b, begin - around[axis][0], "int64")
                )
            rows, columns = (
                call.op("Reshape", [line], {"shape": shape})
                for line, shape in zip(lines, ((counts[0], 1, 1), (counts[1], 1)), strict=True)
            )
            yield (row, column), found, rows * sized(b, x.shape[2], "int64") + columns


def pool_with_places(call: NodeCall) -> list[Tensor]:
    """The maxima, and their indices in the image or in the batch; of equal ones, the first."""
    b, x = call.builder, call.tensor(0)
    window, strides = call.attr("ksize")[1:3], call.attr("strides")[1:3]

    def larger(before: tuple[Tensor, Tensor], now: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        is_more = b.op("Greater", [now[0], before[0]])
        value, place = (b.op("Where", [is_more, *pair]) for pair in zip(now, before, strict=True))
        return value, place

    found = taps(call, x, window, strides, (1, 1), float("-inf"))
    best, place = reduce(
        larger,
        ((value, b.op("Broadcast", [plane], {"shape": value.shape})) for _, value, plane in found),
    )
    channels = x.shape[3]
    place = place * sized(b, channels, "int64") + iota(b, channels, "int64")
    if call.flag("include_batch_in_index"):
        size = sized(b, x.shape[1] * x.shape[2] * channels, "int64")
        place = place + call.op(
            "Reshape", [iota(b, x.shape[0], "int64") * size], {"shape": (x.shape[0], 1, 1, 1)}
        )
    return [best, cast(b, place, call.attr("Targmax", "int64"))]


def dilation(call: NodeCall) -> Tensor:
    """Grayscale dilation: the maximum of the sums of an element and a filter [rows, columns, C]."""
    b, x, w = call.builder, call.tensor(0), call.tensor(1)
    strides, rates = call.attr("strides")[1:3], call.attr("rates")[1:3]
    found = taps(call, x, w.shape[:2], strides, rates, float("-inf"))
    sums = (
        b.op("Add", [value, element(b, element(b, w, 0, row), 0, column)])
        for (row, column), value, _ in found
    )
    return reduce(lambda best, total: b.op("Max", [best, total]), sums)


def batch_norm(call: NodeCall) -> list[Tensor]:
    """`FusedBatchNorm*` at inference. The further results, mean and variance, are for training."""
    x, scale, offset, mean, variance = (call.tensor(position) for position in range(5))
    if call.flag("is_training", default=True):
        return _trained_batch_norm(call, x, scale, offset)
    b, dtype = call.builder, x.dtype
    x = cast(b, x, scale.dtype)
    axis = dims_of(layout(call), x.type.rank)[1]
    normed = call.op(
        "BatchNorm",
        [x, scale, offset, mean, variance],
        {"axis": axis, "epsilon": call.attr("epsilon", 1e-4)},
    )
    return [cast(b, normed, dtype), mean, variance]


def _trained_batch_norm(call: NodeCall, x: Tensor, scale: Tensor, offset: Tensor) -> list[Tensor]:
    """Normalize with the statistics of the batch."""
    b, dtype = call.builder, x.dtype
    x = cast(b, x, scale.dtype)
    axis = dims_of(layout(call), x.type.rank)[1]
    axes = tuple(number for number in range(x.type.rank) if number != axis)
    mean = call.op("ReduceMean", [x], {"axes": axes, "keepdims": False})
    centred = {"shape": tuple(size if number == axis else 1 for number, size in enumerate(x.shape))}
    away = b.binary("Sub", x, call.op("Reshape", [mean], centred))
    variance = call.op("ReduceMean", [call.op("Square", [away])], {"axes": axes, "keepdims": False})
    normed = call.op(
        "BatchNorm",
        [x, scale, offset, mean, variance],
        {"axis": axis, "epsilon": call.attr("epsilon", 1e-4)},
    )
    count = sized(b, x.type.size // x.shape[axis], x.dtype)
    return [cast(b, normed, dtype), mean, variance * (count / b.binary("Max", count - 1.0, 1.0))]


def lrn(call: NodeCall) -> Tensor:
    """Local response normalization over the channels, which are last."""
    x, radius = call.tensor(0), call.attr("depth_radius", 5)
    bias, alpha, beta = call.attr("bias", 1.0), call.attr("alpha", 1.0), call.attr("beta", 0.5)
    squares = call.op("Square", [x])
    low = tuple(radius if axis == x.type.rank - 1 else 0 for axis in range(x.type.rank))
    padded = call.op("Pad", [squares], {"low": low, "high": low, "value": 0})
    total = part(call.builder, padded, x.type.rank - 1, 0, x.shape[-1])
    for offset in range(1, 2 * radius + 1):
        total = total + part(call.builder, padded, x.type.rank - 1, offset, x.shape[-1])
    power = call.op("Pow", [total * alpha + bias, call.like(beta, x)])
    return x / power


def resize(method: str) -> NodeHandler:
    """Resize images [N, H, W, C] to the sizes in the second operand. Computes in float32, except
    for nearest neighbour.
    """

    def handler(call: NodeCall) -> Tensor:
        x, sizes = call.tensor(0), call.sizes(1)
        x = x if method == "nearest" else cast(call.builder, x, "float32")
        if (
            method == "nearest"
            and not call.flag("align_corners")
            and not call.flag("half_pixel_centers")
        ):
            return _floored(call, x, sizes)
        corners, half = call.flag("align_corners"), call.flag("half_pixel_centers")
        if method == "area" and not corners:
            return call.op("Resize", [x], {"axes": (1, 2), "sizes": tuple(sizes), "method": "area"})
        if method == "area" or (corners and half):
            raise call.unsupported(
                "resizes with an option that is not supported",
                "Resize with half_pixel_centers, or without options",
            )
        if method == "cubic" and not half:
            raise call.unsupported(
                "resizes by TensorFlow 1's bicubic method",
                "Resize with half_pixel_centers, as tf.image.resize of TensorFlow 2 does",
            )
        attrs: dict[str, Any] = {
            "axes": (1, 2),
            "sizes": tuple(sizes),
            "method": method,
            "resolution": BICUBIC_STEPS if method == "cubic" else 0,
        }
        attrs |= {
            "coordinates": "align_corners" if corners else "half_pixel" if half else "asymmetric"
        }
        return call.op("Resize", [x], attrs)

    return handler


def _floored(call: NodeCall, x: Tensor, sizes: Sequence[int]) -> Tensor:
    """The nearest element at or before each position."""
    for axis, size in zip((1, 2), sizes, strict=True):
        line = {
            "axis": axis,
            "size": size,
            "scale": x.shape[axis],
            "start": 0,
            "unit": size,
            "mode": "nearest",
            "rounding": "floor",
        }
        x = call.op("Interpolate", [x], {**line, "a": -0.75, "exclude": False, "antialias": False})
    return x


def adjust_contrast(call: NodeCall) -> Tensor:
    """Scale the distance from the mean of each channel of each image."""
    x, factor = call.tensors()
    mean = call.op(
        "ReduceMean", [x], {"axes": (x.type.rank - 3, x.type.rank - 2), "keepdims": True}
    )
    return (x - mean) * factor + mean


def depth_to_space(call: NodeCall) -> Tensor:
    return deep_to_wide(call.builder, call.tensor(0), call.attr("block_size"), layout(call))


def space_to_depth(call: NodeCall) -> Tensor:
    return wide_to_deep(call.builder, call.tensor(0), call.attr("block_size"), layout(call))


def extract_patches(call: NodeCall) -> Tensor:
    """[N, H, W, C] -> [N, rows, columns, window * C]."""
    window, strides, rates = (call.attr(name)[1:-1] for name in ("ksizes", "strides", "rates"))
    return patches(
        call.builder, call.tensor(0), window, strides, rates, call.attr("padding").lower()
    )


def vector_permute(call: NodeCall) -> Tensor:
    """`DataFormatVecPermute`: permute the axes of a shape from one layout to another."""
    source, target = call.attr("src_format", "NHWC"), call.attr("dst_format", "NCHW")
    places = [source.index(letter) for letter in target]
    return call.op("Gather", [call.tensor(0), call.constant(places, "int32")], {"axis": 0})


WINDOWS: Mapping[str, NodeHandler] = {
    "Conv2D": conv,
    "Conv3D": conv,
    "Conv": conv,
    "DepthwiseConv2dNative": depthwise_conv,
    "Conv2DBackpropInput": conv_backprop_input,
    "Conv3DBackpropInputV2": conv_backprop_input,
    "DepthwiseConv2dNativeBackpropInput": depthwise_backprop_input,
    "MaxPool": pool("MaxPool"),
    "MaxPoolV2": pool("MaxPool"),
    "MaxPool3D": pool("MaxPool"),
    "AvgPool": pool("AvgPool"),
    "AvgPool3D": pool("AvgPool"),
    "FusedBatchNorm": batch_norm,
    "FusedBatchNormV2": batch_norm,
    "FusedBatchNormV3": batch_norm,
    "LRN": lrn,
    "ResizeBilinear": resize("linear"),
    "ResizeNearestNeighbor": resize("nearest"),
    "ResizeBicubic": resize("cubic"),
    "ResizeArea": resize("area"),
    "DepthToSpace": depth_to_space,
    "MaxPoolWithArgmax": pool_with_places,
    "Dilation2D": dilation,
    "SpaceToDepth": space_to_depth,
    "AdjustContrastv2": adjust_contrast,
    "ExtractImagePatches": extract_patches,
    "DataFormatVecPermute": vector_permute,
}
