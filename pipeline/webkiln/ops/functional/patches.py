"""Patches of images, and blocks of pixels as channels."""

from math import prod

from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import Argument, tensor
from webkiln.ops.functional.windows import PerAxis, checked_padding, dims_of, sizes, window_of
from webkiln.ops.overlap import unfolded
from webkiln.ops.pieces import blocks_to_space, reshaped, space_to_blocks, transposed


def extract_patches(
    b: GraphBuilder,
    images: Argument,
    size: PerAxis,
    strides: PerAxis | None = None,
    dilation_rate: PerAxis = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """The windows of images or volumes as features, with the channels last."""
    x = tensor(b, images)
    count = 2 if isinstance(size, int) else len(size)
    window = sizes(size, count)
    single = x.type.rank == count + 1
    x = reshaped(b, x, (1, *x.shape)) if single else x
    axes = dims_of(data_format, count + 2)
    attrs = window_of(
        x, window, data_format, checked_padding(b, padding), strides or window, dilation_rate
    )
    x = transposed(b, x, (0, *axes[2:], axes[1]))
    low, high = ((0, *attrs[name], 0) for name in ("pad_low", "pad_high"))
    x = b.op("Pad", [x], {"low": low, "high": high, "value": 0.0}) if any((*low, *high)) else x
    y = unfolded(b, x, range(1, count + 1), window, attrs["strides"], attrs["dilation"])
    counts, channels = y.shape[1 : 1 + 2 * count : 2], y.shape[-1]
    taps = range(2, 2 + 2 * count, 2)
    y = transposed(b, y, (0, *range(1, 1 + 2 * count, 2), *taps, 2 * count + 1))
    y = reshaped(b, y, (x.shape[0], *counts, prod(window) * channels))
    y = transposed(b, y, (0, count + 1, *range(1, count + 1))) if axes[1] == 1 else y
    return reshaped(b, y, y.shape[1:]) if single else y


def depth_to_space(
    b: GraphBuilder, x: Argument, block_size: int, data_format: str = "channels_last"
) -> Tensor:
    """Channels to blocks of pixels, the rows of a block first."""
    x = tensor(b, x)
    first = data_format == "channels_first"
    y = blocks_to_space(b, transposed(b, x, (0, 2, 3, 1)) if first else x, block_size)
    return transposed(b, y, (0, 3, 1, 2)) if first else y


def space_to_depth(
    b: GraphBuilder, x: Argument, block_size: int, data_format: str = "channels_last"
) -> Tensor:
    x = tensor(b, x)
    first = data_format == "channels_first"
    y = space_to_blocks(b, transposed(b, x, (0, 2, 3, 1)) if first else x, block_size)
    return transposed(b, y, (0, 3, 1, 2)) if first else y
