"""Quantized matrices: codes of 4 or 8 bits, with a scale for each block of neighbours in a row.

Of several scales of a block of 4-bit numbers, the one with the least square error is chosen. Each
is fitted to the codes that it rounds to, as llama.cpp does for its k-quants.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from webkiln.errors import SourceError
from webkiln.ir.types import Array
from webkiln.ops.codes import BYTE

CENTER = 8
"""The code of 0, of codes of 4 bits without minima."""
MASK = 15
SYMMETRIC_STEPS = tuple(np.arange(-9, 10) / 10)
"""Added to 8 where the scales of a block begin: its largest magnitude / (8 + step)."""
MINIMA_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8)
"""The shares of the range of a block that the first scales spread over all codes."""
CHUNK = 1 << 20
"""The number of elements that are quantized at once."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """`bits` of a code, 4 or 8; the numbers of a row that share a scale, 0 for all of them; whether
    each block has a minimum too, which only codes of 4 bits have.
    """

    bits: int
    block: int = 0
    has_minima: bool = False

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest code."""
        return (0, MASK) if self.bits < BYTE else (-127, 127)

    def size(self, depth: int) -> int:
        """The length of a block in a row of `depth` numbers."""
        return min(self.block or depth, depth)

    def count(self, depth: int) -> int:
        """The blocks in a row. The last one may be shorter."""
        return -(-depth // self.size(depth))

    def scale_dtype(self, depth: int) -> str:
        return "float32" if self.count(depth) == 1 else "float16"

    def bytes(self, rows: int, depth: int) -> int:
        """The bytes of codes, scales and minima."""
        scale = np.dtype(self.scale_dtype(depth)).itemsize * (1 + self.has_minima)
        return rows * (depth * self.bits // BYTE + self.count(depth) * scale)


ENCODINGS: Mapping[str, Blocks] = {
    "int8": Blocks(8),
    **{f"int8-{block}": Blocks(8, block) for block in (128, 64, 32)},
    **{f"uint4-{block}": Blocks(4, block, has_minima=True) for block in (128, 64)},
    "uint4": Blocks(4, 32, has_minima=True),
    **{f"int4-{block}": Blocks(4, block) for block in (128, 64)},
    "int4": Blocks(4, 32),
}
"""By name. Encodings of 4 bits without a number have blocks of 32."""


@dataclass(frozen=True, slots=True)
class Codes:
    """`codes`: uint8 [n, k / 2] of 4 bits, low bits first, or int8 [n, k]. `scales` and `minima`:
    [n, blocks].
    """

    codes: Array
    scales: Array
    minima: Array | None = None


def quantize(values: Array, form: Blocks, name: str) -> Codes:
    """The codes of a matrix, float32 [n, k]; k is even for codes of 4 bits. Errors call it `name`.

    Raise SourceError if it is not finite, or if a scale exceeds float16.
    """
    rows, depth = values.shape
    if not np.isfinite(values).all():
        raise SourceError(f"{name} has infinities or NaNs, which codes of integers cannot store")
    size, count, dtype = form.size(depth), form.count(depth), form.scale_dtype(depth)
    codes = np.empty((rows, depth), np.uint8 if form.bits < BYTE else np.int8)
    scales = np.empty((rows, count), dtype)
    minima = np.empty((rows, count), dtype) if form.has_minima else None
    whole = depth // size * size
    step = max(CHUNK // max(depth, 1), 1)
    for start in range(0, rows, step):
        for first, last in ((0, whole), (whole, depth)):
            columns = slice(first // size, -(-last // size))
            part = np.s_[start : start + step, columns]
            blocks = values[start : start + step, first:last]
            shape = (len(blocks), columns.stop - columns.start, -1)
            if first < last:
                found = _quantized(blocks.reshape(shape), form, dtype)
                codes[start : start + step, first:last] = found.codes.reshape(blocks.shape)
                scales[part] = found.scales
                if minima is not None:
                    minima[part] = found.minima
    _check(values, scales, minima, name)
    if form.bits < BYTE:
        codes = codes[:, ::2] | codes[:, 1::2] << 4
    return Codes(codes, scales, minima)


def _quantized(blocks: Array, form: Blocks, dtype: str) -> Codes:
    """The codes of blocks [rows, blocks, size], one a number, and scales and minima of `dtype`."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scales, minima = (item.astype(dtype) for item in _scales(blocks, form))
        scale, minimum = scales.astype(np.float32), minima.astype(np.float32)
        if form.bits < BYTE and not form.has_minima:
            minimum = -CENTER * scale
        rounded = _rounded(blocks, scale, minimum, *form.limits)
        return Codes(rounded.astype(np.int16), scales, minima)


def _check(values: Array, scales: Array, minima: Array | None, name: str) -> None:
    kept = [scales] if minima is None else [scales, minima]
    lost = bool(values.any()) and not any(item.any() for item in kept)
    if lost or not all(np.isfinite(item).all() for item in kept):
        raise SourceError(
            f"{name}: the scales of blocks are float16, and its numbers, of up to"
            f" {np.abs(values).max():.3g}, are too {'small' if lost else 'large'} for it; use"
            " encoding int8, or float32"
        )


def _scales(blocks: Array, form: Blocks) -> tuple[Array, Array]:
    """The scale and the minimum of each block [..., size]."""
    if form.bits == BYTE:
        scale = np.abs(blocks).max(-1) / np.float32(form.limits[1])
        return scale, np.zeros_like(scale)
    found = iter(_with_minima(blocks) if form.has_minima else _symmetric(blocks))
    scale, minimum = next(found)
    least = _square_error(blocks, scale, minimum)
    for other, shift in found:
        error = _square_error(blocks, other, shift)
        better = error < least
        least = np.where(better, error, least)
        scale, minimum = np.where(better, other, scale), np.where(better, shift, minimum)
    return scale, minimum


def _square_error(blocks: Array, scales: Array, minima: Array) -> Array:
    codes = _rounded(blocks, scales, minima).astype(np.float32)
    return np.asarray(np.square(codes * scales[..., None] + minima[..., None] - blocks).sum(-1))


def _symmetric(blocks: Array) -> Iterator[tuple[Array, Array]]:
    """The number of the largest magnitude has the code 0, which means -8 scales."""
    place = np.abs(blocks).argmax(-1)[..., None]
    largest = np.take_along_axis(blocks, place, -1)[..., 0]
    yield largest / np.float32(-CENTER), -largest
    for step in SYMMETRIC_STEPS:
        scale = largest / np.float32(-CENTER - step)
        codes = _rounded(blocks, scale, -CENTER * scale).astype(np.float32) - CENTER
        squares = np.square(codes).sum(-1)
        scale = np.where(squares > 0, (codes * blocks).sum(-1) / squares, 0)
        yield scale, -CENTER * scale


def _with_minima(blocks: Array) -> Iterator[tuple[Array, Array]]:
    low, high = blocks.min(-1), blocks.max(-1)
    middle, spread = (low + high) / 2, high - low
    mean = blocks.mean(-1)
    for share in MINIMA_SHARES:
        scale = spread * np.float32(share / MASK)
        minimum = middle - scale * np.float32(MASK / 2)
        yield scale, minimum
        codes = _rounded(blocks, scale, minimum).astype(np.float32)
        apart = codes - codes.mean(-1)[..., None]
        variance = np.square(apart).sum(-1)
        slope = np.where(variance > 0, (apart * blocks).sum(-1) / variance, 0)
        yield slope, mean - slope * codes.mean(-1)


def _rounded(blocks: Array, scales: Array, minima: Array, low: int = 0, high: int = MASK) -> Array:
    """The codes of blocks [..., size]. Those of a block with a scale of 0 mean its minimum."""
    spread = np.where(scales == 0, np.float32(1), scales)[..., None]
    shifted = np.where(scales[..., None] == 0, 0, blocks - minima[..., None])
    return np.asarray(np.clip(np.rint(shifted / spread), low, high))


def dequantize(quantized: Codes, form: Blocks, depth: int) -> Array:
    """The matrix, float32 [n, depth], computed as programs compute it."""
    codes = quantized.codes
    if form.bits < BYTE:
        codes = np.stack([codes & MASK, codes >> 4], -1).reshape(len(codes), -1)
    real = codes.astype(np.float32)
    if form.bits < BYTE and not form.has_minima:
        real -= CENTER
    result = real * _spread(quantized.scales, form, depth)
    if quantized.minima is not None:
        result += _spread(quantized.minima, form, depth)
    return result


def _spread(values: Array, form: Blocks, depth: int) -> Array:
    return np.repeat(values.astype(np.float32), form.size(depth), 1)[:, :depth]
