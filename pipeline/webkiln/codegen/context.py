"""The context of printed code: which copies of the body are computed together, and how."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from webkiln.codegen.dialect import Simd


@dataclass(frozen=True, slots=True)
class Context:
    """A body has `tiles` copies on the tile axis, and on the vector axis `vectors` vectors, or as
    many scalars without `simd`.
    """

    vector: str | None = None
    tile: str | None = None
    simd: Simd | None = None
    vectors: int = 1
    tiles: int = 1
    partial: bool = False
    """Only `left` elements remain on the vector axis."""
    indices: tuple[str, ...] = ()
    """The index of each copy on the tile axis, where they are not neighbours."""
    unrolled: str | None = None
    """A reduction loop of which `iteration` is printed."""
    iteration: int = 0

    @property
    def width(self) -> int:
        return self.simd.width if self.simd else 1

    @property
    def copies(self) -> Iterator["Copy"]:
        for t in range(self.tiles):
            for v in range(self.vectors):
                yield Copy(self, t, v * self.width)


class Copy(NamedTuple):
    """A copy of the body, with its offsets on the tile axis and on the vector axis."""

    here: Context
    t: int = 0
    v: int = 0

    def index_on(self, axis: str) -> str:
        """The index on an axis."""
        here = self.here
        if axis == here.tile:
            return here.indices[self.t] if here.indices else _plus(axis, self.t)
        if axis == here.vector:
            return _plus(axis, self.v)
        return _plus(axis, here.iteration if axis == here.unrolled else 0)

    def lane(self, v: int) -> "Copy":
        """The copy at another offset on the vector axis."""
        return Copy(self.here, self.t, v)


SCALAR = Copy(Context())
"""One element that depends on no axis."""


def accumulator(position: int, at: Copy) -> str:
    """The name of a copy of an accumulator."""
    return f"acc{position}_{at.t}_{at.v}"


def _plus(axis: str, offset: int) -> str:
    return f"({axis} + {offset})" if offset else axis
