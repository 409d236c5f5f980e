"""Ranges of activations."""

import numpy as np
import pytest

from webkiln.errors import SourceError
from webkiln.ir.types import Array
from webkiln.quantize.ranges import METHODS, Observed, rounding


def seen(*values: Array, axis: int = -1) -> Observed:
    observed = Observed()
    for value in values:
        observed.add(value.astype(np.float32), axis, len(values))
    return observed


def square_error(method: str, values: Array) -> float:
    return float(np.square(METHODS[method](seen(values)).applied(values) - values).sum())


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 3.0), (0.0, 6.0), (2.0, 5.0), (-5.0, -2.0), (-0.1, 1e-3)]
)
def test_the_codes_cover_a_range_and_zero(low: float, high: float) -> None:
    found = rounding(low, high)
    values = np.linspace(min(low, 0), max(high, 0), 1000)
    assert 0 <= found.zero <= 255
    assert np.abs(found.applied(values) - values).max() <= found.scale * 0.51
    assert found.applied(np.zeros(1)) == 0
    assert found.scale == pytest.approx((max(high, 0) - min(low, 0)) / 255)


def test_an_activation_that_is_always_zero_has_a_scale() -> None:
    for method in METHODS:
        found = METHODS[method](seen(np.zeros(10)))
        assert (found.scale > 0, found.zero) == (True, 0)


@pytest.mark.parametrize(("method", "times"), [("mse", 1.1), ("percentile", 2)])
@pytest.mark.parametrize("kind", ["uniform", "normal", "relu", "constant", "negative"])
def test_ranges_are_not_far_worse_than_the_whole(method: str, times: float, kind: str) -> None:
    rng = np.random.default_rng(0)
    values = {
        "uniform": rng.uniform(-1, 2, 50_000),
        "normal": rng.standard_normal(50_000),
        "relu": np.maximum(rng.standard_normal(50_000), 0),
        "constant": np.full(100, 0.25),
        "negative": -rng.random(50_000),
    }[kind]
    assert square_error(method, values) <= times * square_error("minmax", values) + 1e-9


def test_outliers_do_not_widen_the_range_with_the_least_square_error() -> None:
    values = np.append(np.random.default_rng(0).standard_normal(500_000), [40.0, -60.0])
    assert square_error("mse", values) < 0.5 * square_error("minmax", values)
    assert square_error("percentile", values) < square_error("minmax", values)


def test_several_samples_make_one_range_and_one_mean_per_channel() -> None:
    observed = seen(np.full((2, 3, 4), 1.0), np.arange(24).reshape(2, 3, 4), axis=1)
    assert (observed.low, observed.high) == (0.0, 23.0)
    first, second = np.full((2, 3, 4), 1.0), np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_allclose(observed.means, np.stack([first, second]).mean((0, 1, 3)))


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_activations_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(SourceError, match="infinite or NaN"):
        seen(np.array([1.0, value]))
