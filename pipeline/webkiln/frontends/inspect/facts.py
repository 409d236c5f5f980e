"""What `webkiln inspect` tells of a model file, whichever format it has.

`frontends/<format>/facts.py` has `FACTS`, an `Inspector`: what the format's files say of
themselves, and how its spec.json is described.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TensorShape = tuple[int | str | None, ...] | None
"""A size is a number, an expression of names, or not known; without a shape the rank is not known.
"""
Row = tuple[str, str]
"""What something is called, and what it is."""


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
    """What a model computes: how often it has nodes or layers of which kind, and its trained arrays
    by their slots: dtype and shape.
    """

    inputs: tuple[TensorFacts, ...] = ()
    outputs: tuple[TensorFacts, ...] = ()
    parts: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)


@dataclass(frozen=True)
class FileFacts:
    """What a file says of itself: who wrote it, versions; `glimpsed` is what is known of the model
    without its framework.
    """

    rows: tuple[Row, ...] = ()
    signatures: tuple[SignatureFacts, ...] = ()
    glimpsed: Description = field(default_factory=Description)


@dataclass(frozen=True)
class Inspector:
    """`told(inputs, params)` takes what the program `load` of the format takes; `described(spec)`
    what that gives.
    """

    told: Callable[[Mapping[str, Path], Mapping[str, Any]], FileFacts]
    described: Callable[[Mapping[str, Any]], Description]


def rows(**told: Any) -> tuple[Row, ...]:
    """Those that say something; `_` in a name is a blank."""
    return tuple(
        (name.replace("_", " "), clean(str(value)))
        for name, value in told.items()
        if value not in (None, "", 0, [], ())
    )


MAX_TEXT = 300


def clean(text: str) -> str:
    """On one line, without what a terminal would act on, and not too long."""
    line = " ".join(
        "".join(character if character.isprintable() else " " for character in text).split()
    )
    return line if len(line) <= MAX_TEXT else f"{line[:MAX_TEXT]}..."


def listed(items: Sequence[str], most: int = 8) -> str:
    return ", ".join(
        [*items[:most], *([f"and {len(items) - most} more"] if len(items) > most else [])]
    )
