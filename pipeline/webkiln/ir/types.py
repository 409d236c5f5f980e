"""Logical dtypes and the type of a Variable."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webkiln.errors import ShapeError
from webkiln.ir.dim import Shape, Size, is_symbolic
from webkiln.ir.size_checks import require_all_equal

Array = NDArray[Any]
DTYPES = (
    "float32", "float16", "float64",
    "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64",
    "bool",
)  # fmt: skip


def itemsize(dtype: str) -> int:
    """Bytes of one element."""
    return int(np.dtype(dtype).itemsize)


def is_float(dtype: str) -> bool:
    return dtype.startswith("float")


def is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a Variable: a dtype and a shape. Sizes are ints or symbolic (`ir/dim.py`)."""

    dtype: str
    shape: Shape

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ShapeError(f"dtype {self.dtype!r} does not exist; use one of {', '.join(DTYPES)}")
        if any(not is_symbolic(size) and size < 0 for size in self.shape):
            raise ShapeError(f"shape {list(self.shape)} has a negative size")

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Size:
        return prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """The broadcast shape, by numpy's rules; symbolic sizes are assumed not to be 1.

    Raises SizeError if the sizes of an axis differ and neither is 1.
    """
    operands = list(shapes)
    rank = max((len(shape) for shape in operands), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in operands]
    result = []
    for axis, sizes in enumerate(zip(*padded, strict=True)):
        wide = [size for size in sizes if size != 1] or [1]
        result.append(require_all_equal(wide, f"the sizes of axis {axis} differ"))
    return tuple(result)
