"""A constant sample of the conformance cases: the first of every operator, and networks."""

import pytest

from tests.conformance.__main__ import surprises
from tests.conformance.cases import cases, cases_in_scope
from tests.conformance.judge import judge
from tests.conformance.report import USUAL, count_exclusions, recorded_states, skips, state
from tests.hosts import every_page, every_page_leg
from webkiln.recipe.values import BACKENDS

NETWORKS = 6
ELSEWHERE = 6
"""Browsers other than the default one run one of this many cases on their software GPUs. `make
conformance browser=firefox` runs all.
"""


def representative():
    """The first kept case of every operator, and some of the others."""
    first = {}
    for case in cases_in_scope():
        first.setdefault(case.operator, case)
    others = [case for case in cases_in_scope() if case.operator.startswith("(")]
    return [
        *first.values(),
        *(case for case in others[:: len(others) // NETWORKS] if case not in first.values()),
    ]


@every_page_leg
@pytest.mark.sample("chromium-wasm", "firefox-js")
def test_the_first_case_of_every_operator(browser, backend, tmp_path):
    chosen = representative()
    assert len(chosen) > 150
    if browser != USUAL and backend in ("webgpu", "webgl"):
        chosen = chosen[::ELSEWHERE]
    names = {case.name for case in chosen}
    failures = surprises(judge(chosen, backend, tmp_path, browser), backend, browser)
    assert not [line for line in failures if "no kept case" not in line or line.split()[0] in names]


def test_every_case_is_kept_or_excluded():
    assert len(cases_in_scope()) + sum(count_exclusions(cases()).values()) == len(cases())


@every_page
def test_every_skip_names_a_case_and_backends(browser):
    names = {case.name for case in cases_in_scope()}
    for row in skips(browser):
        assert row.case in names
        assert row.backends
        assert set(row.backends) <= set(BACKENDS)
        assert row.reason


def test_the_page_of_operators_is_fresh():
    assert {backend: rest[:3] for backend, rest in recorded_states().items()} == dict.fromkeys(
        BACKENDS, state()
    ), "run make conformance"
