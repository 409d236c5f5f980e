"""What type rules demand of sizes: proven, refuted by an error, or kept as guards for when the sizes are set."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce

from webkiln.errors import ShapeError, SizeError
from webkiln.ir.dim import COUNTER, LATE, names, never_zero, reaches, shown

_guards: ContextVar["list[int | Equality] | None"] = ContextVar("guards", default=None)


def demand(size: int, message: str) -> None:
    """Raise ShapeError where a size is negative for certain; what is neither proven nor refuted is a guard of the program."""
    if reaches(size, 0):
        return
    if reaches(-1, size):
        raise ShapeError(message)
    if (found := _guards.get()) is not None:
        found.append(size)


@dataclass(frozen=True, slots=True)
class Equality:
    """Two sizes that are equal, or a model does not fit its inputs."""

    a: int
    b: int


def same(a: int, b: int, what: str) -> int:
    """One of two sizes that must be equal, the shorter one. SizeError where they never are, or nothing could check it before a run; what is neither
    proven nor refuted is a guard."""
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
    """The sizes that are demanded inside, and those that must be equal, which is not proven."""
    found: list[int | Equality] = []
    token = _guards.set(found)
    try:
        yield found
    finally:
        _guards.reset(token)
