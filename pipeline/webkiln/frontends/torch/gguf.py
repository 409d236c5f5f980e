"""Weights in GGUF files (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Those of
quantized types keep their codes and scales.

Files are untrusted: every length is checked against the remaining bytes before it is used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import bfloat16_to_float32
from webkiln.frontends.torch.block_weights import BlockWeights, Plane, packed
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


def _halves(blocks: Array, start: int) -> Array:
    """The float16 at a byte offset of each block, [..., blocks]."""
    return np.asarray(np.ascontiguousarray(blocks[..., start : start + 2]).view("<f2"))[..., 0]


def _fields(data: Array, bits: int, run: int) -> Array:
    """[..., bytes] -> [..., numbers]: the fields of `bits` bits in runs of `run` bytes. The lowest
    fields of all bytes of a run come first.
    """
    parts = data.reshape(*data.shape[:-1], -1, 1, run)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    fields = (parts >> shifts) & np.uint8((1 << bits) - 1)
    return np.asarray(fields.reshape(*data.shape[:-1], -1))


def _bits_of(data: Array) -> Array:
    """[..., bytes] -> [..., 8 * bytes]: the bits, from the lowest of the first byte on."""
    return np.unpackbits(data, axis=-1, bitorder="little")


def _rows(values: Array) -> Array:
    """[rows, blocks, numbers] -> [rows, blocks * numbers]"""
    return values.reshape(len(values), -1)


def _scale(blocks: Array, start: int) -> Plane:
    return Plane(_halves(blocks, start), 16)


def _four(blocks: Array, start: int) -> Plane:
    return packed(_rows(_fields(blocks[..., start : start + 16], 4, 16)), 4)


def _fifth(blocks: Array, start: int) -> Plane:
    return packed(_rows(_bits_of(blocks[..., start : start + 4])), 1)


def _q4_0(blocks: Array) -> BlockWeights:
    return BlockWeights((_four(blocks, 2),), 8, (_scale(blocks, 0),))


def _q4_1(blocks: Array) -> BlockWeights:
    return BlockWeights((_four(blocks, 4),), 0, (_scale(blocks, 0),), (_scale(blocks, 2),))


def _q5_0(blocks: Array) -> BlockWeights:
    return BlockWeights((_four(blocks, 6), _fifth(blocks, 2)), 16, (_scale(blocks, 0),))


def _q5_1(blocks: Array) -> BlockWeights:
    codes = (_four(blocks, 8), _fifth(blocks, 4))
    return BlockWeights(codes, 0, (_scale(blocks, 0),), (_scale(blocks, 2),))


def _q8_0(blocks: Array) -> BlockWeights:
    codes = Plane(_rows(blocks[..., 2:].view(np.int8)), 8)
    return BlockWeights((codes,), 0, (_scale(blocks, 0),))


def _negative(plane: Plane) -> Plane:
    return Plane(-plane.data, plane.bits)


def _q2_k(blocks: Array) -> BlockWeights:
    factors = _rows(blocks[..., :16])
    return BlockWeights(
        (packed(_rows(_fields(blocks[..., 16:80], 2, 32)), 2),),
        0,
        (_scale(blocks, 80), packed(factors & 15, 4)),
        (_negative(_scale(blocks, 82)), packed(factors >> 4, 4)),
    )


def _q3_k(blocks: Array) -> BlockWeights:
    upper = _fields(blocks[..., :32], 1, 32)
    lower = _fields(blocks[..., 32:96], 2, 32)
    data = blocks[..., 96:108]
    factors = _fields(data[..., :8], 4, 8) | (_fields(data[..., 8:], 2, 4) << 4)
    return BlockWeights(
        (packed(_rows(lower), 2), packed(_rows(upper), 1)),
        4,
        (_scale(blocks, 108), Plane(_rows(factors.astype(np.int8) - np.int8(32)), 8)),
    )


def _six_bit_values(data: Array) -> tuple[Plane, Plane]:
    """Eight 6-bit scales and eight 6-bit minima from twelve bytes of each block."""
    first, second, third = data[..., :4], data[..., 4:8], data[..., 8:]
    scales = np.concatenate([first & 63, (third & 15) | ((first >> 6) << 4)], axis=-1)
    minima = np.concatenate([second & 63, (third >> 4) | ((second >> 6) << 4)], axis=-1)
    return Plane(_rows(scales), 8), Plane(_rows(minima), 8)


def _with_minima(blocks: Array, codes: tuple[Plane, ...]) -> BlockWeights:
    scales, minima = _six_bit_values(blocks[..., 4:16])
    return BlockWeights(
        codes, 0, (_scale(blocks, 0), scales), (_negative(_scale(blocks, 2)), minima)
    )


def _q4_k(blocks: Array) -> BlockWeights:
    return _with_minima(blocks, (packed(_rows(_fields(blocks[..., 16:], 4, 32)), 4),))


def _q5_k(blocks: Array) -> BlockWeights:
    lower = packed(_rows(_fields(blocks[..., 48:], 4, 32)), 4)
    return _with_minima(blocks, (lower, packed(_rows(_fields(blocks[..., 16:48], 1, 32)), 1)))


def _q6_k(blocks: Array) -> BlockWeights:
    lower = packed(_rows(_fields(blocks[..., :128], 4, 64)), 4)
    upper = packed(_rows(_fields(blocks[..., 128:192], 2, 32)), 2)
    factors = Plane(_rows(blocks[..., 192:208].view(np.int8)), 8)
    return BlockWeights((lower, upper), 32, (_scale(blocks, 208), factors))


@dataclass(frozen=True)
class BlockType:
    """The layout of a quantized type: a block of `size` bytes has `count` elements. `read` maps
    blocks [rows, blocks, size] to weights.
    """

    count: int
    size: int
    read: Callable[[Array], BlockWeights]


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


def read_gguf(path: Path) -> dict[str, Array | BlockWeights]:
    """The tensors of a file by name; those of quantized types as matrices, whose rows are along
    the last axis.
    """
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
    tensors: dict[str, Array | BlockWeights] = {}
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


def _tensor(
    cursor: _Cursor, name: str, shape: tuple[int, ...], kind: int, at: int
) -> Array | BlockWeights:
    block, size = BLOCKS.get(kind), _size(cursor, name, shape, kind)
    if at + size > len(cursor.data):
        raise SourceError(
            f"{cursor.name}: {name} {list(shape)} is at bytes {at} to {at + size} of"
            f" {len(cursor.data)}; the file is damaged"
        )
    data = np.array(cursor.data[at : at + size])
    if block is not None:
        rows, columns = prod(shape[:-1]), shape[-1]
        blocks = data.reshape(rows, columns // block.count, block.size)
        return replace(block.read(blocks), shape=shape)
    if kind == BRAIN:
        return bfloat16_to_float32(data).reshape(shape)
    return data.view(PLAIN[kind]).reshape(shape)
