"""Operators with a fused activation."""

from collections.abc import Iterator

import numpy as np

from tests.frontends.tflite.operator_model import (
    NONE,
    RELU,
    RELU1,
    RELU6,
    TANH,
    Single,
    T,
    f,
    int_input,
    integers,
    ints,
    options,
    q,
    weights,
    window,
)

ACTIVATIONS = {"none": NONE, "relu": RELU, "relu1": RELU1, "relu6": RELU6}
SPREAD = 9.0
"""Wide enough that an activation clips at both ends."""


def wide_input(*shape: int) -> T:
    return f(*shape, spread=SPREAD)


def activations() -> Iterator[Single]:
    """Each operator with a fused activation, with each activation, on float32 and int8."""
    for label, act in ACTIVATIONS.items():
        activation = {"fusedActivationFunction": act}
        quantization = {"scale": 0.05, "zero": -20}
        image, int_image = wide_input(1, 6, 7, 3), q("int8", 1, 6, 7, 3, **quantization)
        for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"):
            attrs = window(
                "Pool2DOptions", filterWidth=3, filterHeight=2, strideW=2, strideH=1, **activation
            )
            yield Single(f"{op} {label}", op, [image], [f(1, 6, 4, 3)], attrs)
            if op != "L2_POOL_2D":
                yield Single(
                    f"{op} {label} int8",
                    op,
                    [int_image],
                    [q("int8", 1, 6, 4, 3, **quantization)],
                    attrs,
                )
        kernel, bias = weights(1, 4, 2, 3, 3), weights(2, 4)
        yield Single(
            f"CONV_2D {label}",
            "CONV_2D",
            [image, kernel, bias],
            [f(1, 6, 7, 4)],
            window("Conv2DOptions", **activation),
        )
        scales = [0.01, 0.02, 0.015, 0.03]
        int_kernel = q("int8", 4, 2, 3, 3, scale=scales, value=integers(3, "int8", 4, 2, 3, 3))
        int_bias = q(
            "int32",
            4,
            scale=[scale * 0.05 for scale in scales],
            value=np.array([500, -900, 0, 70], np.int32),
        )
        yield Single(
            f"CONV_2D {label} int8",
            "CONV_2D",
            [int_image, int_kernel, int_bias],
            [q("int8", 1, 6, 7, 4, scale=0.1, zero=3)],
            window("Conv2DOptions", **activation),
        )
        yield Single(
            f"DEPTHWISE_CONV_2D {label}",
            "DEPTHWISE_CONV_2D",
            [image, weights(4, 1, 2, 3, 6), weights(5, 6)],
            [f(1, 6, 7, 6)],
            window("DepthwiseConv2DOptions", depthMultiplier=2, **activation),
        )
        yield Single(
            f"CONV_3D {label}",
            "CONV_3D",
            [wide_input(1, 3, 4, 4, 2), weights(6, 2, 2, 2, 2, 3), weights(7, 3)],
            [f(1, 3, 4, 4, 3)],
            window("Conv3DOptions", strideD=1, **activation),
        )
        yield Single(
            f"FULLY_CONNECTED {label}",
            "FULLY_CONNECTED",
            [wide_input(5, 6), weights(8, 4, 6), weights(9, 4)],
            [f(5, 4)],
            options("FullyConnectedOptions", **activation),
        )
        yield Single(
            f"TRANSPOSE_CONV {label}",
            "TRANSPOSE_CONV",
            [ints(1, 6, 7, 4), weights(10, 4, 2, 3, 3), image],
            [f(1, 6, 7, 4)],
            window("TransposeConvOptions", **activation),
        )
        for op, kind in (
            ("ADD", "AddOptions"),
            ("SUB", "SubOptions"),
            ("MUL", "MulOptions"),
            ("DIV", "DivOptions"),
        ):
            yield Single(
                f"{op} {label}",
                op,
                [wide_input(3, 4), T("float32", (4,), spread=-3.0)],
                [f(3, 4)],
                options(kind, **activation),
            )
            if op in ("ADD", "SUB", "MUL"):
                yield Single(
                    f"{op} {label} int32",
                    op,
                    [int_input("int32", 3, 4, spread=12), ints(2, -3, 5, -7)],
                    [T("int32", (3, 4))],
                    options(kind, **activation),
                )
        if act == NONE:  # the interpreter rejects their other activations
            yield Single(
                f"CONCATENATION {label}",
                "CONCATENATION",
                [wide_input(2, 3), wide_input(2, 4)],
                [f(2, 7)],
                options("ConcatenationOptions", axis=-1, **activation),
            )
            yield Single(
                f"L2_NORMALIZATION {label}",
                "L2_NORMALIZATION",
                [wide_input(3, 5)],
                [f(3, 5)],
                options("L2NormOptions", **activation),
            )
    for act in (NONE, RELU, RELU6, TANH, RELU1):
        cell = [
            weights(1, 6, 5),
            weights(2, 6, 6),
            weights(3, 6),
            T("float32", (2, 6), variable=True),
        ]
        yield Single(
            f"RNN {act}",
            "RNN",
            [wide_input(2, 5), *cell],
            [f(2, 6)],
            options("RNNOptions", fusedActivationFunction=act),
        )
        yield Single(
            f"SVDF {act}",
            "SVDF",
            [
                wide_input(2, 5),
                weights(1, 8, 5),
                weights(2, 8, 4),
                weights(3, 4),
                T("float32", (2, 32), variable=True),
            ],
            [f(2, 4)],
            options("SVDFOptions", rank=2, fusedActivationFunction=act),
        )
