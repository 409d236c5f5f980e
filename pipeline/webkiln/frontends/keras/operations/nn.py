"""keras.ops.nn operations on images and sequences: convolutions, pooling, space-to-depth, one-hot
encodings.
"""

from collections.abc import Sequence
from math import prod

from webkiln.errors import ShapeError
from webkiln.frontends.keras.operations.arguments import (
    FLOAT,
    Argument,
    countable,
    operands,
    tensor,
)
from webkiln.frontends.keras.operations.elementwise import Operation
from webkiln.frontends.keras.windows import (
    PADDING,
    by_channel,
    convolved,
    dims_of,
    plain,
    sizes,
    window_of,
)
from webkiln.frontends.keras.windows import transposed as transposed_window
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.overlap import overlapped, unfolded
from webkiln.ops.pieces import (
    blocks_to_space,
    cast,
    iota,
    largest,
    reshaped,
    space_to_blocks,
    transposed,
)

PerAxis = int | Sequence[int]


def _kind(b: GraphBuilder, padding: str) -> str:
    if padding not in PADDING:
        raise ShapeError(
            f"{b.layer}: padding {padding!r} is not supported; use {' or '.join(PADDING)}"
        )
    return padding


def _factors(b: GraphBuilder, *values: Argument) -> tuple[list[Tensor], str]:
    """Factors of a convolution, and the dtype of the result."""
    factors = operands(b, *values)
    dtype = factors[0].dtype
    return [cast(b, x, FLOAT) if dtype == "bool" else x for x in factors], dtype


def conv(
    b: GraphBuilder,
    inputs: Argument,
    kernel: Argument,
    strides: PerAxis = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: PerAxis = 1,
) -> Tensor:
    """Kernel [*window, in / groups, out]; the number of groups follows from x."""
    (x, w), dtype = _factors(b, inputs, kernel)
    channels, own = x.shape[dims_of(data_format, x.type.rank)[1]], w.shape[-2]
    if channels % own or w.shape[-1] % (channels // own):
        raise ShapeError(
            f"{b.layer}: x has {channels} channels, the kernel is {list(w.shape)}; its input"
            " channels must divide those of x"
        )
    attrs = window_of(x, w.shape[:-2], data_format, _kind(b, padding), strides, dilation_rate)
    return cast(b, convolved(b, x, w, data_format, channels // own, attrs), dtype)


def depthwise_conv(
    b: GraphBuilder,
    inputs: Argument,
    kernel: Argument,
    strides: PerAxis = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: PerAxis | None = 1,
) -> Tensor:
    """Kernel [*window, in, multiplier]; the output channel is c * multiplier + m."""
    (x, w), dtype = _factors(b, inputs, kernel)
    attrs = window_of(x, w.shape[:-2], data_format, _kind(b, padding), strides, dilation_rate or 1)
    return cast(b, convolved(b, x, by_channel(b, w), data_format, w.shape[-2], attrs), dtype)


def separable_conv(
    b: GraphBuilder,
    inputs: Argument,
    depthwise_kernel: Argument,
    pointwise_kernel: Argument,
    strides: PerAxis = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: PerAxis = 1,
) -> Tensor:
    y = depthwise_conv(b, inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    y, mixed = operands(b, y, pointwise_kernel)
    return convolved(b, y, mixed, data_format, 1, plain(y.type.rank - 2))


def conv_transpose(
    b: GraphBuilder,
    inputs: Argument,
    kernel: Argument,
    strides: PerAxis = 1,
    padding: str = "valid",
    output_padding: PerAxis | None = None,
    data_format: str | None = None,
    dilation_rate: PerAxis = 1,
) -> Tensor:
    """Transposed convolution. Kernel [*window, out, in]."""
    (x, w), dtype = _factors(b, inputs, kernel)
    count = w.type.rank - 2
    steps, gaps = sizes(strides, count), sizes(dilation_rate, count)
    w, attrs = transposed_window(
        b, x, w, data_format, _kind(b, padding), steps, gaps, output_padding
    )
    return cast(b, convolved(b, x, w, data_format, 1, attrs), dtype)


def pool(op: str) -> Operation:
    """Averages exclude padding."""

    def apply(
        b: GraphBuilder,
        inputs: Argument,
        pool_size: PerAxis,
        strides: PerAxis | None = None,
        padding: str = "valid",
        data_format: str | None = None,
    ) -> Tensor:
        x = tensor(b, inputs)
        axes = dims_of(data_format, x.type.rank)[2:]
        window = sizes(pool_size, len(axes))
        attrs = window_of(
            x, window, data_format, _kind(b, padding), window if strides is None else strides, 1
        )
        return b.op(op, [x], attrs | {"axes": axes, "window": window})

    return apply


def adaptive_pool(op: str) -> Operation:
    def apply(
        b: GraphBuilder, inputs: Argument, output_size: PerAxis, data_format: str | None = None
    ) -> Tensor:
        x = tensor(b, inputs)
        axes = dims_of(data_format, x.type.rank)[2:]
        return b.op(op, [x], {"axes": axes, "sizes": sizes(output_size, len(axes))})

    return apply


def one_hot(
    b: GraphBuilder,
    x: Argument,
    num_classes: int,
    axis: int = -1,
    dtype: str | None = None,
    sparse: bool = False,
) -> Tensor:
    """1 at the index, 0 elsewhere; all 0 for an invalid index. Sparse results are dense here."""
    index = cast(b, tensor(b, x), "int64")
    axis %= index.type.rank + 1
    wide = reshaped(b, index, (*index.shape[:axis], 1, *index.shape[axis:]))
    numbers = reshaped(
        b,
        iota(b, num_classes, "int64"),
        [num_classes if d == axis else 1 for d in range(index.type.rank + 1)],
    )
    return cast(b, b.op("Equal", [wide, numbers]), dtype or FLOAT)


def multi_hot(
    b: GraphBuilder,
    inputs: Argument,
    num_classes: int,
    axis: int = -1,
    dtype: str | None = None,
    sparse: bool = False,
) -> Tensor:
    """The maximum over the axis after the batch: 1 at any of the indices."""
    x = tensor(b, inputs)
    rows = countable(b, one_hot(b, x, num_classes, axis, dtype))
    return cast(b, largest(b, rows, 1 if x.type.rank > 1 else 0), dtype or FLOAT)


def unfold(
    b: GraphBuilder,
    x: Argument,
    kernel_size: PerAxis,
    dilation: PerAxis = 1,
    padding: PerAxis = 0,
    stride: PerAxis = 1,
) -> Tensor:
    """[N, C, H, W] as [N, C * taps, windows]."""
    x = tensor(b, x)
    window, gaps, around, steps = (
        sizes(value, 2) for value in (kernel_size, dilation, padding, stride)
    )
    if any(around):
        x = b.op("Pad", [x], {"low": (0, 0, *around), "high": (0, 0, *around), "value": 0.0})
    n, c, rows, high, columns, wide = (y := unfolded(b, x, (2, 3), window, steps, gaps)).shape
    return reshaped(b, transposed(b, y, (0, 1, 3, 5, 2, 4)), (n, c * high * wide, rows * columns))


def fold(
    b: GraphBuilder,
    x: Argument,
    output_size: PerAxis,
    kernel_size: PerAxis,
    dilation: PerAxis = 1,
    padding: PerAxis = 0,
    stride: PerAxis = 1,
) -> Tensor:
    """Add [N, C * taps, windows] to [N, C, H, W]."""
    x = tensor(b, x)
    image, window, gaps, around, steps = (
        sizes(value, 2) for value in (output_size, kernel_size, dilation, padding, stride)
    )
    return overlapped(b, x, image, window, steps, gaps, around, around)


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
    attrs = window_of(x, window, data_format, _kind(b, padding), strides or window, dilation_rate)
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


def _groups(side: str) -> list[list[str]]:
    """The names of each axis."""
    spaced = side.replace("(", " ( ").replace(")", " ) ").split()
    groups: list[list[str]] = []
    inside = False
    for word in spaced:
        if word in "()":
            inside = word == "("
            groups += [[]] if inside else []
        elif inside:
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups
