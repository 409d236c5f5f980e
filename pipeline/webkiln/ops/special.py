"""Special functions: the complementary error function and the inverse error function."""

import numpy as np

from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array
from webkiln.nest.expr import FLOAT, Expr, apply, const, select
from webkiln.nest.semantics import erf
from webkiln.ops.elementwise import elementwise
from webkiln.ops.operator import Case, per_element

ERFC = (
    -1.26551223,
    1.00002368,
    0.37409196,
    0.09678418,
    -0.18628806,
    0.27886807,
    -1.13520398,
    1.48851587,
    -0.82215223,
    0.17087277,
)
"""Press et al., Numerical Recipes, 6.2: a Chebyshev fit of log(erfc(x) exp(x**2) (1 + x / 2)) in
1 / (1 + x / 2), with a relative error below 1.2e-7.
"""

CENTRE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
"""Giles, Approximating the erfinv function (2010). With w = -log(1 - x**2): CENTRE is a polynomial
in w - 2.5 for w < 5, TAIL one in sqrt(w) - 3 above.
"""


def horner(coefficients: tuple[float, ...], x: Expr) -> Expr:
    """Evaluate a polynomial; the coefficient of the highest power is first."""
    value = const(coefficients[0], x.type)
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def complement(attrs: Attributes, x: Expr) -> Expr:
    magnitude = apply("abs", x)
    t = 1.0 / (1.0 + 0.5 * magnitude)
    value = t * apply("exp", horner(ERFC[::-1], t) - magnitude * magnitude)
    return select(apply("lt", x, const(0, x.type)), 2.0 - value, value)


def inverse(attrs: Attributes, x: Expr) -> Expr:
    """Infinite at -1 and 1, NaN beyond. For float64, the fit is refined by one Newton step."""
    w = -apply("log1p", -(x * x))
    near = apply("lt", w, const(5, x.type))
    root = apply("sqrt", apply("max", w, const(5, x.type))) - 3.0
    value = select(near, horner(CENTRE, w - 2.5), horner(TAIL, root)) * x
    if x.type != FLOAT:
        value = value - (apply("erf", value) - x) / (
            1.1283791670955126 * apply("exp", -(value * value))
        )
    magnitude = apply("abs", x)
    edge = select(
        apply("eq", magnitude, const(1, x.type)), x * const(np.inf, x.type), const(np.nan, x.type)
    )
    return select(apply("lt", magnitude, const(1, x.type)), value, edge)


def complement_reference(attrs: Attributes, x: Array) -> Array:
    """Legendre's continued fraction for x >= 2, where 1 - erf(x) would cancel."""
    magnitude = np.abs(x)
    large = np.maximum(magnitude, 2)
    fraction = large
    for step in range(60, 0, -1):
        fraction = large + step / 2 / fraction
    tail = np.exp(-(large**2)) / fraction / np.sqrt(np.pi)
    direct = np.where(magnitude < 2, 1 - erf(magnitude), tail)
    return np.asarray(np.where(x < 0, 1 + erf(magnitude), direct))


def inverse_reference(attrs: Attributes, x: Array) -> Array:
    """Bisection of erf."""
    low, high = np.full_like(x, -6.0), np.full_like(x, 6.0)
    for _ in range(80):
        middle = (low + high) / 2
        below = erf(middle) < x
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    value = (low + high) / 2
    return np.asarray(np.where(np.abs(x) < 1, value, np.where(np.abs(x) == 1, x * np.inf, np.nan)))


WIDE = np.array([-3.0, -1.0, -0.2, 0.0, 0.1, 0.7, 1.5, 2.5, 4.0], np.float32)
WITHIN = np.array([-0.999, -0.8, -0.1, 0.0, 1e-3, 0.3, 0.6, 0.95, 0.9999], np.float32)
EDGES = np.array([-1.0, 1.0, 1.5], np.float32)

elementwise(
    "Erfc",
    complement,
    complement_reference,
    [Case((WIDE,)), Case((np.array([3.0, 6.0], np.float32),), name="small")],
    work=per_element(32),
)
elementwise(
    "ErfInv",
    inverse,
    inverse_reference,
    [Case((WITHIN,), tolerance=3e-5), Case((EDGES,), name="edges")],
    work=per_element(512),
)
