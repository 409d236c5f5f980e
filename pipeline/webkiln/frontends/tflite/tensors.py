"""The tensors of a model file: types, quantization and values."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.nodes import narrow
from webkiln.frontends.nodes.spec import MAX_BYTES
from webkiln.frontends.tflite.enumerations import DTYPES
from webkiln.frontends.tflite.flatbuffer import FlatBuffer, FlatTable
from webkiln.ir.types import Array

HELD = {**{dtype: narrow.held(dtype) for dtype in narrow.BITS}, "complex64": "float32"}
"""The replacements of dtypes that the IR does not have. A complex number becomes two elements of a
new last axis.
"""


@dataclass(frozen=True, slots=True)
class Quantization:
    """Quantization: value = scale * (element - zero), per tensor or along an axis."""

    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int

    @property
    def scale(self) -> float:
        return self.scales[0]

    @property
    def zero(self) -> int:
        return self.zeros[0]

    @property
    def is_per_channel(self) -> bool:
        return len(self.scales) > 1


@dataclass(frozen=True, slots=True)
class FileTensor:
    """A tensor of the file. `value` is None if it is computed; `dtype` is the IR's, `stored` the
    file's.
    """

    index: int
    name: str
    dtype: str
    stored: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    quantization: Quantization | None
    value: Array | None
    is_variable: bool

    @property
    def is_quantized(self) -> bool:
        return self.quantization is not None and self.stored in (
            "int8",
            "uint8",
            "int16",
            "int4",
            "int2",
        )

    @property
    def scale(self) -> float:
        return self.quantization.scale if self.quantization else 0.0

    @property
    def zero(self) -> int:
        return self.quantization.zero if self.quantization else 0


def read_tensor(
    buffer: FlatBuffer, table: FlatTable, index: int, buffers: Sequence[FlatTable], where: str
) -> FileTensor:
    code = table["type"]
    if not 0 <= code < len(DTYPES):
        raise SourceError(
            f"{where}: its type has the number {code}, supported are 0 to {len(DTYPES) - 1}; the"
            " file is newer, or damaged"
        )
    stored = DTYPES[code]
    shape = tuple(table.vector("shape").numbers())
    signature = tuple(table.vector("shape_signature").numbers()) or shape
    if (
        len(signature) != len(shape)
        or any(size < 0 for size in shape)
        or any(size < -1 for size in signature)
    ):
        raise SourceError(
            f"{where}: its shape is {list(shape)}, its signature {list(signature)}; the file is"
            " damaged; convert it again"
        )
    number = table["buffer"]
    if number >= len(buffers) and number:
        raise SourceError(
            f"{where}: its values are in buffer {number}, the file has {len(buffers)}; the file"
            " is damaged; convert it again"
        )
    data = stored_bytes(buffer, buffers[number]) if number else memoryview(b"")
    value = None
    if table["sparsity"] is not None and len(data):
        raise SourceError(
            f"{where}: its values are sparse, which is not supported; convert the model without"
            " sparsity"
        )
    if len(data) and not table["is_variable"]:
        value = _array(data, stored, shape, where)
    dtype = HELD.get(stored, stored)
    if stored == "complex64":
        shape, signature = (*shape, 2), (*signature, 2)
    return FileTensor(
        index,
        table.text("name") or f"tensor_{index}",
        dtype,
        stored,
        shape,
        signature,
        _quantization(table, where),
        value,
        table["is_variable"],
    )


def stored_bytes(buffer: FlatBuffer, table: FlatTable) -> memoryview:
    """The bytes of a buffer: in the table, or, in large models, after the tables."""
    offset, size = table["offset"], table["size"]
    if offset > 1:
        buffer.check(offset, size)
        return buffer.data[offset : offset + size]
    return table.vector("data").data()


def _array(data: memoryview, stored: str, shape: tuple[int, ...], where: str) -> Array | None:
    if stored in ("string", "resource", "variant", "complex128"):
        return None
    if stored in narrow.BITS:
        size = -(-prod(shape) * narrow.BITS[stored] // 8)
    else:
        size = prod(shape) * np.dtype(stored).itemsize
    if size != len(data) or size > MAX_BYTES:
        raise SourceError(
            f"{where}: {stored}{list(shape)} has {size} bytes, its buffer {len(data)}; the file is"
            " damaged; convert it again"
        )
    if stored in narrow.BITS:
        codes = np.frombuffer(data, "<u2" if stored == "bfloat16" else np.uint8)
        return narrow.numbers(codes, stored, shape)
    if stored == "complex64":
        return np.asarray(np.frombuffer(data, "<f4").reshape(*shape, 2))
    if stored == "bool":
        return np.asarray((np.frombuffer(data, np.uint8) != 0).reshape(shape))
    return np.asarray(np.frombuffer(data, np.dtype(stored).newbyteorder("<")).reshape(shape))


def _quantization(table: FlatTable, where: str) -> Quantization | None:
    quantization = table["quantization"]
    if quantization is None:
        return None
    scales, zeros = (
        quantization.vector("scale").numbers(),
        quantization.vector("zero_point").numbers(),
    )
    if quantization.union("details") > 1:
        raise SourceError(
            f"{where}: is quantised by blocks or several axes, which is not supported; convert"
            " the model with one scale per channel"
        )
    if not scales:
        return None
    if len(zeros) not in (0, 1, len(scales)):
        raise SourceError(
            f"{where}: has {len(scales)} scales and {len(zeros)} zero points; the file is damaged;"
            " convert it again"
        )
    wide = zeros * len(scales) if len(zeros) == 1 else zeros or (0,) * len(scales)
    if not all(np.isfinite(scales)) or any(not -(1 << 31) <= zero < 1 << 31 for zero in wide):
        raise SourceError(
            f"{where}: a scale or zero point is out of range; the file is damaged; convert it again"
        )
    if scales == (0.0,):
        return None
    return Quantization(
        tuple(map(float, scales)), tuple(map(int, wide)), quantization["quantized_dimension"]
    )
