"""Quantized matrices: codes, and what scales and shifts each block of codes along a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from webkiln.frontends.core.arrays import pack_bits, unpack_bits
from webkiln.ir.types import Array

BYTE = 8


@dataclass(frozen=True, slots=True)
class Plane:
    """Numbers of `bits` bits along the last axis, the lowest first: uint8 if `bits` is 1, 2 or 4.
    With 8 or more, `data` has one element for each number. A `table` [n] has the values of codes.

    Each number is that of a block of `columns` columns, of which the last block may have fewer. If
    it is 0, all blocks are equally long.
    """

    data: Array
    bits: int
    table: Array | None = None
    columns: int = 0

    @property
    def width(self) -> int:
        """The numbers in a row."""
        return int(self.data.shape[-1]) * max(BYTE // self.bits, 1)

    def values(self) -> Array:
        """[rows, width]"""
        codes = self.data if self.bits >= BYTE else unpack_bits(self.data, self.bits)
        return codes if self.table is None else np.asarray(self.table[codes])


def packed(values: Array, bits: int) -> Plane:
    """The plane of uint8 values [rows, width] below 2**bits."""
    return Plane(pack_bits(values, bits), bits)


@dataclass(frozen=True, slots=True)
class BlockWeights:
    """w = (code - center - point) * scale + minimum, in float32, of `shape`. Rows are along the
    last axis.

    `codes` are one plane, or two of which the second has the upper bits. `points`, `scales` and
    `minima` belong to blocks along a row. Each is a product of planes, from the one with the
    longest blocks to the one with the shortest; `offset` is added to scales. `groups` are the
    numbers of the columns' blocks, if these are not neighbours. What a row has beyond `shape` is
    dropped.
    """

    codes: tuple[Plane, ...]
    center: int
    scales: tuple[Plane, ...]
    minima: tuple[Plane, ...] = ()
    shape: tuple[int, ...] = ()
    points: tuple[Plane, ...] = ()
    offset: float = 0.0
    groups: Array | None = None

    @property
    def width(self) -> int:
        """The codes in a row."""
        return self.codes[0].width

    @property
    def padded(self) -> bool:
        """Whether there are more codes than elements."""
        return len(self.codes[0].data) * self.width != prod(self.shape)

    def values(self) -> Array:
        """The weights, float32 of `shape`. Overflow gives infinity."""
        with np.errstate(all="ignore"):
            return self._values().reshape(-1)[: prod(self.shape)].reshape(self.shape)

    def _values(self) -> Array:
        low, *high = self.codes
        codes = low.values()
        if low.table is None:
            codes = codes.astype(np.int16)
        for plane in high:
            codes |= plane.values().astype(np.int16) << low.bits
        shifted = codes - self.center if self.center else codes
        if self.points:
            shifted = shifted - self._spread(self.points)
        weights = self._spread(self.scales, self.offset) * shifted
        if self.minima:
            weights = weights + self._spread(self.minima)
        return np.asarray(weights, np.float32)

    def _spread(self, planes: tuple[Plane, ...], offset: float = 0.0) -> Array:
        """The product of planes, float32 [rows, width]."""
        *between, last = steps(planes, self.width)
        result = planes[0].values().astype(np.float32)
        for plane, times in zip(planes[1:], between, strict=True):
            result = np.repeat(result, times, axis=1)[:, : plane.width] * plane.values()
        result = result + np.float32(offset) if offset else result
        if self.groups is not None:
            return np.asarray(result[:, self.groups])
        return np.repeat(result, last, axis=1)[:, : self.width]


def steps(planes: Sequence[Plane], width: int) -> list[int]:
    """How often a number of each plane is repeated: for the next plane, and then for columns."""
    lengths = [plane.columns or width // plane.width for plane in planes]
    return [longer // shorter for longer, shorter in zip(lengths, [*lengths[1:], 1], strict=True)]
