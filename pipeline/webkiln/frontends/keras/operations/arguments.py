"""Operands of keras.ops operations: scalars and literals become constants, dtypes are promoted as Keras does."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from webkiln.ir.types import is_float, itemsize
from webkiln.ops.builder import GraphBuilder, Tensor

Argument = Any
FLOAT = "float32"


def promote(dtypes: Sequence[str]) -> str:
    """The dtype that Keras computes in: the widest float (float64 only if it is there), else numpy's choice of integers."""
    floats = [dtype for dtype in dtypes if is_float(dtype)]
    if floats:
        return max(floats, key=itemsize)
    result = np.result_type(*dtypes).name
    return FLOAT if is_float(result) else result


def tensor(b: GraphBuilder, value: Argument, dtype: str | None = None) -> Tensor:
    """An operand as a tensor: a Tensor as it is, anything else as a literal of the structure."""
    return value if isinstance(value, Tensor) else b.constant(value, dtype)


def cast(b: GraphBuilder, x: Tensor, dtype: str) -> Tensor:
    return x if x.dtype == dtype else b.op("Cast", [x], {"dtype": dtype})


def operands(b: GraphBuilder, *values: Argument, floating: bool = False) -> list[Tensor]:
    """Operands in one dtype; a Python scalar follows the others, except that a float makes integers float."""
    strong = [value.dtype if isinstance(value, Tensor) else str(value.dtype) for value in values if isinstance(value, Tensor | np.ndarray)]
    weak = [value for value in values if not isinstance(value, Tensor | np.ndarray)]
    dtype = promote(strong) if strong else FLOAT
    if any(isinstance(value, float) for value in weak) and not is_float(dtype):
        dtype = FLOAT
    if dtype == "bool" and any(type(value) is int for value in weak):
        dtype = "int32"
    if floating and not is_float(dtype):
        dtype = FLOAT
    return [cast(b, value, dtype) if isinstance(value, Tensor) else b.constant(value, dtype) for value in values]


def floating(b: GraphBuilder, x: Argument) -> Tensor:
    x = tensor(b, x)
    return x if is_float(x.dtype) else cast(b, x, FLOAT)


def countable(b: GraphBuilder, x: Tensor) -> Tensor:
    """Bools as int32, anything else as it is."""
    return cast(b, x, "int32") if x.dtype == "bool" else x


def axes_of(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes as sorted, non-negative numbers; None is all."""
    if axis is None:
        return tuple(range(rank))
    given = [axis] if isinstance(axis, int) else list(axis)
    return tuple(sorted(a % rank for a in given))
