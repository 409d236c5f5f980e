"""The context of printed code: which copies of the body are computed together, and how."""

from dataclasses import dataclass

from webkiln.codegen.dialect import Simd


@dataclass(frozen=True, slots=True)
class Context:
    """A body has `tiles` copies on the tile axis, and on the vector axis `vectors` vectors, or as
    many scalars without `simd`. A copy is called by its offsets `t` and `v` on these axes.
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
    def copies(self) -> list[tuple[int, int]]:
        """(tile offset, vector offset) of every copy."""
        return [(t, v * self.width) for t in range(self.tiles) for v in range(self.vectors)]

    def index(self, axis: str, t: int, v: int) -> str:
        """The index of a copy on an axis."""
        if axis == self.tile and self.indices:
            return self.indices[t]
        if axis == self.tile:
            return _plus(axis, t)
        if axis == self.vector:
            return _plus(axis, v)
        return _plus(axis, self.iteration if axis == self.unrolled else 0)


SCALAR = Context()
"""One element that depends on no axis."""


def accumulator(position: int, t: int, v: int) -> str:
    """The name of a copy of an accumulator."""
    return f"acc{position}_{t}_{v}"


def _plus(axis: str, offset: int) -> str:
    return f"({axis} + {offset})" if offset else axis
