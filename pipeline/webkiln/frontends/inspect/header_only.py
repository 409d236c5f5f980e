"""Header-only mode of the model readers: large arrays are not read, and unsupported items are
collected instead of raised.

The readers are those of a build. They query this module where the two modes differ.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from webkiln.errors import Item, UnsupportedError
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array


@dataclass
class Findings:
    """What the readers collected: unsupported items."""

    unsupported: list[Item] = field(default_factory=list)


_CURRENT: ContextVar[Findings | None] = ContextVar("header_only", default=None)


@contextmanager
def header_only() -> Iterator[Findings]:
    """Inside this context, readers store no weights."""
    findings = Findings()
    token = _CURRENT.set(findings)
    try:
        yield findings
    finally:
        _CURRENT.reset(token)


def is_header_only() -> bool:
    """Whether the readers are in header-only mode."""
    return _CURRENT.get() is not None


def report_unsupported(name: str, items: Sequence[Item]) -> None:
    """Raise UnsupportedError if there are unsupported items; in header-only mode, collect them and
    continue.
    """
    if (findings := _CURRENT.get()) is not None:
        findings.unsupported += items
    elif items:
        raise UnsupportedError(name, items)


def placeholder_array(dtype: Any, shape: Sequence[int]) -> Array | None:
    """Zeros in place of an array that header-only mode does not read; None if it must be read,
    since small arrays may be part of the structure.
    """
    count = int(np.prod([int(size) for size in shape], dtype=object)) if shape else 1
    return (
        np.broadcast_to(np.zeros((), dtype), tuple(shape))
        if is_header_only() and count > INLINE_ELEMENTS
        else None
    )
