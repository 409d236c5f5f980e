"""Unary elementwise operators: functions and activations."""

from dataclasses import dataclass, replace
from math import inf, pi

import numpy as np

from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array
from webkiln.nest.expr import Expr, apply, const, select
from webkiln.nest.semantics import erf
from webkiln.ops.elementwise import (
    ALL,
    BOOLS,
    FLOATS,
    INTS,
    POSITIVE,
    clip,
    elementwise,
    positive,
    samples,
    unary,
)
from webkiln.ops.operator import ELEMENTWISE, Case, per_element


def sigmoid(x: Expr) -> Expr:
    return 1.0 / (1.0 + apply("exp", -x))


@dataclass(frozen=True, slots=True)
class ScaledSilu(Attributes):
    alpha: float = 1.0


def scaled_silu(attrs: ScaledSilu, x: Expr) -> Expr:
    """z sigmoid(z), where z = alpha x."""
    z: Expr = x * attrs.alpha
    return z / (1.0 + apply("exp", -z))


def softplus(x: Expr) -> Expr:
    """log(1 + exp(x)) without overflow."""
    return positive(x) + apply("log1p", apply("exp", -apply("abs", x)))


@dataclass(frozen=True, slots=True)
class Gelu(Attributes):
    approximate: bool = False


def gelu(attrs: Gelu, x: Expr) -> Expr:
    """Hendrycks & Gimpel, Gaussian Error Linear Units (2016); `approximate` is their tanh form."""
    if attrs.approximate:
        return 0.5 * x * (1.0 + apply("tanh", 0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + apply("erf", x * 0.7071067811865476))


def gelu_reference(attrs: Gelu, x: Array) -> Array:
    if attrs.approximate:
        return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * (1 + erf(x / np.sqrt(2))))


def exponential_below_zero(x: Expr, scale: float, alpha: float) -> Expr:
    return select(apply("gt", x, const(0, x.type)), scale * x, (scale * alpha) * apply("expm1", x))


@dataclass(frozen=True, slots=True)
class Elu(Attributes):
    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class LeakyRelu(Attributes):
    alpha: float


@dataclass(frozen=True, slots=True)
class Clip(Attributes):
    min: float
    max: float


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

elementwise(
    "Identity",
    lambda attrs, x: x,
    lambda attrs, x: x,
    samples(FLOATS),
    kinds=(*ALL, "bool"),
    traits=replace(ELEMENTWISE, is_view=True),
)
elementwise("Neg", unary("neg"), lambda attrs, x: -x, [*samples(FLOATS), *samples(INTS)], kinds=ALL)
elementwise(
    "Abs", unary("abs"), lambda attrs, x: np.abs(x), [*samples(FLOATS), *samples(INTS)], kinds=ALL
)
elementwise(
    "Sign",
    unary("sign"),
    lambda attrs, x: np.sign(x),
    [*samples(FLOATS), *samples(INTS)],
    kinds=ALL,
)
elementwise("Square", lambda attrs, x: x * x, lambda attrs, x: x * x, samples(FLOATS), kinds=ALL)
elementwise("Floor", unary("floor"), lambda attrs, x: np.floor(x), samples(FLOATS))
elementwise("Ceil", unary("ceil"), lambda attrs, x: np.ceil(x), samples(FLOATS))
elementwise("Round", unary("rint"), lambda attrs, x: np.rint(x), samples(FLOATS))
elementwise("Sqrt", unary("sqrt"), lambda attrs, x: np.sqrt(x), samples(POSITIVE))
elementwise(
    "Rsqrt",
    lambda attrs, x: 1.0 / apply("sqrt", x),
    lambda attrs, x: 1 / np.sqrt(x),
    samples(POSITIVE),
)
elementwise("Reciprocal", lambda attrs, x: 1.0 / x, lambda attrs, x: 1 / x, samples(POSITIVE))
elementwise("Exp", unary("exp"), lambda attrs, x: np.exp(x), samples(FLOATS))
elementwise("Log", unary("log"), lambda attrs, x: np.log(x), samples(POSITIVE))
elementwise("Log1p", unary("log1p"), lambda attrs, x: np.log1p(x), samples(POSITIVE))
elementwise("Expm1", unary("expm1"), lambda attrs, x: np.expm1(x), samples(FLOATS))
elementwise("Sin", unary("sin"), lambda attrs, x: np.sin(x), samples(FLOATS))
elementwise("Cos", unary("cos"), lambda attrs, x: np.cos(x), samples(FLOATS))
elementwise("Tanh", unary("tanh"), lambda attrs, x: np.tanh(x), samples(FLOATS))
elementwise("Erf", unary("erf"), lambda attrs, x: erf(x), samples(FLOATS), work=per_element(8))
elementwise(
    "Sigmoid", lambda attrs, x: sigmoid(x), lambda attrs, x: 1 / (1 + np.exp(-x)), samples(FLOATS)
)
elementwise(
    "Silu",
    lambda attrs, x: x / (1.0 + apply("exp", -x)),
    lambda attrs, x: x / (1 + np.exp(-x)),
    samples(FLOATS),
)
elementwise(
    "ScaledSilu",
    scaled_silu,
    lambda attrs, x: attrs.alpha * x / (1 + np.exp(-attrs.alpha * x)),
    samples(FLOATS, alpha=-0.7),
    attributes=ScaledSilu,
)
elementwise(
    "Relu",
    lambda attrs, x: positive(x),
    lambda attrs, x: np.maximum(x, 0),
    [*samples(FLOATS), *samples(INTS)],
    kinds=ALL,
)
elementwise(
    "Relu6",
    lambda attrs, x: clip(x, 0, 6),
    lambda attrs, x: np.clip(x, 0, 6),
    samples(FLOATS),
)
elementwise(
    "Softplus", lambda attrs, x: softplus(x), lambda attrs, x: np.logaddexp(x, 0), samples(FLOATS)
)
elementwise(
    "Softsign",
    lambda attrs, x: x / (1.0 + apply("abs", x)),
    lambda attrs, x: x / (1 + np.abs(x)),
    samples(FLOATS),
)
elementwise(
    "Gelu",
    gelu,
    gelu_reference,
    [Case((FLOATS,), {"approximate": flag}) for flag in (False, True)],
    attributes=Gelu,
    work=per_element(8),
)
elementwise(
    "Elu",
    lambda attrs, x: exponential_below_zero(x, 1.0, attrs.alpha),
    lambda attrs, x: np.where(x > 0, x, attrs.alpha * np.expm1(x)),
    samples(FLOATS, alpha=0.7),
    attributes=Elu,
)
elementwise(
    "Selu", lambda attrs, x: exponential_below_zero(x, SELU_SCALE, SELU_ALPHA),
    lambda attrs, x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)), samples(FLOATS),
)  # fmt: skip
elementwise(
    "LeakyRelu",
    lambda attrs, x: select(apply("lt", x, const(0, x.type)), x * attrs.alpha, x),
    lambda attrs, x: np.where(x < 0, attrs.alpha * x, x),
    samples(FLOATS, alpha=0.3),
    attributes=LeakyRelu,
)
elementwise(
    "HardSigmoid", lambda attrs, x: clip(x * (1 / 6) + 0.5, 0, 1),
    lambda attrs, x: np.clip(x / 6 + 0.5, 0, 1), samples(FLOATS),
)  # fmt: skip
elementwise(
    "Clip", lambda attrs, x: clip(x, attrs.min, attrs.max),
    lambda attrs, x: np.clip(x, attrs.min, attrs.max),
    samples(FLOATS, min=-1.0, max=2.0), kinds=ALL, attributes=Clip,
)  # fmt: skip
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -1.5, 3e38], np.float32)


@dataclass(frozen=True, slots=True)
class IsInf(Attributes):
    positive: bool = True
    negative: bool = True


def is_infinite(attrs: IsInf, x: Expr) -> Expr:
    above, below = (apply("eq", x, const(value, x.type)) for value in (inf, -inf))
    if attrs.positive and attrs.negative:
        return apply("or", above, below)
    return above if attrs.positive else below if attrs.negative else apply("and", above, below)


def is_infinite_reference(attrs: IsInf, x: Array) -> Array:
    return np.asarray((np.isposinf(x) & attrs.positive) | (np.isneginf(x) & attrs.negative))


elementwise("IsNaN", unary("isnan"), lambda attrs, x: np.isnan(x), samples(SPECIAL), result="bool")
elementwise(
    "IsInf",
    is_infinite,
    is_infinite_reference,
    [
        Case((SPECIAL,), {"positive": p, "negative": n})
        for p in (True, False)
        for n in (True, False)
    ],
    result="bool",
    attributes=IsInf,
)


def arctangent(attrs: Attributes, x: Expr) -> Expr:
    """Cephes: a polynomial in |x| up to tan(pi / 8), in (|x| - 1) / (|x| + 1) up to tan(3 pi / 8),
    and in -1 / |x| above.
    """
    magnitude = apply("abs", x)
    large, medium = (
        apply("gt", magnitude, const(2.414213562373095, x.type)),
        apply("gt", magnitude, const(0.4142135623730950, x.type)),
    )
    reduced = select(
        large, -1.0 / magnitude, select(medium, (magnitude - 1.0) / (magnitude + 1.0), magnitude)
    )
    start = select(
        large, const(pi / 2, x.type), select(medium, const(pi / 4, x.type), const(0, x.type))
    )
    z = reduced * reduced
    series = (
        ((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1
    ) * z * reduced + reduced
    return select(apply("lt", x, const(0, x.type)), -(start + series), start + series)


elementwise(
    "Atan",
    arctangent,
    lambda attrs, x: np.arctan(x),
    [*samples(FLOATS), *samples(FLOATS.astype(np.float64))],
)
elementwise("Not", unary("not"), lambda attrs, x: ~x, samples(BOOLS), kinds=("bool",))
