"""Selects the cases of a large cross product that `make test` runs. `make formats` runs the others.

`@pytest.mark.sample(4)` selects four cases of a parametrised test, `@pytest.mark.sample("js",
"wasm")` the cases with these ids. A count selects the same cases in every run, and prefers cases
with parameter values that no selected case covers. `representative` selects values of one
parameter, which several tests can share.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

Case = tuple[str, ...]
"""The id of each parameter."""


def representative(values: Iterable[Any], *chosen: Any) -> list[Any]:
    """All values. Those that are not `chosen` are marked as `long`."""
    all_values = list(values)
    assert all(value in all_values for value in chosen), "a chosen value is none of them"
    return [
        (
            value
            if value in chosen
            else pytest.param(
                *(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long
            )
        )
        for value in all_values
    ]


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark the cases outside their test's sample as `long`. Raises UsageError for an unknown id, or
    for a count that is not smaller than the number of cases.
    """
    tests: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("sample") is not None:
            tests[item.nodeid.partition("[")[0]].append(item)
    for name, cases in tests.items():
        marker = cases[0].get_closest_marker("sample")
        assert marker is not None
        ids = [case.callspec.id if hasattr(case, "callspec") else "" for case in cases]
        if marker.args and isinstance(marker.args[0], str):
            selected = set(marker.args)
            unknown = selected - set(ids)
        else:
            (count,) = marker.args
            selected = set(sample([tuple(case.callspec._idlist) for case in cases], count))
            unknown = set() if count < len(cases) else {str(count)}
        if unknown and _is_complete(name, cases):
            raise pytest.UsageError(
                f"{name}: a sample of {', '.join(sorted(unknown))} does not fit its {len(cases)}"
                " cases"
            )
        for case, case_id in zip(cases, ids, strict=True):
            if case_id not in selected:
                case.add_marker(pytest.mark.long)


def sample(cases: Sequence[Case], count: int) -> list[str]:
    """The ids of `count` of these cases. Greedily selects the case with the most parameter values
    that are not covered yet. Ties are broken by a hash of the id.
    """
    remaining = sorted(cases, key=lambda case: hashlib.sha256("-".join(case).encode()).digest())
    covered: set[tuple[int, str]] = set()
    chosen: list[str] = []
    for _ in range(min(count, len(remaining))):
        best = max(remaining, key=lambda case: len({*enumerate(case)} - covered))
        remaining.remove(best)
        covered |= {*enumerate(best)}
        chosen.append("-".join(best))
    return chosen


def _is_complete(name: str, cases: Sequence[pytest.Function]) -> bool:
    """Whether all cases of a test were collected. The command line may select single cases."""
    return not any("[" in argument for argument in cases[0].config.args)
