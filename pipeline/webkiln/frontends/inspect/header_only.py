"""Reading a model file for what it is, not for its numbers: large arrays stay where they are, and
what
is unsupported is collected instead of raised.

The readers of all formats are the same ones that a build has; they ask here where the two differ.
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
class Glance:
    """What readers found unsupported."""

    unsupported: list[Item] = field(default_factory=list)


_PRESENT: ContextVar[Glance | None] = ContextVar("glance", default=None)


@contextmanager
def glancing() -> Iterator[Glance]:
    """Inside, readers keep no weights."""
    glance = Glance()
    token = _PRESENT.set(glance)
    try:
        yield glance
    finally:
        _PRESENT.reset(token)


def is_glancing() -> bool:
    return _PRESENT.get() is not None


def refuse(name: str, items: Sequence[Item]) -> None:
    """UnsupportedError with what a reader cannot convert, if that is anything; a glance goes on."""
    if (glance := _PRESENT.get()) is not None:
        glance.unsupported += items
    elif items:
        raise UnsupportedError(name, items)


def unread(dtype: Any, shape: Sequence[int]) -> Array | None:
    """What stands for an array that a glance does not read; None where it is read: small ones may
    be structure.
    """
    count = int(np.prod([int(size) for size in shape], dtype=object)) if shape else 1
    return (
        np.broadcast_to(np.zeros((), dtype), tuple(shape))
        if is_glancing() and count > INLINE_ELEMENTS
        else None
    )
