"""Models of one operator that computes with integers."""

from collections.abc import Iterator

import numpy as np

from tests.frontends.tflite.operator_model import NONE, RELU, Single, T, integers, ints, options, q


def quantized_integers() -> Iterator[Single]:
    """Operators on int8, uint8 and int16."""
    for dtype, zero, other in (("int8", 3, -7), ("uint8", 120, 131), ("int16", 0, 0)):
        limits = np.iinfo(dtype)
        divisor = integers(8, dtype, 8, 9)
        divisor[divisor == other] = other + 1
        x = q(dtype, 5, 8, 9, scale=0.05, zero=zero)
        for name, function, scale in (("", NONE, 0.009), ("_relu", RELU, 0.006)):
            y = q(dtype, 5, 8, 9, scale=scale if dtype != "int16" else scale / 9, zero=zero)
            yield Single(
                f"div_{dtype}{name}",
                "DIV",
                [x, q(dtype, 8, 9, scale=0.07, zero=other, value=divisor)],
                [y],
                options("DivOptions", fusedActivationFunction=function),
            )
        for half, aligned in (
            ((False, False), (True, False), (False, True)) if dtype == "int16" else ()
        ):
            yield Single(
                f"bilinear_{dtype}_{half:d}{aligned:d}",
                "RESIZE_BILINEAR",
                [q(dtype, 2, 5, 7, 3), ints(9, 4)],
                [q(dtype, 2, 9, 4, 3)],
                options("ResizeBilinearOptions", halfPixelCenters=half, alignCorners=aligned),
            )
        for name, axes, shape, sizes, steps in (
            ("one", (1,), (6, 1, 5), (6, 1, 5), 2.0),
            ("axis", (1,), (6, 3, 5), (6, 5), 8.0),
            ("axes", (0, -1), (6, 3, 5), (1, 3, 1), 20.0),
        ):
            if dtype != "uint8":
                yield Single(
                    f"reduce_prod_{dtype}_{name}",
                    "REDUCE_PROD",
                    [q(dtype, *shape, scale=2.6 / limits.max, zero=zero), ints(list(axes))],
                    [q(dtype, *sizes, scale=steps / limits.max, zero=zero)],
                    options("ReducerOptions", keepDims=name != "axis"),
                )
        if dtype != "uint8":
            roots = T(
                dtype,
                (40, 30),
                None,
                0.05 if dtype == "int8" else 0.0003,
                -100 if dtype == "int8" else 0,
                spread=-1.0,
            )
            yield Single(
                f"rsqrt_{dtype}",
                "RSQRT",
                [roots],
                [q(dtype, 40, 30, scale=4 / limits.max, zero=-42 if dtype == "int8" else 0)],
            )
    for scale in (0.02, 0.3):
        yield Single(
            f"log_softmax_uint8_{scale}",
            "LOG_SOFTMAX",
            [q("uint8", 6, 20, scale=scale, zero=101)],
            [q("uint8", 6, 20, scale=16 / 256, zero=255)],
            options("LogSoftmaxOptions"),
        )
    for terms, scale in ((9, 4.0), (300, 30.0), (1100, 100.0)):
        for transposed in (False, True):
            right = (2, 5, terms) if transposed else (2, terms, 5)
            yield Single(
                f"batch_matmul_int16_{terms}_{transposed:d}",
                "BATCH_MATMUL",
                [q("int16", 2, 4, terms, scale=0.003), q("int16", *right, scale=0.002)],
                [q("int16", 2, 4, 5, scale=scale)],
                options("BatchMatMulOptions", adjY=transposed),
            )
