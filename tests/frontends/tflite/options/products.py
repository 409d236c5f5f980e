"""Products of matrices, grouped convolutions and Fourier transforms."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.frontends.tflite.operator_model import (
    SAME,
    VALID,
    Single,
    T,
    f,
    integers,
    ints,
    options,
    q,
    weights,
    window,
)


def matrices() -> Iterator[Single]:
    """BATCH_MATMUL with each operand transposed or not: of floats, of integers, and of floats by
    int8 weights. Of those, the interpreter's kernel applies scales of other rows if there are two
    batch axes.
    """
    for a, b, batch in product((False, True), (False, True), ((2,), (2, 3))):
        left = (*batch, 4, 3) if a else (*batch, 3, 4)
        right = (*batch, 5, 4) if b else (*batch, 4, 5)
        result = (*batch, 3, 5)
        constant = integers(4, "int8", *right)
        constant[constant == -128] = -127
        for kind, x, y, z in (
            ("float32", f(*left), f(*right), f(*result)),
            ("int8", q("int8", *left, zero=5), q("int8", *right), q("int8", *result, scale=0.3)),
            ("int16", q("int16", *left), q("int16", *right), q("int16", *result, scale=50.0)),
            ("mixed", f(*left), q("int8", *right, scale=0.02, value=constant), f(*result)),
        ):
            if kind == "mixed" and len(batch) > 1:
                continue
            yield Single(
                f"BATCH_MATMUL {kind} {a} {b} {len(batch)}",
                "BATCH_MATMUL",
                [x, y],
                [z],
                options("BatchMatMulOptions", adjX=a, adjY=b),
            )


def groups() -> Iterator[Single]:
    """CONV_2D with 1, 2 and 3 groups, in each type of numbers."""
    for count, padding, step in product((1, 2, 3), (SAME, VALID), (1, 2)):
        sizes: dict[str, Any] = {"padding": padding, "strideW": step, "strideH": step}
        channels, out = 2 * count, 4 * count
        places = (6, 7) if padding == SAME else (4, 6)
        shape = (2, *(-(-size // step) for size in places), out)
        small = integers(3, "int8", out, 3, 2, 2)
        small[small == -128] = -127
        scales = np.linspace(0.01, 0.03, out)
        bias = T("int32", (out,), integers(6, "int16", out), 0.05 * scales)
        for kind, operands, y in (
            ("float32", [f(2, 6, 7, channels), weights(2, out, 3, 2, 2), weights(5, out)], f),
            ("int8", [q("int8", 2, 6, 7, channels), q("int8", *small.shape, scale=scales,
                                                      value=small), bias], None),
        ):  # fmt: skip
            yield Single(
                f"CONV_2D {kind} {count} {padding} {step}",
                "CONV_2D",
                operands,
                [y(*shape) if y else q("int8", *shape, scale=0.4, zero=-3)],
                window("Conv2DOptions", **sizes),
            )


def spectra() -> Iterator[Single]:
    """RFFT2D with rows and columns cut and padded; the parts of complex numbers."""
    for batch, rows, columns in product(((), (2,), (2, 3)), (2, 4, 8), (2, 8)):
        yield Single(
            f"RFFT2D {len(batch)} {rows} {columns}",
            "RFFT2D",
            [f(*batch, 4, 4), ints(rows, columns)],
            [T("complex64", (*batch, rows, columns // 2 + 1))],
        )
    for op, shape in product(("REAL", "IMAG", "COMPLEX_ABS"), ((5,), (2, 3), (2, 1, 3, 2))):
        yield Single(f"{op} {shape}", op, [T("complex64", shape)], [f(*shape)])


def logarithms() -> Iterator[Single]:
    """LOG_SOFTMAX of each rank and type, with steps up to the end of the table."""
    for shape in ((7,), (3, 7), (2, 3, 20), (2, 1, 3, 50)):
        yield Single(
            f"LOG_SOFTMAX {shape}", "LOG_SOFTMAX", [f(*shape)], [f(*shape)],
            options("LogSoftmaxOptions"),
        )  # fmt: skip
        for dtype, zero in (("int8", 127), ("uint8", 255)):
            for scale in (0.01, 0.1, 1.0):
                yield Single(
                    f"LOG_SOFTMAX {dtype} {shape} {scale}",
                    "LOG_SOFTMAX",
                    [q(dtype, *shape, scale=scale, zero=3)],
                    [q(dtype, *shape, scale=16 / 256, zero=zero)],
                    options("LogSoftmaxOptions"),
                )
