"""Weight files (`.caffemodel`): a protobuf message, parsed field by field. Arrays remain views of
the file; the rest is small.
"""

import mmap
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.nodes.spec import MAX_BYTES
from webkiln.frontends.protobuf.wire import (
    I32,
    I64,
    LEN,
    VARINT,
    MalformedMessage,
    WireField,
    encode_field,
    fields,
    varint,
)
from webkiln.ir.types import Array

MAX_STRUCTURE = 16 << 20
"""The maximum size of a definition in bytes, without its weights."""
MAX_BLOBS = 1 << 18
BLOB: Mapping[int, Any] = {}
INNER: Mapping[int, Mapping[int, Any]] = {100: {7: BLOB}, 2: {6: BLOB, 1: {50: BLOB}}}
"""The fields with weights: layers (`layer`, `layers`), and the nested layers of the V0 format."""
SIZES = {1: 0, 2: 1, 3: 2, 4: 3}
"""The fields with a blob's four sizes, in files without `shape`."""
IGNORED = (6, 9)
"""Gradients."""


class WeightFile:
    """A definition, and the arrays of its layers by index. Arrays are views of the file."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.blobs: dict[int, list[Array]] = {}
        if not path.stat().st_size:
            raise SourceError(f"{self.name}: is empty")
        with path.open("rb") as file:
            self._data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self._copied = self._count = 0
        try:
            self.net = self._net()
        except MalformedMessage as error:
            raise SourceError(
                f"{self.name}: {error}; the file is damaged or not a model of Caffe, copy it again"
            ) from None

    def _net(self) -> Any:
        types = messages()
        definition = bytearray()
        layers: list[tuple[int, bytes]] = []
        for field in fields(self._data, 0, len(self._data)):
            if field.number in INNER and field.wire == LEN:
                blobs: list[Array] = []
                text = self._without_blobs(
                    field, INNER[field.number], blobs, f"layer {len(layers)}"
                )
                if blobs:
                    self.blobs[len(layers)] = blobs
                layers.append((field.number, text))
            else:
                definition += self._copy(field.begin, field.end)
        net = self._parsed(types["NetParameter"], bytes(definition), "the net")
        for number, (kind, text) in enumerate(layers):
            parsed = net.layer if kind == 100 else net.layers
            parsed.append(
                self._parsed(
                    types["LayerParameter" if kind == 100 else "V1LayerParameter"],
                    text,
                    f"layer {number}",
                )
            )
        return net

    def _parsed(self, kind: Any, text: bytes, where: str) -> Any:
        from google.protobuf.message import DecodeError

        try:
            message = kind.FromString(text)
        except (DecodeError, UnicodeDecodeError) as error:
            raise MalformedMessage(f"{where}: {error}") from None
        _check_texts(message, where)
        return message

    def _copy(self, start: int, end: int) -> bytes:
        self._copied += end - start
        if self._copied > MAX_STRUCTURE:
            raise MalformedMessage(f"has more than {MAX_STRUCTURE} bytes besides weights")
        return bytes(self._data[start:end])

    def _without_blobs(
        self, field: WireField, inner: Mapping[int, Any], blobs: list[Array], where: str
    ) -> bytes:
        """The bytes of a message without its weights, which are appended to `blobs`."""
        copied = bytearray()
        for item in fields(self._data, field.start, field.end):
            if item.wire != LEN or item.number not in inner:
                copied += self._copy(item.begin, item.end)
            elif inner[item.number] is BLOB:
                blobs.append(self._blob(item, f"{where}, blob {len(blobs)}"))
            else:
                text = self._without_blobs(item, inner[item.number], blobs, where)
                copied += encode_field(item.number, text)
        return bytes(copied)

    def _blob(self, field: WireField, where: str) -> Array:
        self._count += 1
        if self._count > MAX_BLOBS:
            raise MalformedMessage(f"has more than {MAX_BLOBS} blobs")
        parts: list[Array] = []
        shape: list[int] | None = None
        legacy = [0, 0, 0, 0]
        doubles: list[Array] = []
        at = field.start
        while at < field.end:
            item = next(fields(self._data, at, field.end))
            at = item.end
            if item.number in IGNORED:
                continue
            if item.number == 7 and item.wire == LEN:
                shape = self._shape(item)
            elif item.number in SIZES and item.wire == VARINT:
                legacy[SIZES[item.number]] = item.value
            elif item.number == 5 and item.wire in (LEN, I32):
                part, at = self._numbers(item, field.end, "<f4", I32)
                parts.append(part)
            elif item.number == 8 and item.wire in (LEN, I64):
                part, at = self._numbers(item, field.end, "<f8", I64)
                doubles.append(part)
            else:
                raise MalformedMessage(f"{where} has a field {item.number}, of a fork of Caffe")
        values = _joined(parts) if parts or not doubles else _joined(doubles)
        sizes = legacy if shape is None else shape
        if (
            any(size < 0 or size >= 1 << 31 for size in sizes)
            or prod(sizes) * 4 > MAX_BYTES
            or prod(sizes) != values.size
        ):
            raise MalformedMessage(f"{where} has the shape {sizes} and {values.size} numbers")
        return values.reshape(sizes)

    def _shape(self, field: WireField) -> list[int]:
        sizes: list[int] = []
        for item in fields(self._data, field.start, field.end):
            if item.number == 1 and item.wire == VARINT:
                sizes.append(item.value)
            elif item.number == 1 and item.wire == LEN:
                at = item.start
                while at < item.end:
                    value, at = varint(self._data, at, item.end)
                    sizes.append(value)
            if len(sizes) > 32:
                raise MalformedMessage(f"a shape at offset {field.begin} has more than 32 axes")
        return sizes

    def _numbers(self, field: WireField, end: int, dtype: str, single: int) -> tuple[Array, int]:
        """Packed numbers and their end; unpacked ones up to the first other field."""
        if field.wire == LEN:
            size = np.dtype(dtype).itemsize
            if (field.end - field.start) % size:
                raise MalformedMessage(f"the numbers at offset {field.start} end within a number")
            return np.frombuffer(self._data[field.start : field.end], dtype), field.end
        tag = self._data[field.begin]
        step = field.end - field.begin
        rows = np.frombuffer(
            self._data[field.begin : field.begin + (end - field.begin) // step * step], np.uint8
        ).reshape(-1, step)
        other = np.flatnonzero(rows[:, 0] != tag)
        count = int(other[0]) if len(other) else len(rows)
        return (
            np.ascontiguousarray(rows[:count, step - np.dtype(dtype).itemsize :])
            .view(dtype)
            .ravel(),
            field.begin + count * step,
        )


def _check_texts(message: Any, where: str) -> None:
    """Raise MalformedMessage for a string that is not UTF-8. protobuf would return it as bytes."""
    for field, value in message.ListFields():
        for item in value if field.is_repeated else (value,):
            if field.message_type is not None:
                _check_texts(item, where)
            elif isinstance(item, bytes):
                raise MalformedMessage(f"{where}: its {field.name} is no text")


def _joined(parts: list[Array]) -> Array:
    joined = (
        parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, np.float32)
    )
    return joined.astype(np.float32, copy=False)
