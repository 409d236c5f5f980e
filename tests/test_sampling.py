"""Samples of cross products are the same in every run, and cover the values of every parameter."""

from itertools import product

import pytest

from tests.sampling import sample

pytest_plugins = ["pytester"]

CROSS = [*product(("a", "b", "c"), ("x", "y"), ("1", "2", "3", "4"))]
MODULE = """
import pytest

@pytest.mark.parametrize("value", [1, 2, 3, 4])
@pytest.mark.sample({sample})
def test_values(value):
    pass
"""
SETTINGS = """
import pytest
from tests.sampling import mark_long

def pytest_configure(config):
    for name in ("long", "sample(cases)"):
        config.addinivalue_line("markers", name)

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_long(items)
"""


def test_a_sample_covers_every_value_with_the_fewest_cases() -> None:
    chosen = sample(CROSS, 4)
    assert len({*chosen}) == 4
    for position, count in enumerate((3, 2, 4)):
        assert len({case.split("-")[position] for case in chosen}) == count


def test_a_sample_does_not_depend_on_the_order_of_cases() -> None:
    assert sample(CROSS, 7) == sample(CROSS[::-1], 7)
    assert sample(CROSS, 7)[:4] == sample(CROSS, 4)


@pytest.mark.parametrize(("arguments", "long", "short"), [("1", 3, 1), ('"2", "4"', 2, 2)])
def test_the_cases_outside_a_sample_are_long(
    arguments: str, long: int, short: int, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(SETTINGS)
    pytester.makepyfile(MODULE.format(sample=arguments))
    pytester.runpytest("-m", "not long", "-p", "no:xdist").assert_outcomes(
        passed=short, deselected=long
    )
    pytester.runpytest("-m", "long", "-p", "no:xdist").assert_outcomes(
        passed=long, deselected=short
    )


@pytest.mark.parametrize("arguments", ["4", '"5"'])
def test_a_sample_that_does_not_fit_is_an_error(arguments: str, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(SETTINGS)
    pytester.makepyfile(MODULE.format(sample=arguments))
    result = pytester.runpytest("-p", "no:xdist")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_values: a sample of * does not fit its 4 cases"])
