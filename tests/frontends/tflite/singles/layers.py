"""Convolutions, pools, reductions and resizes of quantized integers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.frontends.tflite.operator_model import (
    NONE,
    RELU,
    RELU6,
    SAME,
    VALID,
    Single,
    T,
    f,
    integers,
    ints,
    options,
    q,
    window,
)


def products() -> Iterator[Single]:
    for dtype, zeros in (("int8", (-3, 0, 7)), ("uint8", (120, 110, 128)), ("int16", (0, 0, 0))):
        stored = "uint8" if dtype == "uint8" else "int8"
        fine = 1e-4 if dtype == "int16" else 0.03
        many = 0.004 if dtype == "uint8" else list(np.linspace(0.002, 0.01, 6))

        def w(
            *shape: int,
            axis: int = 0,
            seed: int = 5,
            stored: str = stored,
            many: Any = many,
            zero: int = zeros[1],
        ) -> T:
            return q(
                stored,
                *shape,
                scale=many,
                zero=zero,
                axis=axis,
                value=integers(seed, stored, *shape),
            )

        bias = T(
            "int64" if dtype == "int16" else "int32",
            (6,),
            np.array([100, -2000, 3000, 0, 7, -50000 if dtype == "int16" else -900]),
            fine * 0.004,
        )
        x = q(dtype, 2, 7, 6, 3, scale=fine, zero=zeros[0])

        def y(*shape: int, dtype: str = dtype, fine: float = fine, zero: int = zeros[2]) -> T:
            return q(dtype, *shape, scale=fine * 2.5, zero=zero)

        for padding, stride, act in ((SAME, 2, RELU), (VALID, 1, RELU6), (SAME, 1, NONE)):
            o = (-(-7 // stride), -(-6 // stride)) if padding == SAME else (5, 4)
            yield Single(
                f"conv_2d_{dtype}_{padding}{stride}{act}",
                "CONV_2D",
                [x, w(6, 3, 3, 3), bias],
                [y(2, *o, 6)],
                window(
                    "Conv2DOptions",
                    padding=padding,
                    strideW=stride,
                    strideH=stride,
                    fusedActivationFunction=act,
                ),
            )
            yield Single(
                f"depthwise_{dtype}_{padding}{stride}{act}",
                "DEPTHWISE_CONV_2D",
                [x, w(1, 3, 3, 6, axis=3), bias],
                [y(2, *o, 6)],
                window(
                    "DepthwiseConv2DOptions",
                    padding=padding,
                    strideW=stride,
                    strideH=stride,
                    depthMultiplier=2,
                    fusedActivationFunction=act,
                ),
            )
        yield Single(
            f"conv_dilated_{dtype}",
            "CONV_2D",
            [x, w(6, 2, 2, 3), bias],
            [y(2, 7, 6, 6)],
            window("Conv2DOptions", dilationWFactor=2, dilationHFactor=3),
        )
        yield Single(
            f"transpose_conv_{dtype}",
            "TRANSPOSE_CONV",
            [ints(2, 14, 12, 6), w(6, 3, 3, 3), x, bias],
            [y(2, 14, 12, 6)],
            window("TransposeConvOptions", strideW=2, strideH=2),
        )
        yield Single(
            f"fully_connected_{dtype}",
            "FULLY_CONNECTED",
            [q(dtype, 5, 40, scale=fine, zero=zeros[0]), w(6, 40), bias],
            [y(5, 6)],
            options("FullyConnectedOptions", fusedActivationFunction=RELU),
        )
        yield Single(
            f"fully_connected_one_{dtype}",
            "FULLY_CONNECTED",
            [q(dtype, 5, 40, scale=fine, zero=zeros[0]), w(6, 40, many=0.004), None],
            [y(5, 6)],
            options("FullyConnectedOptions"),
        )
        yield Single(
            f"average_pool_{dtype}",
            "AVERAGE_POOL_2D",
            [x],
            [q(dtype, 2, 4, 3, 3, scale=fine, zero=zeros[0])],
            window(
                "Pool2DOptions",
                strideW=2,
                strideH=2,
                filterWidth=3,
                filterHeight=2,
                fusedActivationFunction=RELU6,
            ),
        )
        yield Single(
            f"max_pool_{dtype}",
            "MAX_POOL_2D",
            [x],
            [q(dtype, 2, 4, 3, 3, scale=fine, zero=zeros[0])],
            window(
                "Pool2DOptions",
                strideW=2,
                strideH=2,
                filterWidth=3,
                filterHeight=2,
                fusedActivationFunction=RELU,
            ),
        )
        yield Single(
            f"mean_{dtype}",
            "MEAN",
            [x, ints(1, 2)],
            [q(dtype, 2, 3, scale=fine * 0.7, zero=zeros[2])],
            options("ReducerOptions"),
        )
        if dtype == "uint8":
            yield Single(
                f"sum_{dtype}",
                "SUM",
                [x, ints([1])],
                [q(dtype, 2, 6, 3, scale=fine * 5, zero=zeros[2])],
                options("ReducerOptions"),
            )
        yield Single(
            f"reduce_max_{dtype}",
            "REDUCE_MAX",
            [x, ints([2])],
            [q(dtype, 2, 7, 3, scale=fine, zero=zeros[0])],
            options("ReducerOptions"),
        )
        yield Single(
            f"pad_{dtype}",
            "PAD",
            [x, ints([[0, 0], [1, 2], [0, 1], [0, 0]])],
            [q(dtype, 2, 10, 7, 3, scale=fine, zero=zeros[0])],
        )
        yield Single(
            f"nearest_{dtype}",
            "RESIZE_NEAREST_NEIGHBOR",
            [x, ints(11, 5)],
            [q(dtype, 2, 11, 5, 3, scale=fine, zero=zeros[0])],
            options("ResizeNearestNeighborOptions", halfPixelCenters=True),
        )
        yield Single(
            f"quantize_{dtype}",
            "QUANTIZE",
            [f(3, 50)],
            [q(dtype, 3, 50, scale=fine, zero=zeros[0])],
        )
        yield Single(
            f"dequantize_{dtype}",
            "DEQUANTIZE",
            [q(dtype, 3, 50, scale=fine, zero=zeros[0])],
            [f(3, 50)],
        )


def resizes() -> Iterator[Single]:
    for half, aligned in ((False, False), (True, False), (False, True)):
        for dtype in ("int8", "uint8"):
            yield Single(
                f"bilinear_{dtype}_{half:d}{aligned:d}",
                "RESIZE_BILINEAR",
                [q(dtype, 2, 5, 7, 3), ints(9, 4)],
                [q(dtype, 2, 9, 4, 3)],
                options("ResizeBilinearOptions", halfPixelCenters=half, alignCorners=aligned),
            )
        yield Single(
            f"bilinear_{half:d}{aligned:d}",
            "RESIZE_BILINEAR",
            [f(2, 5, 7, 3), ints(9, 4)],
            [f(2, 9, 4, 3)],
            options("ResizeBilinearOptions", halfPixelCenters=half, alignCorners=aligned),
        )
        yield Single(
            f"nearest_{half:d}{aligned:d}",
            "RESIZE_NEAREST_NEIGHBOR",
            [f(2, 5, 7, 3), ints(9, 4)],
            [f(2, 9, 4, 3)],
            options("ResizeNearestNeighborOptions", halfPixelCenters=half, alignCorners=aligned),
        )


def requantizations() -> Iterator[Single]:
    for source, scale, target, out in (
        ("int8", 0.05, "int8", 0.03),
        ("int8", 0.05, "uint8", 0.06),
        ("uint8", 0.05, "int8", 0.04),
        ("int16", 1e-4, "int8", 0.02),
        ("int8", 0.05, "int16", 1e-3),
        ("int16", 1e-4, "int16", 3e-4),
    ):
        zero = {"int8": 4, "uint8": 120, "int16": 0}
        yield Single(
            f"requantize_{source}_{target}",
            "QUANTIZE",
            [q(source, 3, 50, scale=scale, zero=zero[source])],
            [q(target, 3, 50, scale=out, zero=zero[target])],
        )


def joins_and_groups() -> Iterator[Single]:
    yield Single(
        "concat_uint8",
        "CONCATENATION",
        [q("uint8", 2, 5, scale=0.03, zero=120), q("uint8", 2, 3, scale=0.05, zero=100)],
        [q("uint8", 2, 8, scale=0.06, zero=128)],
        options("ConcatenationOptions", axis=1),
    )
    yield Single(
        "batch_matmul_int8",
        "BATCH_MATMUL",
        [q("int8", 2, 4, 9, scale=0.03, zero=5), q("int8", 2, 9, 5, scale=0.02, zero=-3)],
        [q("int8", 2, 4, 5, scale=0.2, zero=7)],
        options("BatchMatMulOptions"),
    )
    yield Single(
        "grouped_int8",
        "CONV_2D",
        [
            q("int8", 1, 5, 5, 6, zero=3),
            q(
                "int8",
                4,
                3,
                3,
                3,
                scale=[0.01, 0.02, 0.015, 0.03],
                value=integers(9, "int8", 4, 3, 3, 3),
            ),
            T("int32", (4,), np.zeros(4), 0.0005),
        ],
        [q("int8", 1, 5, 5, 4, scale=0.5)],
        window("Conv2DOptions"),
    )
