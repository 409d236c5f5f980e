"""Quotients that are rounded are exact, even if division is a product with a reciprocal."""

import numpy as np
import pytest

from webkiln.ir.types import Array
from webkiln.nest.expr import FLOAT, INT, Expr, apply, bitcast, cast, const, local, walk
from webkiln.nest.quotients import _corrected_rounding, exact_quotient
from webkiln.nest.semantics import compute

X, Y = local("x", FLOAT), local("y", FLOAT)


def inexact(expr: Expr, args: list[Array]) -> Array:
    """Evaluate one node. Division is x * (1 / y), as on GPUs of NVIDIA."""
    if expr.op == "div":
        with np.errstate(all="ignore"):
            return args[0] * (np.float32(1) / args[1])
    return compute(expr, args)


def evaluate(root: Expr, x: Array, y: Array) -> Array:
    values: dict[Expr, Array] = {X: x, Y: y}
    for expr in walk([root]):
        if expr not in (X, Y):
            values[expr] = inexact(expr, [values[item] for item in expr.args])
    return values[root]


def operands() -> tuple[Array, Array]:
    """Quotients near ties and integers, random ones, and special values."""
    rng = np.random.default_rng(0)
    y = rng.uniform(1e-3, 4, 200_000).astype(np.float32)
    near = (rng.integers(-512, 512, y.size) / 2 * y.astype(np.float64)).astype(np.float32)
    x = np.concatenate([near, rng.standard_normal(y.size).astype(np.float32) * 300])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e38, -1e38, 1e-38], np.float32)
    pairs = np.meshgrid(special, special)
    return (
        np.concatenate([x, *(part.ravel() for part in pairs[:1])]),
        np.concatenate([y, y, *(part.ravel() for part in pairs[1:])]),
    )


ROUNDINGS = {
    "rint": lambda quotient: apply("rint", quotient),
    "floor": lambda quotient: apply("floor", quotient),
    "ceil": lambda quotient: apply("ceil", quotient),
    "trunc": lambda quotient: apply("trunc", quotient),
    "with bits": lambda quotient: apply("rint", bitcast(bitcast(quotient, INT), FLOAT)),
    "with a zero point": lambda quotient: apply("rint", quotient + 128.0),
    "clamped": lambda quotient: apply("rint", apply("min", quotient, const(127.0))),
}


@pytest.mark.parametrize("name", ROUNDINGS)
def test_rounded_quotients_are_those_of_exact_division(name: str) -> None:
    x, y = operands()
    plain = ROUNDINGS[name](apply("div", X, Y))
    corrected = _corrected_rounding(plain)
    assert corrected is not None
    with np.errstate(all="ignore"):
        quotients = x / y
        finite = np.isfinite(quotients) & (np.abs(quotients) < 2**24)
    expected = compute_rounded(name, quotients)
    np.testing.assert_array_equal(evaluate(corrected, x, y)[finite], expected[finite])
    assert (evaluate(plain, x, y)[finite] != expected[finite]).any()


def compute_rounded(name: str, quotients: Array) -> Array:
    root = ROUNDINGS[name](X)
    values: dict[Expr, Array] = {X: quotients}
    for expr in walk([root]):
        if expr is not X:
            values[expr] = compute(expr, [values[item] for item in expr.args])
    return values[root]


def test_quotients_that_are_not_finite_stay() -> None:
    x, y = operands()
    with np.errstate(all="ignore"):
        plain = x * (np.float32(1) / y)
    special = ~np.isfinite(plain)
    np.testing.assert_array_equal(evaluate(exact_quotient(X, Y), x, y)[special], plain[special])


def test_casts_to_integers_are_corrected() -> None:
    assert _corrected_rounding(cast(apply("div", X, Y), INT)) is not None


def test_divisions_that_are_exact_or_not_rounded_stay() -> None:
    assert _corrected_rounding(apply("rint", apply("div", X, const(8.0)))) is None
    assert _corrected_rounding(apply("rint", apply("exp", apply("div", X, Y)))) is None
    assert _corrected_rounding(apply("div", X, Y)) is None
