"""keras.ops.nn operations on images and sequences: convolutions and pooling."""

from webkiln.errors import ShapeError
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import (
    FLOAT,
    Argument,
    Operation,
    operands,
    tensor,
)
from webkiln.ops.functional.windows import (
    PerAxis,
    by_channel,
    checked_padding,
    convolved,
    dims_of,
    plain,
    sizes,
    window_of,
)
from webkiln.ops.functional.windows import transposed as transposed_window
from webkiln.ops.overlap import overlapped, unfolded
from webkiln.ops.pieces import (
    cast,
    reshaped,
    transposed,
)


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
    attrs = window_of(
        x, w.shape[:-2], data_format, checked_padding(b, padding), strides, dilation_rate
    )
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
    attrs = window_of(
        x, w.shape[:-2], data_format, checked_padding(b, padding), strides, dilation_rate or 1
    )
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
        b, x, w, data_format, checked_padding(b, padding), steps, gaps, output_padding
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
            x,
            window,
            data_format,
            checked_padding(b, padding),
            window if strides is None else strides,
            1,
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
