"""Quantized matrices: codes, and what scales and shifts each block of codes along a row."""

from dataclasses import dataclass

import numpy as np

from webkiln.frontends.core.arrays import pack_bits, unpack_bits
from webkiln.ir.types import Array

BYTE = 8


@dataclass(frozen=True, slots=True)
class Plane:
    """Numbers of `bits` bits along the last axis, the lowest first: uint8 if `bits` is 1, 2 or 4.
    With 8 or more, `data` has one element for each number.
    """

    data: Array
    bits: int

    @property
    def width(self) -> int:
        """The numbers in a row."""
        return int(self.data.shape[-1]) * max(BYTE // self.bits, 1)

    def values(self) -> Array:
        """[rows, width]"""
        return self.data if self.bits >= BYTE else unpack_bits(self.data, self.bits)


def packed(values: Array, bits: int) -> Plane:
    """The plane of uint8 values [rows, width] below 2**bits."""
    return Plane(pack_bits(values, bits), bits)


@dataclass(frozen=True, slots=True)
class BlockWeights:
    """w = (code - center) * scale + minimum, in float32, of `shape`. Rows are along the last axis.

    `codes` are one plane, or two of which the second has the upper bits. `scales` and `minima`
    belong to blocks along a row. Each is a product of planes, from the one with the longest blocks
    to the one with the shortest.
    """

    codes: tuple[Plane, ...]
    center: int
    scales: tuple[Plane, ...]
    minima: tuple[Plane, ...] = ()
    shape: tuple[int, ...] = ()

    def values(self) -> Array:
        """The weights, float32 of `shape`. Overflow gives infinity."""
        with np.errstate(all="ignore"):
            return self._values().reshape(self.shape)

    def _values(self) -> Array:
        low, *high = self.codes
        codes = low.values().astype(np.int16)
        for plane in high:
            codes |= plane.values().astype(np.int16) << low.bits
        weights = _stretched(_product(self.scales), codes.shape[1]) * (codes - self.center)
        if self.minima:
            weights = weights + _stretched(_product(self.minima), codes.shape[1])
        return weights.astype(np.float32, copy=False)


def _product(planes: tuple[Plane, ...]) -> Array:
    """float32 [rows, blocks of the last plane]"""
    first, *rest = planes
    result = first.values().astype(np.float32)
    for plane in rest:
        result = _stretched(result, plane.width) * plane.values()
    return result


def _stretched(values: Array, width: int) -> Array:
    return np.repeat(values, width // values.shape[1], axis=1)
