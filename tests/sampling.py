"""Which cases of a large cross product run in `make test`; `make formats` runs the others.

`@pytest.mark.sample(4)` keeps four cases of a parametrised test, `@pytest.mark.sample("js",
"wasm")` those with these ids. A count picks the same cases in every run, and first those that cover
values of parameters that no case before them has. `representative` chooses values of one parameter,
also where several tests share it.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

Case = tuple[str, ...]
"""The id of each parameter."""


def representative(values: Iterable[Any], *chosen: Any) -> list[Any]:
    """All values; those that are not `chosen` are marked as long."""
    listed = list(values)
    assert all(value in listed for value in chosen), "a chosen value is none of them"
    return [
        (
            value
            if value in chosen
            else pytest.param(
                *(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long
            )
        )
        for value in listed
    ]


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark the cases outside of their test's sample as `long`. Raises UsageError for an unknown id,
    or for a count that is not smaller than the number of cases.
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
            kept = set(marker.args)
            unknown = kept - set(ids)
        else:
            (count,) = marker.args
            kept = set(sample([tuple(case.callspec._idlist) for case in cases], count))
            unknown = set() if count < len(cases) else {str(count)}
        if unknown and _is_complete(name, cases):
            raise pytest.UsageError(
                f"{name}: a sample of {', '.join(sorted(unknown))} does not fit its {len(cases)}"
                " cases"
            )
        for case, its in zip(cases, ids, strict=True):
            if its not in kept:
                case.add_marker(pytest.mark.long)


def sample(cases: Sequence[Case], count: int) -> list[str]:
    """The ids of `count` of these cases. Each is one with most values that are new at their
    positions; a hash of the id decides among equals.
    """
    left = sorted(cases, key=lambda case: hashlib.sha256("-".join(case).encode()).digest())
    seen: set[tuple[int, str]] = set()
    chosen: list[str] = []
    for _ in range(min(count, len(left))):
        best = max(left, key=lambda case: len({*enumerate(case)} - seen))
        left.remove(best)
        seen |= {*enumerate(best)}
        chosen.append("-".join(best))
    return chosen


def _is_complete(name: str, cases: Sequence[pytest.Function]) -> bool:
    """Whether all cases of a test were collected: the command line may name some of them."""
    return not any("[" in argument for argument in cases[0].config.args)
