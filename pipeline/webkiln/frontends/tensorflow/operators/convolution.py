"""Raw operators of convolutions, and of their gradients with respect to the input.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Mapping, Sequence

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tensorflow.operators.windows import layout, padding, spatial, window_of
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.windows import (
    by_channel,
    convolved,
    dims_of,
    pads,
    plain,
    spans,
)


def conv(call: NodeCall) -> Tensor:
    """Filters are [*window, in / groups, out]; the number of groups follows from x."""
    x, w = call.tensors()
    if call.attr("batch_dims", 1) != 1:
        raise call.unsupported("has several batch axes", "Reshape its operand to have one")
    channels, in_channels = x.shape[dims_of(layout(call), x.type.rank)[1]], w.shape[-2]
    if channels % in_channels or w.shape[-1] % (channels // in_channels):
        raise call.error(
            f"x has {channels} channels, the filter is {list(w.shape)}; its input channels must"
            " divide them"
        )
    return convolved(
        call.builder, x, w, layout(call), channels // in_channels, window_of(call, x, w.shape[:-2])
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


def _gradient(call: NodeCall, sizes: Sequence[Size], w: Tensor, x: Tensor, groups: Size) -> Tensor:
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
    spatial_sizes = [sizes[axis] for axis in axes] if len(sizes) == rank else list(sizes)
    pad_pairs = padding(call, spatial_sizes, window, strides, dilation, rank)
    pairs = []
    for axis, size, span, stride, (low, _) in zip(
        axes, spatial_sizes, spans(window, dilation), strides, pad_pairs, strict=True
    ):
        before = span - 1 - low
        pairs.append((before, size + span - 1 - before - ((x.shape[axis] - 1) * stride + 1)))
    flipped = {
        "starts": (*(size - 1 for size in window), 0, 0),
        "sizes": w.shape,
        "steps": (*(-1,) * len(window), 1, 1),
    }
    w = call.op("Slice", [w], flipped)
    in_channels, features = w.shape[-2], w.shape[-1] // groups
    w = call.op("Reshape", [w], {"shape": (*window, in_channels, groups, features)})
    count = len(window)
    w = call.op("Transpose", [w], {"perm": (*range(count), count + 2, count + 1, count)})
    w = call.op("Reshape", [w], {"shape": (*window, features, groups * in_channels)})
    attrs = plain(count) | {"dilation": tuple(dilation), "x_dilation": tuple(strides)} | pads(pairs)
    return convolved(call.builder, x, w, layout(call), groups, attrs)


CONVOLUTION: Mapping[str, NodeHandler] = {
    "Conv2D": conv,
    "Conv3D": conv,
    "Conv": conv,
    "DepthwiseConv2dNative": depthwise_conv,
    "Conv2DBackpropInput": conv_backprop_input,
    "Conv3DBackpropInputV2": conv_backprop_input,
    "DepthwiseConv2dNativeBackpropInput": depthwise_backprop_input,
}
