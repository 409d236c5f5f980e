"""What every frontend says of the arrays in a model."""

from dataclasses import dataclass

from webkiln.ir.types import Array

Blobs = dict[str, Array]
"""Digest of the row-major little-endian bytes -> array."""


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
