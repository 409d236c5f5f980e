"""Read variables from checkpoints without TensorFlow. A checkpoint has an index, which is a sorted
table in LevelDB's format, and shards of raw bytes.

https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/util/tensor_bundle/tensor_bundle.h,
https://github.com/google/leveldb/blob/main/doc/table_format.md
"""

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from webkiln.errors import SourceError
from webkiln.frontends.inspect.header_only import placeholder_array
from webkiln.frontends.nodes.spec import MAX_BYTES
from webkiln.frontends.tensorflow.messages import DTYPES, BundleEntry, BundleHeader, dtype_name
from webkiln.ir.types import Array

MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
FOOTER = 48
TRAILER = 5
"""The compression type and the checksum, which follow each block."""
PLAIN = 0
CHECKSUM = 4
"""The size of a checksum in bytes."""
HEADER_KEY = b""


class Checkpoint:
    """The variables in `<prefix>.index` and `<prefix>.data-nnnnn-of-nnnnn`."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        index = prefix.with_name(f"{prefix.name}.index")
        if not index.is_file():
            raise SourceError(
                f"{index.name}: is missing next to the model, which has variables; put the complete"
                " folder `variables` there"
            )
        self.name = index.name
        try:
            entries = dict(_table(index.read_bytes()))
            header = BundleHeader.FromString(entries.pop(HEADER_KEY))
            self.entries = {
                key.decode(): BundleEntry.FromString(value) for key, value in entries.items()
            }
        except (ValueError, IndexError, KeyError, DecodeError) as error:
            raise SourceError(
                f"{self.name}: is not the index of a checkpoint: {error}; the file is damaged"
            ) from None
        if header.endianness != 0:
            raise SourceError(
                f"{self.name}: its numbers are big-endian;"
                " save the model on a little-endian machine"
            )
        self.shards = header.num_shards

    def read_text(self, key: str) -> bytes:
        """A scalar string: its length, a checksum of the length, its bytes."""
        entry = self.entries[key]
        data = self._bytes(entry, f"{self.name}: {key}", entry.size)
        try:
            size, at = _varint(data, 0)
        except IndexError:
            size, at = -1, 0
        if at + CHECKSUM + size != len(data):
            raise SourceError(f"{self.name}: {key} is not a single string; the file is damaged")
        return data[at + CHECKSUM :]

    def _bytes(self, entry: Any, where: str, size: int) -> bytes:
        path = self._shard(entry, where, size)
        with path.open("rb") as file:
            file.seek(entry.offset)
            return file.read(size)

    def _shard(self, entry: Any, where: str, size: int) -> Path:
        """The shard of an entry."""
        path = self.prefix.with_name(
            f"{self.prefix.name}.data-{entry.shard_id:05d}-of-{self.shards:05d}"
        )
        if size < 0 or not path.is_file() or not 0 <= entry.offset <= path.stat().st_size - size:
            raise SourceError(
                f"{where}: is recorded at offset {entry.offset}"
                f" of {path.name}, which is missing or too short"
            )
        return path

    def read(self, key: str) -> Array:
        """The value of a variable. Raises SourceError if it is missing or out of bounds."""
        entry = self.entries.get(key)
        where = f"{self.name}: variable {key}"
        if entry is None:
            raise SourceError(f"{where}: is not in the checkpoint")
        if entry.dtype not in DTYPES:
            raise SourceError(
                f"{where}: its values are {dtype_name(entry.dtype)}, expected one of"
                f" {', '.join(DTYPES.values())}"
            )
        if entry.slices:
            raise SourceError(
                f"{where}: is stored in slices, which are not supported; save the model from one"
                " machine"
            )
        dtype, shape = np.dtype(DTYPES[entry.dtype]), tuple(size.size for size in entry.shape.dim)
        size = prod(shape) * dtype.itemsize
        if any(size < 0 for size in shape) or size > MAX_BYTES or size != entry.size:
            raise SourceError(
                f"{where}: its shape is {list(shape)}, and it has {entry.size} bytes; the file is"
                " damaged"
            )
        self._shard(entry, where, size)
        if (instead := placeholder_array(dtype, shape)) is not None:
            return instead
        return (
            np.frombuffer(self._bytes(entry, where, size), dtype.newbyteorder("<"))
            .reshape(shape)
            .astype(dtype, copy=False)
        )


def _table(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a table: the footer refers to the index block, which refers to the data
    blocks.
    """
    if data[-8:] != MAGIC or len(data) < FOOTER:
        raise ValueError("it does not end with the footer of a table")
    _, at = _handle(data, len(data) - FOOTER)
    index, _ = _handle(data, at)
    for _, value in _block(data, *index):
        block, _ = _handle(value, 0)
        yield from _block(data, *block)


def _block(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys are prefix-compressed."""
    if offset + size + TRAILER > len(data) or size < 4 or data[offset + size] != PLAIN:
        raise ValueError("a block is compressed or lies outside the file")
    block = data[offset : offset + size]
    end = size - 4 - 4 * int.from_bytes(block[-4:], "little")
    if end < 0:
        raise ValueError("a block has more restarts than bytes")
    key, at = b"", 0
    while at < end:
        shared, at = _varint(block, at)
        fresh, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or at + fresh + length > end:
            raise ValueError("an entry lies outside its block")
        key = key[:shared] + block[at : at + fresh]
        yield key, block[at + fresh : at + fresh + length]
        at += fresh + length


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """The offset and size of a block."""
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return (offset, size), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number is truncated")
