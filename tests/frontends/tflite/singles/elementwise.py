"""Elementwise operators on float32 and int32."""

from collections.abc import Iterator

from tests.frontends.tflite.operator_model import (
    RELU1,
    RELU6,
    Single,
    T,
    f,
    int_input,
    ints,
    options,
    q,
    weights,
)


def unary_floats() -> Iterator[Single]:
    names = (
        "ABS",
        "CEIL",
        "COS",
        "ELU",
        "EXP",
        "FLOOR",
        "HARD_SWISH",
        "LOGISTIC",
        "LOG_SOFTMAX",
        "NEG",
        "RELU",
        "RELU6",
        "RELU_0_TO_1",
        "RELU_N1_TO_1",
        "ROUND",
        "SIGN",
        "SIN",
        "SQUARE",
        "TANH",
        "ZEROS_LIKE",
    )
    yield from [Single(name.lower(), name, [f(3, 5)], [f(3, 5)]) for name in names]
    yield from [
        Single(name.lower(), name, [T("float32", (3, 5), spread=-3.0)], [f(3, 5)])
        for name in ("LOG", "SQRT", "RSQRT")
    ]
    yield Single(
        "gelu_tanh", "GELU", [f(3, 5)], [f(3, 5)], options("GeluOptions", approximate=True)
    )
    yield Single(
        "leaky_relu", "LEAKY_RELU", [f(3, 5)], [f(3, 5)], options("LeakyReluOptions", alpha=0.3)
    )
    yield Single(
        "softmax_beta", "SOFTMAX", [f(3, 5)], [f(3, 5)], options("SoftmaxOptions", beta=0.5)
    )
    yield Single("neg_int", "NEG", [int_input("int32", 3, 4)], [T("int32", (3, 4))])
    yield Single(
        "l2_normalization",
        "L2_NORMALIZATION",
        [f(2, 3, 4)],
        [f(2, 3, 4)],
        options("L2NormOptions"),
    )
    yield Single(
        "lrn",
        "LOCAL_RESPONSE_NORMALIZATION",
        [f(1, 3, 3, 8)],
        [f(1, 3, 3, 8)],
        options("LocalResponseNormalizationOptions", radius=2, bias=1.5, alpha=0.3, beta=0.6),
    )
    yield Single(
        "fake_quant",
        "FAKE_QUANT",
        [f(3, 9)],
        [f(3, 9)],
        options("FakeQuantOptions", min=-1.2, max=2.3, numBits=5, narrowRange=False),
    )


def binaries() -> Iterator[Single]:
    for name in ("MAXIMUM", "MINIMUM", "FLOOR_DIV", "FLOOR_MOD", "SQUARED_DIFFERENCE", "ATAN2"):
        yield Single(
            name.lower(),
            name,
            [f(2, 3, 4), f(3, 1) if name != "ATAN2" else f(2, 3, 4)],
            [f(2, 3, 4)],
        )
    for name, kind in (
        ("ADD", "AddOptions"),
        ("SUB", "SubOptions"),
        ("MUL", "MulOptions"),
        ("DIV", "DivOptions"),
    ):
        yield Single(
            f"{name.lower()}_relu6",
            name,
            [f(2, 3, 4), weights(1, 4)],
            [f(2, 3, 4)],
            options(kind, fusedActivationFunction=RELU6),
        )
        yield Single(
            f"{name.lower()}_relu1",
            name,
            [f(2, 1, 4), f(2, 3, 1)],
            [f(2, 3, 4)],
            options(kind, fusedActivationFunction=RELU1),
        )
    for name in ("ADD", "SUB", "MUL", "FLOOR_DIV", "FLOOR_MOD", "MAXIMUM"):
        kind = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}.get(name)
        second = ints([[2], [-3], [5]])
        yield Single(
            f"{name.lower()}_int32",
            name,
            [int_input("int32", 3, 4), second],
            [T("int32", (3, 4))],
            options(kind) if kind else {},
        )
    for name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        yield Single(
            f"{name.lower()}_int32",
            name,
            [int_input("int32", 3, 4), int_input("int32", 4)],
            [T("bool", (3, 4))],
        )
        for dtype, zero in (("int8", -3), ("uint8", 120)):
            items = [q(dtype, 3, 4, scale=0.05, zero=zero), q(dtype, 4, scale=0.08, zero=zero + 5)]
            yield Single(f"{name.lower()}_{dtype}", name, items, [T("bool", (3, 4))])
    for name in ("LOGICAL_AND", "LOGICAL_OR"):
        yield Single(name.lower(), name, [T("bool", (3, 4)), T("bool", (4,))], [T("bool", (3, 4))])
    yield Single("logical_not", "LOGICAL_NOT", [T("bool", (3, 4))], [T("bool", (3, 4))])
    yield Single("pow", "POW", [T("float32", (3, 4), spread=-2.0), f(4)], [f(3, 4)])
    yield Single(
        "bitwise_xor",
        "BITWISE_XOR",
        [int_input("int32", 3, 4, spread=99), int_input("int32", 4, spread=99)],
        [T("int32", (3, 4))],
    )
    yield Single(
        "right_shift",
        "RIGHT_SHIFT",
        [int_input("int32", 3, 4, spread=9999), ints(1, 2, 3, 4)],
        [T("int32", (3, 4))],
    )
    yield Single("bitcast", "BITCAST", [f(3, 4)], [T("int32", (3, 4))])
    yield Single("add_n", "ADD_N", [f(3, 4), f(3, 4), f(3, 4)], [f(3, 4)])
    yield Single("prelu", "PRELU", [f(2, 3, 4), weights(2, 1, 1, 4)], [f(2, 3, 4)])
