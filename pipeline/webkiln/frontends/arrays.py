"""What every frontend says of the arrays in a model."""

from dataclasses import dataclass

import numpy as np

from webkiln.canonical import digest
from webkiln.frontends.glance import is_glancing
from webkiln.ir.types import Array, Type

Blobs = dict[str, Array]
"""Digest of the row-major little-endian bytes -> an array of these bytes; arrays of other dtypes and shapes may have the same ones."""


def array_of(blobs: Blobs, digest: str, type_: Type) -> Array | Type:
    """The array of a type by the digest of its bytes, or where there is none the type alone."""
    array = blobs.get(digest)
    return type_ if array is None else array.reshape(-1).view(type_.dtype).reshape(type_.shape)


def add_blob(blobs: Blobs, array: Array) -> str:
    """Keep an array by the digest of its bytes; equal ones are kept once. A glance keeps none."""
    if is_glancing():
        return ""
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
    key = digest(array.reshape(-1).view(np.uint8).data)
    blobs[key] = array
    return key


def widened(halves: Array) -> Array:
    """bfloat16, two little-endian bytes an element, as float32: they are its upper ones."""
    return np.asarray((halves.view("<u2").astype("<u4") << 16).view("<f4"))


@dataclass(frozen=True, slots=True)
class Weight:
    """A trained array: its slot (the path of the layer that owns it, and its name there; layers that share it share the slot), and the
    digest of its row-major little-endian bytes."""

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
