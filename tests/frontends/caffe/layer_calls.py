"""A layer of the oracle with its weights and parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Blob = np.ndarray


class Call:
    """A layer, and the weights of the net by layer."""

    def __init__(
        self, layer: Any, weights: dict[str, list[Blob]], rng: np.random.Generator
    ) -> None:
        self.layer, self.weights, self.rng = layer, weights, rng

    def weight(
        self, index: int, shape: Sequence[int], low: float = -1.0, high: float = 1.0
    ) -> Blob:
        """A weight of the layer; a new one is uniform in [low, high)."""
        blobs = self.weights.setdefault(self.layer.name, [])
        if index == len(blobs):
            blobs.append(
                self.rng.uniform(low, high, tuple(shape)).astype(np.float32).astype(np.float64)
            )
        return blobs[index]


def pair(message: Any, stem: str, name: str, default: int, count: int = 2) -> list[int]:
    """A parameter for each of `count` axes: from fields `*_h` and `*_w`, or from a repeated one."""
    fields = message.DESCRIPTOR.fields_by_name
    if f"{stem}_h" in fields and (message.HasField(f"{stem}_h") or message.HasField(f"{stem}_w")):
        return [getattr(message, f"{stem}_h"), getattr(message, f"{stem}_w")]
    value = getattr(message, name)
    listed = list(value) if not isinstance(value, int) else [value]
    listed = listed or [default]
    return listed * count if len(listed) == 1 else listed


def aligned(x: Blob, factor: Blob, axis: int) -> Blob:
    """A factor reshaped so that its first axis is `axis` of `x`."""
    axis = axis % x.ndim if factor.ndim else 0
    return factor.reshape((1,) * axis + factor.shape + (1,) * (x.ndim - axis - factor.ndim))


def sigmoid(x: Blob) -> Blob:
    return 1 / (1 + np.exp(-x))
