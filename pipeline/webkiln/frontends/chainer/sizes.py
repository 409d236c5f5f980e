"""Dynamic sizes during recording: they support arithmetic, but do not convert to numbers."""

from collections.abc import Iterable
from typing import Any

from webkiln.errors import ShapeError
from webkiln.ir.dim import is_at_least, is_symbolic


class OpenSize:
    """A dynamic size. Comparisons in Python must have the same result for all of its values."""

    __slots__ = ("dim",)

    def __init__(self, dim: Any) -> None:
        self.dim = dim

    def __add__(self, other: Any) -> Any:
        return size_of(self.dim + bare(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return size_of(self.dim - bare(other))

    def __rsub__(self, other: Any) -> Any:
        return size_of(bare(other) - self.dim)

    def __mul__(self, other: Any) -> Any:
        return (
            NotImplemented
            if isinstance(other, tuple | list | str)
            else size_of(self.dim * bare(other))
        )

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return size_of(self.dim // bare(other))

    def __rfloordiv__(self, other: Any) -> Any:
        return size_of(bare(other) // self.dim)

    def __mod__(self, other: Any) -> Any:
        return size_of(self.dim % bare(other))

    def __neg__(self) -> Any:
        return size_of(-self.dim)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | OpenSize):
            return False
        try:
            return are_equal(self.dim, bare(other))
        except ShapeError:
            raise self.undecided(f"equal to {other}") from None

    def __hash__(self) -> int:
        return hash(self.dim)

    def __lt__(self, other: Any) -> bool:
        return not self.__ge__(other)

    def __ge__(self, other: Any) -> bool:
        if is_at_least(self.dim, bare(other)):
            return True
        if is_at_least(bare(other) - 1, self.dim):
            return False
        raise self.undecided(f"at least {other}")

    def __gt__(self, other: Any) -> bool:
        return self.__ge__(bare(other) + 1)

    def __le__(self, other: Any) -> bool:
        return not self.__gt__(other)

    def __bool__(self) -> bool:
        return self != 0

    def __repr__(self) -> str:
        return str(self.dim)

    def undecided(self, what: str) -> ShapeError:
        return ShapeError(
            f"the code tests whether the open size {self} is {what}; set it in input_shapes"
        )

    def __index__(self) -> int:
        raise ShapeError(
            f"the code needs the value of the open size {self}, for"
            " example for range() or numpy; set it in input_shapes"
        )

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __truediv__(self, other: Any) -> float:
        return float(self.__index__() / other)

    __rtruediv__ = __truediv__


def size_of(dim: Any) -> Any:
    return OpenSize(dim) if is_symbolic(dim) else dim


def bare(size: Any) -> Any:
    """A size in the form of the IR."""
    if isinstance(size, OpenSize):
        return size.dim
    if hasattr(size, "__index__"):
        return size.__index__()
    if isinstance(size, float) and size.is_integer():
        return int(size)
    raise ShapeError(f"{size!r} is not a size; sizes are integers")


def bare_all(sizes: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(bare, sizes))


def is_open(size: Any) -> bool:
    return isinstance(size, OpenSize)


def are_equal(a: int, b: int) -> bool:
    """Whether two sizes are equal. Raise ShapeError if that is not known."""
    if a == b:
        return True
    if is_at_least(a - b, 1) or is_at_least(b - a, 1):
        return False
    raise ShapeError(f"whether {a} and {b} are equal is not known before the model runs")
