"""The compositions of transcendental functions: how far they are from float64, in units in the last
place of the result, and that docs/speed.md says so.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.compose import COMPOSITIONS, compose, logistic_quotient
from webkiln.nest.expr import FLOAT, Expr, apply, const, local, walk
from webkiln.nest.semantics import SEMANTICS, compute
from webkiln.nest.steps import View, calls
from webkiln.ops.unary import sigmoid

PAGE = Path(__file__).parents[2] / "docs" / "speed.md"
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
"""Function -> where it is sampled, and the most units in the last place of the result."""


WRITTEN = {**COMPOSITIONS, "logistic": lambda x: logistic_quotient(const(1.0), x)}
MEANT: dict[str, Callable[[Array], Array]] = {
    **SEMANTICS,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
}


def composed(name: str, x: Array) -> Array:
    values: dict[Expr, Array] = {X: x}
    root = WRITTEN[name](X)
    for expr in walk([root]):
        if expr is not X:
            values[expr] = compute(expr, [values[item] for item in expr.args])
    return values[root]


def samples(low: float, high: float) -> Array:
    """Evenly and by magnitude, both signs."""
    sizes = np.geomspace(1e-30, max(abs(low), abs(high)), 200_000)
    x = np.concatenate(
        [np.linspace(max(low, -100), min(high, 100), 200_000), sizes, -sizes]
    ).astype(np.float32)
    return x[(x >= low) & (x <= high)]


def units(name: str) -> float:
    low, high, _ = RANGES[name]
    x = samples(low, high)
    exact = MEANT[name]
    reference = exact(x.astype(np.float64))
    got = composed(name, x).astype(np.float64)
    return float(
        np.max(
            np.abs(got - reference)
            / np.spacing(np.abs(reference).astype(np.float32)).astype(np.float64)
        )
    )


@pytest.mark.parametrize("name", RANGES)
def test_the_error_in_units_in_the_last_place(name: str) -> None:
    _, _, bound = RANGES[name]
    assert units(name) <= bound


@pytest.mark.parametrize("name", RANGES)
def test_what_is_not_finite(name: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf], np.float32)
    with np.errstate(all="ignore"):
        expected = MEANT[name](x)
    np.testing.assert_array_equal(composed(name, x), expected)


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_what_is_bounded_by_one_stays_so(name: str) -> None:
    assert np.max(np.abs(composed(name, samples(-20, 20)))) == 1


def test_the_page_has_the_bounds() -> None:
    text = PAGE.read_text()
    for name, (low, high, bound) in RANGES.items():
        assert f"| `{name}` | {low:g} to {high:g} | {bound:g} |" in text


def test_what_is_a_logistic_function_is_written_as_one() -> None:
    low = Lowering([View("x", Type("float32", (4,)))], [View("y", Type("float32", (4,)))], "silu")
    nest = low.nest()
    index = nest.axes((4,))
    x = nest.load(low.inputs[0], index)
    nest.store(low.outputs[0], x * sigmoid(x + 1.0) + apply("exp", -x), index)
    nest.done()
    (call,) = calls(low.steps)
    (written,) = compose(call.nest, COMPOSITIONS).outputs
    operations = [expr.op for expr in walk([written.value])]
    assert "exp" not in operations
    assert operations.count("bitcast") == 3, "one of the logistic function, two of the exponential"
