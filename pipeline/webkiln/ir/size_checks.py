"""Constraints of type rules on sizes. Each is proven, refuted by an error, or becomes a guard."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, abbreviate, is_at_least, is_nonzero
from webkiln.ir.symbols import COUNTER, DATA_DEPENDENT, names


class SizeError(ShapeError):
    """Two sizes that must be equal, but cannot be; `sizes` holds both."""

    def __init__(self, message: str, sizes: tuple[Size, Size]) -> None:
        self.sizes = sizes
        super().__init__(message)


_guards: ContextVar["list[Size | Equality] | None"] = ContextVar("guards", default=None)


def require_non_negative(size: Size, message: str) -> None:
    """Require `size >= 0`. Raises ShapeError(message) if it is provably negative; otherwise, if it
    is not proven, collects a guard.
    """
    if is_at_least(size, 0):
        return
    if is_at_least(-1, size):
        raise ShapeError(message)
    if (collected := _guards.get()) is not None:
        collected.append(size)


@dataclass(frozen=True, slots=True)
class Equality:
    """A guard: `a == b`."""

    a: Size
    b: Size


def require_equal(a: Size, b: Size, what: str) -> Size:
    """Require `a == b`, and return the one with the shorter expression.

    Raises SizeError if they are provably unequal, or if one depends on a loop counter or a
    data-dependent size. Otherwise, if it is not proven, collects a guard.
    """
    if a == b:
        return a
    if is_nonzero(a - b) or any(
        COUNTER.match(name) or DATA_DEPENDENT.match(name) for name in names([a, b])
    ):
        raise SizeError(f"{what}: {abbreviate(a)} and {abbreviate(b)}", (a, b))
    if (collected := _guards.get()) is not None:
        collected.append(Equality(a, b))
    return min(a, b, key=lambda size: (len(str(size)), str(size)))


def require_all_equal(sizes: Iterable[Size], what: str) -> Size:
    """Require that all sizes are equal, like `require_equal`."""
    return reduce(lambda a, b: require_equal(a, b, what), sizes)


@contextmanager
def guards() -> Iterator[list[Size | Equality]]:
    """Collect the constraints of the block that are neither proven nor refuted: sizes that must be
    non-negative, and equalities.
    """
    collected: list[Size | Equality] = []
    token = _guards.set(collected)
    try:
        yield collected
    finally:
        _guards.reset(token)
