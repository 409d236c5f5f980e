"""Arrays of a model: content-addressed storage, weights and literals. All frontends use them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from webkiln.canonical import digest
from webkiln.errors import SourceError
from webkiln.frontends.inspect.header_only import is_header_only
from webkiln.ir.dim import known_shape
from webkiln.ir.types import Array, Type

Blobs = dict[str, Array]
"""Digest of the row-major little-endian bytes -> an array with these bytes. Arrays of different
dtypes and shapes can share a digest.
"""


EXPANDED_BYTES, EXPANDED_PER_BYTE = 256 << 20, 256
"""Limit for the arrays of a file that compresses them or repeats values: a base in bytes, plus
bytes per byte of the file.
"""


@dataclass(slots=True)
class _Allowance:
    limit: int
    used: int = 0


_ALLOWANCE: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def expansion_limit(file_bytes: int) -> Iterator[None]:
    """Bound the arrays stored while a model file of `file_bytes` bytes is read. Beyond the bound,
    `add_blob` raises SourceError.
    """
    token = _ALLOWANCE.set(_Allowance(EXPANDED_BYTES + EXPANDED_PER_BYTE * file_bytes))
    try:
        yield
    finally:
        _ALLOWANCE.reset(token)


def check_allowance(nbytes: int, what: str) -> None:
    """Raise SourceError if an array of `nbytes` bytes exceeds the bound of `expansion_limit`.
    Messages call the array `what`.
    """
    allowance = _ALLOWANCE.get()
    if allowance is not None and allowance.used + nbytes > allowance.limit:
        raise SourceError(
            f"{what}: the model's weights exceed {allowance.limit:,} bytes, far more than its"
            " file holds; refused"
        )


def stored_array(blobs: Blobs, digest: str, type_: Type) -> Array | Type:
    """The array with this digest, as `type_`; the type alone if no blob has the digest."""
    array = blobs.get(digest)
    if array is None:
        return type_
    shape = known_shape(type_.shape, "a stored array")
    return array.reshape(-1).view(type_.dtype).reshape(shape)


def add_blob(blobs: Blobs, array: Array) -> str:
    """Store an array and return the digest of its bytes. Equal arrays are stored once; a
    header-only read stores none and returns ''.

    Raise SourceError if the model's arrays exceed the bound of `expansion_limit`.
    """
    if is_header_only():
        return ""
    check_allowance(array.nbytes, f"an array of shape {list(array.shape)}")
    if (allowance := _ALLOWANCE.get()) is not None:
        allowance.used += array.nbytes
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
    key = digest(array.reshape(-1).view(np.uint8).data)
    blobs[key] = array
    return key


def unpack_bits(data: Array, bits: int) -> Array:
    """The uint8 numbers of 1, 2, 4 or 8 bits in bytes, the lowest bits first: [..., n] to
    [..., 8 n / bits].
    """
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (data[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return np.asarray(parts.reshape(*data.shape[:-1], data.shape[-1] * len(shifts)))


def pack_bits(values: Array, bits: int) -> Array:
    """The bytes that `unpack_bits` unpacks to uint8 values below 2**bits, which fill them."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    count = values.shape[-1] // len(shifts)
    parts = values.reshape(*values.shape[:-1], count, len(shifts)) << shifts
    return np.asarray(np.bitwise_or.reduce(parts, axis=-1))


def bfloat16_to_float32(values: Array) -> Array:
    """Convert bfloat16 values, given as two little-endian bytes each: they are the upper half of a
    float32.
    """
    return np.asarray((values.view("<u2").astype("<u4") << 16).view("<f4"))


@dataclass(frozen=True, slots=True)
class Weight:
    """A trained array.

    The slot is the path of the layer that owns the array plus its name there; layers that share the
    array share the slot. The digest covers its row-major little-endian bytes.
    """

    slot: str
    digest: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A small array that is part of the structure: axes, shapes, scales, tables in layer code."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[bool | int | float, ...]


def two_parts(array: Array) -> Array:
    """Complex numbers with a last axis for the two parts; other arrays are unchanged."""
    return np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array
