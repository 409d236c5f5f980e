"""Numbers of symbolic sizes: results equal those of floating point for all sizes, or are
rejected.
"""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webkiln.errors import ShapeError
from webkiln.ir import symbols
from webkiln.ir.dim import is_symbolic, maximum, minimum
from webkiln.ir.rational import Rational, evaluate, nonzero, positive, select, truncated_quotient
from webkiln.ir.size_checks import Equality, guards

L = symbols.placeholder("L")
SIZES = {"L": np.arange(1, 3000)}
ROUNDINGS = ("floor", "ceil", "trunc", "rint")


def number(value: float, dtype: str = "float32") -> Rational:
    return Rational.of_float(np.dtype(dtype).type(value))


FACTORS = [0.5, 0.25, 0.1, 0.6, 0.9, 1.5, 2.0, 1 / 3, 0.0625, -0.5]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_rounded_product_is_that_of_floating_point(
    factor: float, dtype: str, rounding: str
) -> None:
    product = Rational.of_size(L, dtype) * number(factor, dtype)
    expected = getattr(np, rounding)(SIZES["L"].astype(dtype) * np.dtype(dtype).type(factor))
    exact = getattr(np, rounding)(np.float64(factor) * SIZES["L"])
    if rounding != "floor" and not np.array_equal(expected, exact):
        with pytest.raises(ShapeError, match="depends on rounding in floating point"):
            getattr(product, rounding)()
        return
    size = getattr(product, rounding)()
    np.testing.assert_array_equal(evaluate(size, SIZES), expected)


def test_a_product_whose_rounding_differs_is_rejected() -> None:
    product = Rational.of_size(L, "float32") * number(1.3)
    with pytest.raises(ShapeError, match="depends on rounding in floating point, as for L = 90"):
        product.floor()


def test_sizes_beyond_the_first_difference_are_excluded_by_a_guard() -> None:
    with guards() as required:
        (Rational.of_size(L, "float32") * number(0.333)).floor()
    assert required == [Equality(maximum([L, 50002]), 50002)]


def test_float16_counts_exactly_up_to_its_precision() -> None:
    with guards() as required:
        Rational.of_size(L, "float16").floor()
    assert required == [Equality(maximum([L, 2048]), 2048)]


@pytest.mark.parametrize("other", [2, 64, 0.5, 2.5])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
def test_arithmetic_with_numbers(name: str, other: float) -> None:
    operation = getattr(operator, name)
    for a, b in ((Rational.of_size(L, "float64"), other), (other, Rational.of_size(L, "float64"))):
        values = [SIZES["L"].astype(np.float64) if isinstance(x, Rational) else x for x in (a, b)]
        expected = np.floor(operation(*values))
        np.testing.assert_array_equal(evaluate(operation(a, b).floor(), SIZES), expected)


def test_a_quotient_of_a_size_by_itself_is_one() -> None:
    quotient = Rational.of_size(3 * L, "float32") / Rational.of_size(L, "float32")
    assert (quotient.numerator, quotient.denominator) == (3, 1)


def test_a_divisor_that_may_be_zero_is_rejected() -> None:
    with pytest.raises(ShapeError, match="may be 0"):
        Rational.of_size(L, "float32") / Rational.of_size(L - 5, "float32")


@given(st.integers(-5, 5), st.integers(-9, 9), st.integers(1, 7))
def test_truncated_quotients(factor: int, offset: int, divisor: int) -> None:
    size = truncated_quotient(factor * L + offset, divisor)
    expected = np.trunc((factor * SIZES["L"] + offset) / divisor)
    np.testing.assert_array_equal(np.broadcast_to(evaluate(size, SIZES), expected.shape), expected)


def test_comparisons_are_one_or_zero() -> None:
    for size, expected in (
        (positive(L - 7), SIZES["L"] > 7),
        (nonzero(L - 7), SIZES["L"] != 7),
        (Rational.of_size(L, "float32").is_less(number(7.5)), SIZES["L"] < 7.5),
        (Rational.of_size(L, "float32").is_equal(number(7)), SIZES["L"] == 7),
    ):
        assert is_symbolic(size)
        np.testing.assert_array_equal(evaluate(size, SIZES), expected)
    assert (positive(L), nonzero(L), positive(-L)) == (1, 1, 0)


def test_a_selected_bound_is_a_minimum_or_a_maximum() -> None:
    assert select(positive(8 - L), L, 8) == minimum(L, 8)
    assert select(positive(L - 8), L, 8) == maximum([L, 8])
    assert select(1 - positive(8 - L), L, 8) == maximum([L, 8])
    other = select(positive(L - 8), 3 * L, 5)
    np.testing.assert_array_equal(
        evaluate(other, SIZES), np.where(SIZES["L"] > 8, 3 * SIZES["L"], 5)
    )
