"""Large crosses of parameters: some of them in every run of the tests, the others by `make formats` alone."""

from collections.abc import Iterable
from typing import Any

import pytest


def representative(values: Iterable[Any], *chosen: Any) -> list[Any]:
    """All values; those that are not `chosen` are marked as long."""
    listed = list(values)
    assert all(value in listed for value in chosen), "a chosen value is none of them"
    return [
        value if value in chosen else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long)
        for value in listed
    ]
