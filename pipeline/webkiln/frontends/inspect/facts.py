"""Data types of `webkiln inspect`, common to all formats.

`frontends/<format>/facts.py` defines `FACTS`, an `Inspector`: it reads the metadata of the format's
files and describes its spec.json.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TensorShape = tuple[int | str | None, ...] | None
"""A size is an integer, an expression over names, or None if unknown. The shape is None if the rank
is unknown.
"""
Row = tuple[str, str]
"""A label and its text."""


@dataclass(frozen=True)
class TensorFacts:
    """An input or output."""

    name: str
    dtype: str
    shape: TensorShape


@dataclass(frozen=True)
class SignatureFacts:
    """One of several ways to call a model."""

    name: str
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]


@dataclass(frozen=True)
class Description:
    """A model: the number of nodes or layers by kind (`parts`), and (dtype, shape) of the trained
    arrays by slot.
    """

    inputs: tuple[TensorFacts, ...] = ()
    outputs: tuple[TensorFacts, ...] = ()
    parts: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)


@dataclass(frozen=True)
class FileFacts:
    """Metadata of a file, such as its producer and versions. `preview` describes the model if its
    framework is not installed.
    """

    rows: tuple[Row, ...] = ()
    signatures: tuple[SignatureFacts, ...] = ()
    preview: Description = field(default_factory=Description)


@dataclass(frozen=True)
class Inspector:
    """`read_facts(inputs, params)` has the parameters of the format's `load`; `describe_spec`
    describes the spec that `load` returns.
    """

    read_facts: Callable[[Mapping[str, Path], Mapping[str, Any]], FileFacts]
    describe_spec: Callable[[Mapping[str, Any]], Description]


def rows(**values: Any) -> tuple[Row, ...]:
    """Rows for the values that are not empty. `_` in a keyword becomes a space in the label."""
    return tuple(
        (name.replace("_", " "), clean(str(value)))
        for name, value in values.items()
        if value not in (None, "", 0, [], ())
    )


MAX_TEXT = 300


def clean(text: str) -> str:
    """The text on one line, without control characters, and truncated."""
    line = " ".join(
        "".join(character if character.isprintable() else " " for character in text).split()
    )
    return line if len(line) <= MAX_TEXT else f"{line[:MAX_TEXT]}..."


def listed(items: Sequence[str], most: int = 8) -> str:
    """A comma-separated list that counts the items after the first ones."""
    return ", ".join(
        [*items[:most], *([f"and {len(items) - most} more"] if len(items) > most else [])]
    )
