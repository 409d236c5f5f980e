"""Which values the keys of recipe.toml take."""

import re
from collections.abc import Callable, Sequence
from typing import Any

SIZE_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)


def table(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A check of tables whose values satisfy `is_valid`."""
    return lambda value: isinstance(value, dict) and all(map(is_valid, value.values()))


def one_of(names: Sequence[str]) -> tuple[str, Callable[[Any], bool]]:
    """The description and the check of values that are one of some names."""
    return f"one of {', '.join(names)}", lambda value: value in names


def is_string(value: Any) -> bool:
    return isinstance(value, str)


def is_path(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def is_table(value: Any) -> bool:
    return isinstance(value, dict)


def is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def is_size(value: Any) -> bool:
    return type(value) is int and value > 0


def is_size_or_name(value: Any) -> bool:
    return is_size(value) or (isinstance(value, str) and SIZE_NAME.fullmatch(value) is not None)


def is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_size_or_name, value))


def is_plain(value: Any) -> bool:
    return type(value) in (str, int, float, bool)


def is_constant(value: Any) -> bool:
    """A number, a truth value, a string, or a nested list of these without empty lists, whose items
    have equal lengths.
    """
    return type(value) in (int, float, bool, str) or (
        isinstance(value, list)
        and bool(value)
        and all(map(is_constant, value))
        and len({_lengths(item) for item in value}) == 1
    )


def _lengths(constant: Any) -> tuple[int, ...]:
    """The lengths of a nested list, outermost first."""
    return (len(constant), *_lengths(constant[0])) if isinstance(constant, list) else ()


def is_positive(value: Any) -> bool:
    return type(value) in (int, float) and value > 0


def is_labels_file(value: Any) -> bool:
    """{url, sha256}, and perhaps `when`, a table of plain values."""
    if not isinstance(value, dict):
        return False
    if {"url", "sha256"} - set(value) or set(value) - {"url", "sha256", "when"}:
        return False
    return (
        is_string(value["url"])
        and is_string(value["sha256"])
        and table(is_plain)(value.get("when", {}))
    )


def is_source(value: Any) -> bool:
    return is_string(value) or table(is_string)(value)
