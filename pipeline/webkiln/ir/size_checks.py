"""Constraints that type rules put on sizes: proven, refuted by an error, or collected as guards."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce

from webkiln.errors import ShapeError, SizeError
from webkiln.ir.dim import COUNTER, LATE, names, never_zero, reaches, shown

_guards: ContextVar["list[int | Equality] | None"] = ContextVar("guards", default=None)


def demand(size: int, message: str) -> None:
    """Constrain a size to be at least 0. ShapeError where it is proven to be negative; a guard
    where neither is proven.
    """
    if reaches(size, 0):
        return
    if reaches(-1, size):
        raise ShapeError(message)
    if (found := _guards.get()) is not None:
        found.append(size)


@dataclass(frozen=True, slots=True)
class Equality:
    """A guard: two sizes must be equal."""

    a: int
    b: int


def same(a: int, b: int, what: str) -> int:
    """Constrain two sizes to be equal, and return the one with the shorter expression. SizeError
    where
    they never are equal, or where one is known only during a run; a guard where neither is proven.
    """
    if a == b:
        return a
    if never_zero(a - b) or any(COUNTER.match(name) or LATE.match(name) for name in names([a, b])):
        raise SizeError(f"{what}: {shown(a)} and {shown(b)}", (a, b))
    if (found := _guards.get()) is not None:
        found.append(Equality(a, b))
    return min(a, b, key=lambda size: (len(str(size)), str(size)))


def all_same(sizes: Iterable[int], what: str) -> int:
    """The shortest of sizes that must be equal, as `same`."""
    return reduce(lambda a, b: same(a, b, what), sizes)


@contextmanager
def guards() -> Iterator[list[int | Equality]]:
    """Collects the constraints of the block that are neither proven nor refuted: sizes that must be
    at least 0, and equalities.
    """
    found: list[int | Equality] = []
    token = _guards.set(found)
    try:
        yield found
    finally:
        _guards.reset(token)
