"""Functions of one floating operand that no operator of its own computes, written with others, as
every frontend states them.
"""

from collections.abc import Callable, Mapping

from webkiln.ops.builder import GraphBuilder, Tensor

LOG_2 = 0.6931471805599453


def arcsine(b: GraphBuilder, x: Tensor) -> Tensor:
    """atan(x / sqrt((1 - x) (1 + x)))."""
    return b.op("Atan", [x / b.op("Sqrt", [(1.0 - x) * (1.0 + x)])])


def arccosine(b: GraphBuilder, x: Tensor) -> Tensor:
    """2 atan(sqrt((1 - x) / (1 + x)))."""
    return b.op("Atan", [b.op("Sqrt", [(1.0 - x) / (1.0 + x)])]) * 2.0


def hyperbolic_sine(b: GraphBuilder, x: Tensor) -> Tensor:
    """(e + e / (e + 1)) / 2 with e = exp(x) - 1, which is exact near 0."""
    e = b.op("Expm1", [x])
    whole = (e + e / (e + 1.0)) * 0.5
    large = b.binary("Greater", b.op("Abs", [x]), 20.0)
    return b.op(
        "Where", [large, b.op("Sign", [x]) * b.op("Exp", [b.op("Abs", [x]) - LOG_2]), whole]
    )


def hyperbolic_cosine(b: GraphBuilder, x: Tensor) -> Tensor:
    half = b.op("Exp", [b.op("Abs", [x]) - LOG_2])
    return half + 0.25 / half


def inverse_hyperbolic_sine(b: GraphBuilder, x: Tensor) -> Tensor:
    """Of the magnitude: log1p(a + a a / (1 + sqrt(a a + 1))), for a up to 128, whose square has any
    dtype; plus how many times more it is.
    """
    size = b.op("Abs", [x])
    a = b.binary("Min", size, 128.0)
    square = a * a
    near = b.op("Log1p", [a + square / (b.op("Sqrt", [square + 1.0]) + 1.0)])
    return b.op("Sign", [x]) * (near + b.op("Log", [b.binary("Max", size * 0.0078125, 1.0)]))


def inverse_hyperbolic_cosine(b: GraphBuilder, x: Tensor) -> Tensor:
    less = x - 1.0
    return b.op("Log1p", [less + b.op("Sqrt", [less]) * b.op("Sqrt", [x + 1.0])])


def inverse_hyperbolic_tangent(b: GraphBuilder, x: Tensor) -> Tensor:
    return (b.op("Log1p", [x]) - b.op("Log1p", [-x])) * 0.5


def tangent(b: GraphBuilder, x: Tensor) -> Tensor:
    return b.op("Sin", [x]) / b.op("Cos", [x])


FUNCTIONS: Mapping[str, Callable[[GraphBuilder, Tensor], Tensor]] = {
    "Asin": arcsine,
    "Acos": arccosine,
    "Sinh": hyperbolic_sine,
    "Cosh": hyperbolic_cosine,
    "Asinh": inverse_hyperbolic_sine,
    "Acosh": inverse_hyperbolic_cosine,
    "Atanh": inverse_hyperbolic_tangent,
    "Tan": tangent,
}
"""By the names that ONNX has for them."""
