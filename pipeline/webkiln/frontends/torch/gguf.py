"""Weights in GGUF files (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Quantized ones
are converted to float32.

Files are untrusted: every length is checked against the remaining bytes before it is used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import bfloat16_to_float32
from webkiln.ir.types import Array

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT, ALIGNMENT_KEY = 32, "general.alignment"
SCALARS = {
    0: "u1",
    1: "i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    7: "u1",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
"""The numeric types of metadata; 8 is a string, 9 an array."""
TEXT, ARRAY = 8, 9
MOST_AXES, DEEPEST = 8, 4
PLAIN = {0: "<f4", 1: "<f2", 24: "i1", 25: "<i2", 26: "<i4", 27: "<i8", 28: "<f8"}
BRAIN = 30
"""bfloat16: the upper halves of float32."""
NAMES = {
    2: "Q4_0",
    3: "Q4_1",
    6: "Q5_0",
    7: "Q5_1",
    8: "Q8_0",
    9: "Q8_1",
    10: "Q2_K",
    11: "Q3_K",
    12: "Q4_K",
    13: "Q5_K",
    14: "Q6_K",
    15: "Q8_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    29: "IQ1_M",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
}


def _float16_scales(blocks: Array, start: int) -> Array:
    """The float16 at a byte offset of each block, [blocks, 1]."""
    return np.asarray(
        np.ascontiguousarray(blocks[:, start : start + 2]).view("<f2").astype(np.float32)
    )


def _nibbles(data: Array) -> Array:
    """[..., bytes] -> [..., 2, bytes]: the low nibbles, then the high ones."""
    return np.stack([data & 15, data >> 4], -2)


def _bits(data: Array, width: int, count: int) -> Array:
    """[..., bytes] -> [..., count, bytes]: fields of `width` bits, the lowest first."""
    shifts = np.arange(count, dtype=np.uint8)[:, None] * np.uint8(width)
    return np.asarray((data[..., None, :] >> shifts) & np.uint8((1 << width) - 1))


def _fifth(blocks: Array, start: int) -> Array:
    """32 bits as [blocks, 32] of 0 or 16."""
    return (
        np.unpackbits(blocks[:, start : start + 4], axis=1, bitorder="little").astype(np.int16) << 4
    )


def _four(blocks: Array, header: int) -> Array:
    return np.asarray(_nibbles(blocks[:, header : header + 16]).reshape(len(blocks), 32), np.int16)


def _q4_0(blocks: Array) -> Array:
    return np.asarray(_float16_scales(blocks, 0) * (_four(blocks, 2) - 8))


def _q4_1(blocks: Array) -> Array:
    return _float16_scales(blocks, 0) * _four(blocks, 4) + _float16_scales(blocks, 2)


def _q5_0(blocks: Array) -> Array:
    return np.asarray(_float16_scales(blocks, 0) * ((_four(blocks, 6) | _fifth(blocks, 2)) - 16))


def _q5_1(blocks: Array) -> Array:
    return _float16_scales(blocks, 0) * (_four(blocks, 8) | _fifth(blocks, 4)) + _float16_scales(
        blocks, 2
    )


def _q8_0(blocks: Array) -> Array:
    return _float16_scales(blocks, 0) * blocks[:, 2:].view(np.int8)


def _spread(scales: Array, values: Array) -> Array:
    """Repeat each scale for its sub-block."""
    return np.asarray(scales[..., None] * values.reshape(*scales.shape, -1)).reshape(
        len(values), -1
    )


def _q2_k(blocks: Array) -> Array:
    scales, values = (
        blocks[:, :16],
        _bits(blocks[:, 16:80].reshape(-1, 2, 32), 2, 4).reshape(-1, 256),
    )
    least = np.repeat(_float16_scales(blocks, 82) * (scales >> 4), 16, axis=1)
    return np.asarray(_spread(_float16_scales(blocks, 80) * (scales & 15), values) - least)


def _q3_k(blocks: Array) -> Array:
    high = _bits(blocks[:, :32], 1, 8).reshape(-1, 256)
    low = _bits(blocks[:, 32:96].reshape(-1, 2, 32), 2, 4).reshape(-1, 256)
    packed = blocks[:, 96:108]
    upper = _bits(packed[:, 8:], 2, 4).reshape(-1, 16)
    scales = (_nibbles(packed[:, :8]).reshape(-1, 16) | (upper << 4)).astype(np.int16) - 32
    return _spread(_float16_scales(blocks, 108) * scales, (low | (high << 2)).astype(np.int16) - 4)


def _six_bit_values(packed: Array) -> tuple[Array, Array]:
    """Eight 6-bit scales and eight 6-bit minima from twelve bytes."""
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([first & 63, (third & 15) | ((first >> 6) << 4)], axis=1)
    return scales, np.concatenate([second & 63, (third >> 4) | ((second >> 6) << 4)], axis=1)


def _dequantize_k(blocks: Array, values: Array) -> Array:
    scales, least = _six_bit_values(blocks[:, 4:16])
    return np.asarray(
        _spread(_float16_scales(blocks, 0) * scales, values)
        - np.repeat(_float16_scales(blocks, 2) * least, 32, axis=1)
    )


def _q4_k(blocks: Array) -> Array:
    return _dequantize_k(blocks, _nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, 256))


def _q5_k(blocks: Array) -> Array:
    high = _bits(blocks[:, 16:48], 1, 8).reshape(-1, 256)
    return _dequantize_k(
        blocks, _nibbles(blocks[:, 48:].reshape(-1, 4, 32)).reshape(-1, 256) | (high << 4)
    )


def _q6_k(blocks: Array) -> Array:
    low = _nibbles(blocks[:, :128].reshape(-1, 2, 64)).reshape(-1, 256)
    high = _bits(blocks[:, 128:192].reshape(-1, 2, 32), 2, 4).reshape(-1, 256)
    return _spread(
        _float16_scales(blocks, 208) * blocks[:, 192:208].view(np.int8),
        (low | (high << 4)).astype(np.int16) - 32,
    )


@dataclass(frozen=True)
class BlockType:
    """The layout of a quantized type: a block of `size` bytes has `count` elements, and `decode`
    maps blocks [n, size] to values [n, count].
    """

    count: int
    size: int
    decode: Callable[[Array], Array]


BLOCKS: Mapping[int, BlockType] = {
    2: BlockType(32, 18, _q4_0),
    3: BlockType(32, 20, _q4_1),
    6: BlockType(32, 22, _q5_0),
    7: BlockType(32, 24, _q5_1),
    8: BlockType(32, 34, _q8_0),
    10: BlockType(256, 84, _q2_k),
    11: BlockType(256, 110, _q3_k),
    12: BlockType(256, 144, _q4_k),
    13: BlockType(256, 176, _q5_k),
    14: BlockType(256, 210, _q6_k),
}


class _Cursor:
    """A position in the bytes of a file."""

    def __init__(self, data: Array, name: str) -> None:
        self.data, self.name, self.at = data, name, 0

    def take(self, count: int) -> Array:
        if count > len(self.data) - self.at:
            raise SourceError(
                f"{self.name}: ends at byte {len(self.data)}, within a value that starts at"
                f" {self.at}; the file is damaged"
            )
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, kind: str = "<u8") -> int:
        return int(self.take(np.dtype(kind).itemsize).view(kind)[0])

    def text(self) -> str:
        return self.take(self.number()).tobytes().decode("utf-8", "replace")

    def skip(self, kind: int, depth: int = 0) -> int:
        """Skip a metadata value. Returns it if it is a number."""
        if kind in SCALARS:
            return self.number(SCALARS[kind].replace("f", "u"))
        if kind == TEXT:
            self.text()
            return 0
        if kind != ARRAY or depth == DEEPEST:
            raise SourceError(
                f"{self.name}: its metadata has a value of unknown type {kind} at byte"
                f" {self.at}; the file is damaged"
            )
        inner, count = self.number("<u4"), self.number()
        if inner in SCALARS:
            self.take(count * np.dtype(SCALARS[inner]).itemsize)
            return 0
        if count > len(self.data) - self.at:
            raise SourceError(
                f"{self.name}: its metadata has an array of {count} elements at byte {self.at}; the"
                " file is damaged"
            )
        for _ in range(count):
            self.skip(inner, depth + 1)
        return 0


def read_gguf(path: Path) -> dict[str, Array]:
    """The tensors of a file by name. Quantized ones are converted to float32."""
    cursor = _Cursor(
        np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8), path.name
    )
    magic, version = cursor.take(4).tobytes(), cursor.number("<u4")
    if magic != MAGIC or version not in VERSIONS:
        supported = " and ".join(map(str, VERSIONS))
        raise SourceError(
            f"{path.name}: is GGUF of version {version}, or big-endian; supported versions are"
            f" {supported}; convert the model again"
        )
    count, pairs = cursor.number(), cursor.number()
    alignment = ALIGNMENT
    for _ in range(pairs):
        key, kind = cursor.text(), cursor.number("<u4")
        value = cursor.skip(kind)
        alignment = value if key == ALIGNMENT_KEY and kind in SCALARS else alignment
    if not 0 < alignment <= 1 << 20:
        raise SourceError(f"{path.name}: its {ALIGNMENT_KEY} is {alignment}; the file is damaged")
    entries = [_entry(cursor) for _ in range(min(count, len(cursor.data)))]
    start = -(-cursor.at // alignment) * alignment
    refused = sorted(
        {
            NAMES.get(kind, f"type {kind}")
            for _, _, kind, _ in entries
            if kind not in PLAIN and kind != BRAIN and kind not in BLOCKS
        }
    )
    if refused:
        supported = ", ".join(
            ["F32", "F16", "BF16", "F64", "I8 to I64", *(NAMES[kind] for kind in BLOCKS)]
        )
        raise SourceError(
            f"{path.name}: has tensors of {', '.join(refused)}; supported are {supported}; quantise"
            " the model again"
        )
    if sum(_size(cursor, name, shape, kind) for name, shape, kind, _ in entries) > len(cursor.data):
        raise SourceError(f"{path.name}: its tensors are larger than the file; the file is damaged")
    tensors: dict[str, Array] = {}
    for name, shape, kind, offset in entries:
        if name in tensors:
            raise SourceError(f"{path.name}: has two tensors named {name}")
        tensors[name] = _tensor(cursor, name, shape, kind, start + offset)
    return tensors


def _size(cursor: _Cursor, name: str, shape: tuple[int, ...], kind: int) -> int:
    """The size of a tensor in bytes."""
    block = BLOCKS.get(kind)
    if block is None:
        return prod(shape) * (2 if kind == BRAIN else np.dtype(PLAIN[kind]).itemsize)
    if not shape or shape[-1] % block.count:
        raise SourceError(
            f"{cursor.name}: the rows of {name} {list(shape)} are not divisible into blocks of"
            f" {block.count}; the file is damaged"
        )
    return prod(shape) // block.count * block.size


def _entry(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """The name, shape, type and offset of a tensor. Files list sizes from the innermost axis."""
    name, rank = cursor.text(), cursor.number("<u4")
    if rank > MOST_AXES:
        raise SourceError(f"{cursor.name}: {name} has {rank} axes; the file is damaged")
    sizes = tuple(cursor.number() for _ in range(rank))
    return name, sizes[::-1], cursor.number("<u4"), cursor.number()


def _tensor(cursor: _Cursor, name: str, shape: tuple[int, ...], kind: int, at: int) -> Array:
    block, size = BLOCKS.get(kind), _size(cursor, name, shape, kind)
    if at + size > len(cursor.data):
        raise SourceError(
            f"{cursor.name}: {name} {list(shape)} is at bytes {at} to {at + size} of"
            f" {len(cursor.data)}; the file is damaged"
        )
    data = np.array(cursor.data[at : at + size])
    if block is not None:
        with np.errstate(all="ignore"):
            return (
                block.decode(data.reshape(-1, block.size))
                .astype(np.float32, copy=False)
                .reshape(shape)
            )
    if kind == BRAIN:
        return bfloat16_to_float32(data).reshape(shape)
    return data.view(PLAIN[kind]).reshape(shape)
