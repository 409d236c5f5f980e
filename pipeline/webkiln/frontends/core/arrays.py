"""What every frontend says of the arrays in a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from webkiln.canonical import digest
from webkiln.errors import SourceError
from webkiln.frontends.inspect.header_only import is_glancing
from webkiln.ir.types import Array, Type

Blobs = dict[str, Array]
"""Digest of the row-major little-endian bytes -> an array of these bytes; arrays of other dtypes
and shapes may have the same ones.
"""


EXPANDED_BYTES, EXPANDED_PER_BYTE = 256 << 20, 256
"""How many bytes the arrays of a file may have that stores them compressed, or repeats a value."""


@dataclass(slots=True)
class _Allowance:
    limit: int
    used: int = 0


_ALLOWANCE: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def expanding(file_bytes: int) -> Iterator[None]:
    """Bound the arrays that are kept while a model of so many bytes is read: beyond, `add_blob`
    raises
    SourceError.
    """
    token = _ALLOWANCE.set(_Allowance(EXPANDED_BYTES + EXPANDED_PER_BYTE * file_bytes))
    try:
        yield
    finally:
        _ALLOWANCE.reset(token)


def check_room(nbytes: int, what: str) -> None:
    """SourceError where an array of that many bytes, which messages call `what`, is more than
    `expanding` allows.
    """
    allowance = _ALLOWANCE.get()
    if allowance is not None and allowance.used + nbytes > allowance.limit:
        raise SourceError(
            f"{what}: the model's weights take more than {allowance.limit:,} bytes, far more than"
            " its file holds; refused"
        )


def array_of(blobs: Blobs, digest: str, type_: Type) -> Array | Type:
    """The array of a type by the digest of its bytes, or where there is none the type alone."""
    array = blobs.get(digest)
    return type_ if array is None else array.reshape(-1).view(type_.dtype).reshape(type_.shape)


def add_blob(blobs: Blobs, array: Array) -> str:
    """Keep an array by the digest of its bytes; equal ones are kept once. A glance keeps none.

    SourceError where the model's arrays are larger than `expanding` allows.
    """
    if is_glancing():
        return ""
    check_room(array.nbytes, f"an array of shape {list(array.shape)}")
    if (allowance := _ALLOWANCE.get()) is not None:
        allowance.used += array.nbytes
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
    key = digest(array.reshape(-1).view(np.uint8).data)
    blobs[key] = array
    return key


def widened(halves: Array) -> Array:
    """bfloat16, two little-endian bytes an element, as float32: they are its upper ones."""
    return np.asarray((halves.view("<u2").astype("<u4") << 16).view("<f4"))


@dataclass(frozen=True, slots=True)
class Weight:
    """A trained array: its slot (the path of the layer that owns it, and its name there; layers
    that
    share it share the slot), and the digest of its row-major little-endian bytes.
    """

    slot: str
    digest: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A small array that is part of the structure: axes, shapes, scales, tables in a layer's code."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[bool | int | float, ...]
