"""A weight in a file, which is read later."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from webkiln.ir.types import Array


@dataclass(frozen=True, slots=True)
class StoredWeight:
    """A weight. `name` is its name in the file, `shape` the shape of the result of `read`."""

    name: str
    shape: tuple[int, ...]
    read: Callable[[], Array]

    @property
    def last(self) -> str:
        """The name without those of its layers: `kernel` for `dense_1/kernel:0`."""
        return self.name.removesuffix(":0").rpartition("/")[2]

    def transposed(self, axes: Sequence[int]) -> "StoredWeight":
        return StoredWeight(
            self.name, tuple(self.shape[axis] for axis in axes), lambda: self.read().transpose(axes)
        )

    def rotated(self, axes: int) -> "StoredWeight":
        """Rotate by 180 degrees: reverse the first `axes` axes."""
        return StoredWeight(
            self.name, self.shape, lambda: self.read()[(slice(None, None, -1),) * axes]
        )

    def reshaped(self, shape: Sequence[int]) -> "StoredWeight":
        return StoredWeight(self.name, tuple(shape), lambda: self.read().reshape(shape))

    def mapped(
        self, function: Callable[[Array], Array], shape: Sequence[int] | None = None
    ) -> "StoredWeight":
        return StoredWeight(
            self.name, self.shape if shape is None else tuple(shape), lambda: function(self.read())
        )


def joined(parts: Sequence[StoredWeight], axis: int = -1) -> StoredWeight:
    """Concatenate weights of one shape along an axis."""
    first = parts[0]
    axis %= max(len(first.shape), 1)
    sizes = [
        sum(part.shape[axis] for part in parts) if a == axis else size
        for a, size in enumerate(first.shape)
    ]
    return StoredWeight(
        first.name, tuple(sizes), lambda: np.concatenate([part.read() for part in parts], axis)
    )
