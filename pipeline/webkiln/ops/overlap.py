"""Windows as axes of their own, and their sum where they overlap."""

from collections.abc import Sequence
from math import prod

from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, iota, reshaped


def unfolded(
    b: GraphBuilder, x: Tensor, axes: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> Tensor:
    """Each of the axes as two: the windows, then their taps."""
    for axis, width, stride, gap in sorted(zip(axes, window, strides, dilation, strict=True), reverse=True):
        count = (x.shape[axis] - (width - 1) * gap - 1) // stride + 1
        starts = reshaped(b, iota(b, count, "int32") * stride, (count, 1))
        x = b.op("Gather", [x, b.op("Add", [starts, iota(b, width, "int32") * gap])], {"axis": axis})
    return x


def overlapped(
    b: GraphBuilder, x: Tensor, image: Sequence[int], block: Sequence[int], strides: Sequence[int], dilation: Sequence[int],
    low: Sequence[int], high: Sequence[int],
) -> Tensor:  # fmt: skip
    """Blocks [N, C * taps, L] added where they were taken in [N, C, *image]: a transposed convolution whose kernel has one 1 for each tap."""
    count, taps = len(image), prod(block)
    channels = x.shape[1] // taps
    rows = zip(image, block, strides, dilation, low, high, strict=True)
    spans = [(width - 1) * gap + 1 for width, gap in zip(block, dilation, strict=True)]
    counts = [(size + before + after - (width - 1) * gap - 1) // stride + 1 for size, width, stride, gap, before, after in rows]
    blocks = reshaped(b, x, (x.shape[0] * channels, taps, *counts))
    numbers = iota(b, taps, "int32")
    tapped = b.op("Sub", [b.constant(taps - 1, "int32"), numbers])
    same = b.op("Equal", [reshaped(b, numbers, (taps, 1)), tapped])
    kernel = reshaped(b, cast(b, same, x.dtype), (1, taps, *block))
    dims = tuple(range(count + 2))
    reach = [(own - 1) * stride + 1 for own, stride in zip(counts, strides, strict=True)]
    attrs = {
        "x_dims": dims, "w_dims": dims, "out_dims": dims, "strides": (1,) * count, "dilation": tuple(dilation), "x_dilation": tuple(strides),
        "pad_low": tuple(span - 1 - before for span, before in zip(spans, low, strict=True)),
        "pad_high": tuple(size + before - own for size, before, own in zip(image, low, reach, strict=True)), "groups": 1,
    }  # fmt: skip
    return reshaped(b, b.op("Conv", [blocks, kernel], attrs), (x.shape[0], channels, *image))
