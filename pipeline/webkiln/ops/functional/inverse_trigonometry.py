"""Inverse trigonometric, hyperbolic and tangent functions, composed of other operators because the
IR has no operator for them. All frontends share them.
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
    """(e + e / (e + 1)) / 2 with e = exp(x) - 1, which is accurate near 0; sign(x) exp(|x| - log 2)
    if |x| > 20.
    """
    e = b.op("Expm1", [x])
    small = (e + e / (e + 1.0)) * 0.5
    large = b.binary("Greater", b.op("Abs", [x]), 20.0)
    return b.op(
        "Where", [large, b.op("Sign", [x]) * b.op("Exp", [b.op("Abs", [x]) - LOG_2]), small]
    )


def hyperbolic_cosine(b: GraphBuilder, x: Tensor) -> Tensor:
    """h + 1 / (4 h) with h = exp(|x| - log 2)."""
    half = b.op("Exp", [b.op("Abs", [x]) - LOG_2])
    return half + 0.25 / half


def inverse_hyperbolic_sine(b: GraphBuilder, x: Tensor) -> Tensor:
    """sign(x) log1p(a + a^2 / (1 + sqrt(a^2 + 1))) with a = |x|.

    Beyond 128, where the square may overflow float16, asinh(128) + log(|x| / 128) is used.
    """
    magnitude = b.op("Abs", [x])
    a = b.binary("Min", magnitude, 128.0)
    square = a * a
    near = b.op("Log1p", [a + square / (b.op("Sqrt", [square + 1.0]) + 1.0)])
    return b.op("Sign", [x]) * (near + b.op("Log", [b.binary("Max", magnitude * 0.0078125, 1.0)]))


def inverse_hyperbolic_cosine(b: GraphBuilder, x: Tensor) -> Tensor:
    """log1p(d + sqrt(d) sqrt(x + 1)) with d = x - 1."""
    d = x - 1.0
    return b.op("Log1p", [d + b.op("Sqrt", [d]) * b.op("Sqrt", [x + 1.0])])


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
"""Composition by the ONNX name of the function."""
