"""What the wasm backend loads into the lanes of a vector, and stores from it."""

from collections.abc import Mapping
from typing import NamedTuple


class Access(NamedTuple):
    """The functions of kernels/intrinsics.c that widen four elements to lanes of 32 bits, and that
    narrow lanes. Those with the suffix `_part` do so with fewer elements.
    """

    widen: str
    narrow: str


ACCESS: Mapping[str, Access | None] = {
    "float32": None,
    "int32": None,
    "uint32": None,
    "float16": Access("wk_load_float16", "wk_store_float16"),
    "int16": Access("wk_load_int16", "wk_store_16"),
    "uint16": Access("wk_load_uint16", "wk_store_16"),
    "int8": Access("wk_load_int8", "wk_store_8"),
    "uint8": Access("wk_load_uint8", "wk_store_8"),
    "bool": Access("wk_load_bool", "wk_store_bool"),
}
"""Dtype -> how it becomes lanes, and lanes become it; None if its elements have 32 bits. Integers
wrap, floats round to the nearest, and the lanes of a bool are masks.
"""
