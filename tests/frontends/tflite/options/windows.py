"""Convolutions and pools by padding, stride and dilation."""

from collections.abc import Iterator
from itertools import product

from tests.frontends.tflite.operator_model import SAME, VALID, Single, f, ints, options, weights

PADDINGS = {"same": SAME, "valid": VALID}


def output_size(size: int, kernel: int, stride: int, padding: int, dilation: int = 1) -> int:
    span = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else (size - span) // stride + 1


def windows() -> Iterator[Single]:
    """Padding, strides, dilation and sizes; strides and sizes differ between the axes."""
    for (label, padding), (high, wide), (dilation_high, dilation_wide) in product(
        PADDINGS.items(), ((1, 1), (2, 3), (3, 1)), ((1, 1), (2, 1), (1, 2))
    ):
        if max(high, wide) > 1 and max(dilation_high, dilation_wide) > 1:
            continue
        name = f"{label} {high}{wide} {dilation_high}{dilation_wide}"
        rows, columns = (
            output_size(8, 3, high, padding, dilation_high),
            output_size(9, 2, wide, padding, dilation_wide),
        )
        strides = {"padding": padding, "strideH": high, "strideW": wide}
        dilations = {"dilationHFactor": dilation_high, "dilationWFactor": dilation_wide}
        image = f(2, 8, 9, 4)
        yield Single(
            f"CONV_2D {name}",
            "CONV_2D",
            [image, weights(1, 5, 3, 2, 4), weights(2, 5)],
            [f(2, rows, columns, 5)],
            options("Conv2DOptions", **strides, **dilations),
        )
        yield Single(
            f"CONV_2D groups {name}",
            "CONV_2D",
            [image, weights(3, 6, 3, 2, 2), weights(4, 6)],
            [f(2, rows, columns, 6)],
            options("Conv2DOptions", **strides, **dilations),
        )
        yield Single(
            f"DEPTHWISE_CONV_2D {name}",
            "DEPTHWISE_CONV_2D",
            [image, weights(5, 1, 3, 2, 8), weights(6, 8)],
            [f(2, rows, columns, 8)],
            options("DepthwiseConv2DOptions", depthMultiplier=2, **strides, **dilations),
        )
        if dilation_high == dilation_wide == 1:
            for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"):
                yield Single(
                    f"{op} {name}",
                    op,
                    [image],
                    [f(2, rows, columns, 4)],
                    options("Pool2DOptions", filterHeight=3, filterWidth=2, **strides),
                )
            out = (8 * high, 9 * wide) if padding == SAME else (7 * high + 3, 8 * wide + 2)
            yield Single(
                f"TRANSPOSE_CONV {name}",
                "TRANSPOSE_CONV",
                [ints(2, *out, 5), weights(7, 5, 3, 2, 4), image],
                [f(2, *out, 5)],
                options("TransposeConvOptions", **strides),
            )
    for (label, padding), (deep, high, wide) in product(
        PADDINGS.items(), ((1, 1, 1), (2, 1, 3), (1, 2, 1))
    ):
        sizes = (
            output_size(4, 2, deep, padding),
            output_size(6, 3, high, padding),
            output_size(7, 2, wide, padding),
        )
        strides = {"padding": padding, "strideD": deep, "strideH": high, "strideW": wide}
        yield Single(
            f"CONV_3D {label} {deep}{high}{wide}",
            "CONV_3D",
            [f(1, 4, 6, 7, 2), weights(8, 2, 3, 2, 2, 3), weights(9, 3)],
            [f(1, *sizes, 3)],
            options("Conv3DOptions", **strides),
        )
