"""The errors of compositions of transcendental functions in ulps, which docs/kernels.md lists."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.compose import COMPOSITIONS, compose, logistic_quotient
from webkiln.nest.expr import FLOAT, INT, Expr, apply, const, local, walk
from webkiln.nest.semantics import SEMANTICS, compute
from webkiln.nest.steps import View, calls
from webkiln.ops.unary import sigmoid

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"
X = local("x", FLOAT)
RANGES: dict[str, tuple[float, float, float]] = {
    "exp": (-87, 88.7, 2),
    "expm1": (-87, 88.7, 3),
    "log": (1e-37, 3e38, 2),
    "log1p": (-0.9999, 3e38, 4),
    "tanh": (-1e3, 1e3, 6),
    "erf": (-1e3, 1e3, 8),
    "logistic": (-87, 1e3, 3),
    "sin": (-3.0, 3.0, 2),
    "cos": (-1.5, 1.5, 2),
}
"""Function -> (start and end of the sampled range, the maximum error in ulps of the result)."""


FUNCTIONS = {**COMPOSITIONS, "logistic": lambda x: logistic_quotient(const(1.0), x)}
REFERENCES: dict[str, Callable[[Array], Array]] = {
    **SEMANTICS,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
}


def evaluate_composition(name: str, x: Array) -> Array:
    values: dict[Expr, Array] = {X: x}
    root = FUNCTIONS[name](X)
    for expr in walk([root]):
        if expr is not X:
            values[expr] = compute(expr, [values[item] for item in expr.args])
    return values[root]


def samples(low: float, high: float) -> Array:
    """Samples with linear and with geometric spacing, of both signs."""
    sizes = np.geomspace(1e-30, max(abs(low), abs(high)), 200_000)
    x = np.concatenate(
        [np.linspace(max(low, -100), min(high, 100), 200_000), sizes, -sizes]
    ).astype(np.float32)
    return x[(x >= low) & (x <= high)]


def max_error_in_ulps(name: str) -> float:
    low, high, _ = RANGES[name]
    x = samples(low, high)
    reference = REFERENCES[name](x.astype(np.float64))
    got = evaluate_composition(name, x).astype(np.float64)
    return float(
        np.max(
            np.abs(got - reference)
            / np.spacing(np.abs(reference).astype(np.float32)).astype(np.float64)
        )
    )


@pytest.mark.parametrize("name", RANGES)
def test_errors_are_bounded(name: str) -> None:
    _, _, bound = RANGES[name]
    assert max_error_in_ulps(name) <= bound


@pytest.mark.parametrize("name", RANGES)
def test_results_for_non_finite_operands(name: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf], np.float32)
    with np.errstate(all="ignore"):
        expected = REFERENCES[name](x)
    np.testing.assert_array_equal(evaluate_composition(name, x), expected)


def test_the_rounded_upper_word_is_exact() -> None:
    edges = np.array([-(1 << 31), -(1 << 30), -1, 0, 1, 0xFFFF, 1 << 30, (1 << 31) - 1], np.int32)
    rng = np.random.default_rng(0)
    random = rng.integers(-(1 << 31), 1 << 31, 4000, np.int64).astype(np.int32)
    a, b = (item.ravel() for item in np.meshgrid(np.concatenate([edges, random]), edges))
    a, b = np.concatenate([a, random[:-1]]), np.concatenate([b, random[1:]])
    values: dict[Expr, Array] = {local("a", INT): a, local("b", INT): b}
    root = COMPOSITIONS["doubling_high"](*values)
    for expr in walk([root]):
        if expr not in values:
            values[expr] = compute(expr, [values[item] for item in expr.args])
    np.testing.assert_array_equal(values[root], SEMANTICS["doubling_high"](a, b).astype(np.int32))


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_results_do_not_exceed_one(name: str) -> None:
    assert np.max(np.abs(evaluate_composition(name, samples(-20, 20)))) == 1


def test_the_documentation_lists_the_bounds() -> None:
    text = PAGE.read_text()
    for name, (low, high, bound) in RANGES.items():
        assert f"| `{name}` | {low:g} to {high:g} | {bound:g} |" in text


def test_logistic_functions_are_recognised() -> None:
    low = Lowering([View("x", Type("float32", (4,)))], [View("y", Type("float32", (4,)))], "silu")
    nest = low.nest()
    index = nest.axes((4,))
    x = nest.load(low.inputs[0], index)
    nest.store(low.outputs[0], x * sigmoid(x + 1.0) + apply("exp", -x), index)
    nest.done()
    (call,) = calls(low.steps)
    (output,) = compose(call.nest, COMPOSITIONS).outputs
    operations = [expr.op for expr in walk([output.value])]
    assert "exp" not in operations
    assert operations.count("bitcast") == 3, "one of the logistic function, two of the exponential"
