"""Elementwise operators and functions of a table on quantized integers."""

from collections.abc import Iterator

from tests.frontends.tflite.operator_model import NONE, RELU, RELU6, Single, integers, options, q


def quantized_elements() -> Iterator[Single]:
    zeros = {"int8": (-5, 3, -20), "uint8": (120, 128, 100), "int16": (0, 0, 0)}
    for dtype, (first, second, last) in zeros.items():
        fine = 1e-4 if dtype == "int16" else 0.03
        a, b = (
            q(dtype, 2, 5, 4, scale=fine, zero=first),
            q(dtype, 5, 4, scale=fine * 1.7, zero=second),
        )
        for name, kind, scale in (
            ("ADD", "AddOptions", 2.2),
            ("SUB", "SubOptions", 2.2),
            ("MUL", "MulOptions", 2.0),
        ):
            out = (
                fine * scale
                if name != "MUL"
                else fine * (scale if dtype != "int16" else 1.0) * (1 if dtype != "int16" else 3.0)
            )
            extra = {"potScaleInt16": False} if name != "MUL" and dtype == "int16" else {}
            for act in (NONE, RELU, RELU6):
                yield Single(
                    f"{name.lower()}_{dtype}_{act}",
                    name,
                    [a, b],
                    [q(dtype, 2, 5, 4, scale=out, zero=last)],
                    options(kind, fusedActivationFunction=act, **extra),
                )
        yield Single(
            f"leaky_relu_{dtype}",
            "LEAKY_RELU",
            [a],
            [q(dtype, 2, 5, 4, scale=fine * 0.9, zero=last)],
            options("LeakyReluOptions", alpha=0.2),
        )
        for name in ("RELU", "RELU6") + (
            ("RELU_N1_TO_1", "RELU_0_TO_1") if dtype != "int16" else ()
        ):
            yield Single(
                f"{name.lower()}_{dtype}",
                name,
                [a],
                [q(dtype, 2, 5, 4, scale=fine * 0.8, zero=last)],
            )
        for name in ("MAXIMUM", "MINIMUM"):
            yield Single(
                f"{name.lower()}_{dtype}",
                name,
                [a, q(dtype, 5, 4, scale=fine, zero=first)],
                [q(dtype, 2, 5, 4, scale=fine, zero=first)],
            )
        if dtype != "int16":
            yield Single(
                f"hard_swish_{dtype}",
                "HARD_SWISH",
                [a],
                [q(dtype, 2, 5, 4, scale=fine * 1.1, zero=last)],
            )
            if dtype == "int8":
                yield Single(
                    f"squared_difference_{dtype}",
                    "SQUARED_DIFFERENCE",
                    [a, b],
                    [q(dtype, 2, 5, 4, scale=fine * 4, zero=last)],
                )
            yield Single(
                f"prelu_{dtype}",
                "PRELU",
                [a, q(dtype, 1, 1, 4, scale=0.01, zero=second, value=integers(3, dtype, 1, 1, 4))],
                [q(dtype, 2, 5, 4, scale=fine * 1.2, zero=last)],
            )
    for name, kind in (("ADD", "AddOptions"), ("SUB", "SubOptions")):
        items = [q("int16", 3, 40, scale=1 / 4096), q("int16", 3, 40, scale=1 / 8192)]
        yield Single(
            f"{name.lower()}_powers",
            name,
            items,
            [q("int16", 3, 40, scale=1 / 4096)],
            options(kind, potScaleInt16=True),
        )
    for out in (0.03, 0.05):
        x = q("int8", 3, 40, scale=0.03, zero=5)
        yield Single(
            f"abs_int8_{out}",
            "ABS",
            [x],
            [q("int8", 3, 40, scale=out, zero=5 if out == 0.03 else -128)],
        )


def curves() -> Iterator[Single]:
    for dtype, zero in (("int8", -7), ("uint8", 119)):
        low, unit = (-128, -128) if dtype == "int8" else (0, 0)
        for scale in (0.04, 0.013):
            x = q(dtype, 4, 64, scale=scale, zero=zero)
            yield Single(
                f"logistic_{dtype}_{scale}",
                "LOGISTIC",
                [x],
                [q(dtype, 4, 64, scale=1 / 256, zero=low)],
            )
            yield Single(
                f"tanh_{dtype}_{scale}",
                "TANH",
                [x],
                [q(dtype, 4, 64, scale=1 / 128, zero=0 if dtype == "int8" else 128)],
            )
            yield Single(
                f"softmax_{dtype}_{scale}",
                "SOFTMAX",
                [x],
                [q(dtype, 4, 64, scale=1 / 256, zero=unit)],
                options("SoftmaxOptions", beta=1.0),
            )
        yield Single(
            f"l2_normalization_{dtype}",
            "L2_NORMALIZATION",
            [q(dtype, 5, 40, scale=0.04, zero=zero)],
            [q(dtype, 5, 40, scale=1 / 128, zero=0 if dtype == "int8" else 128)],
            options("L2NormOptions"),
        )
        yield Single(
            f"softmax_wide_{dtype}",
            "SOFTMAX",
            [q(dtype, 3, 700, scale=0.1, zero=zero)],
            [q(dtype, 3, 700, scale=1 / 256, zero=unit)],
            options("SoftmaxOptions", beta=0.7),
        )
    yield Single(
        "softmax_int8_16",
        "SOFTMAX",
        [q("int8", 4, 33, scale=0.05, zero=3)],
        [q("int16", 4, 33, scale=1 / 65536, zero=-32768)],
        options("SoftmaxOptions", beta=1.0),
    )
    for scale in (0.02, 0.1):
        x, y = q("int8", 4, 33, scale=scale, zero=5), q("int8", 4, 33, scale=16 / 256, zero=127)
        yield Single(f"log_softmax_int8_{scale}", "LOG_SOFTMAX", [x], [y])
    for scale in (1 / 4096, 1 / 2048, 3e-4, 1.7e-4):
        x = q("int16", 4, 128, scale=scale)
        yield Single(
            f"logistic_int16_{scale:.2g}",
            "LOGISTIC",
            [x],
            [q("int16", 4, 128, scale=1 / 32768)],
        )
        yield Single(f"tanh_int16_{scale:.2g}", "TANH", [x], [q("int16", 4, 128, scale=1 / 32768)])
        yield Single(
            f"softmax_int16_{scale:.2g}",
            "SOFTMAX",
            [x],
            [q("int16", 4, 128, scale=1 / 32768)],
            options("SoftmaxOptions", beta=1.0),
        )
    yield Single(
        "exp_int8",
        "EXP",
        [q("int8", 2, 128, scale=0.02, zero=4)],
        [q("int8", 2, 128, scale=0.05, zero=-128)],
    )
    yield Single(
        "exp_int16", "EXP", [q("int16", 2, 128, scale=1e-4)], [q("int16", 2, 128, scale=1e-3)]
    )
    yield Single(
        "log_int8",
        "LOG",
        [q("int8", 2, 128, scale=0.02, zero=-128)],
        [q("int8", 2, 128, scale=0.05, zero=10)],
    )
    yield Single(
        "gelu_int8",
        "GELU",
        [q("int8", 2, 128, scale=0.03, zero=4)],
        [q("int8", 2, 128, scale=0.03, zero=-120)],
        options("GeluOptions"),
    )
    yield Single(
        "elu_int8",
        "ELU",
        [q("int8", 2, 128, scale=0.03, zero=4)],
        [q("int8", 2, 128, scale=0.03, zero=-90)],
    )
