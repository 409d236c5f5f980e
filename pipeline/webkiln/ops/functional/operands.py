"""Operands of array functions: scalars and literals become constants, and dtypes are promoted
like Keras's.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from webkiln.ir.dim import Size
from webkiln.ir.types import is_float, is_integer
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, iota, reshaped, sized, widened

Argument = Any
FLOAT = "float32"
"""Keras's floatx."""

QUOTIENTS = {
    **dict.fromkeys(("int8", "uint8", "int16", "uint16"), FLOAT),
    **dict.fromkeys(("int32", "uint32", "int64", "uint64"), "float64"),
}
"""The dtype to which TensorFlow's division casts integers."""

WEAK_INT, WEAK_FLOAT = "int", "float"
ABOVE = {
    "bool": {WEAK_INT},
    "uint8": {"int16", "uint16"},
    "uint16": {"int32", "uint32"},
    "uint32": {"int64", "uint64"},
    "uint64": {WEAK_FLOAT},
    WEAK_INT: {"uint8", "int8"},
    "int8": {"int16"},
    "int16": {"int32"},
    "int32": {"int64"},
    "int64": {WEAK_FLOAT},
    WEAK_FLOAT: {"float16"},
    "float16": {"float32"},
    "float32": {"float64"},
    "float64": set(),
}
"""The direct successors of each dtype in Keras's promotion lattice. Python numbers are weak.

https://keras.io/api/utils/backend_utils/
"""


def _bounds(dtype: str) -> frozenset[str]:
    return frozenset({dtype}).union(*map(_bounds, ABOVE[dtype]))


BOUNDS = {dtype: _bounds(dtype) for dtype in ABOVE}
RESOLVED = {WEAK_INT: "int32", WEAK_FLOAT: FLOAT, "uint64": "uint32"}
"""The final dtypes of weak types. Keras has uint64 only as the dtype of a tensor."""


def promote(dtypes: Sequence[str]) -> str:
    """`keras.ops.result_type`: the least upper bound of these dtypes. Those of Python numbers are
    `int` and `float`.
    """
    common = frozenset.intersection(*(BOUNDS[dtype] for dtype in dtypes))
    least = max(common, key=lambda dtype: len(BOUNDS[dtype]))
    return RESOLVED.get(least, least)


def kind_of(value: Argument) -> str:
    """The dtype of an operand for promotion."""
    if isinstance(value, Tensor | np.ndarray):
        return str(value.dtype)
    if isinstance(value, list | tuple):
        return str(literal(value).dtype)
    return "bool" if isinstance(value, bool) else {int: WEAK_INT, float: WEAK_FLOAT}[type(value)]


def literal(value: Argument) -> Any:
    """Numbers as an array in the dtype of Keras's tensor: int32 and float32 for Python numbers."""
    if isinstance(value, np.ndarray):
        return value
    array = np.asarray(value)
    return array.astype({"i": "int32", "f": FLOAT}.get(array.dtype.kind, array.dtype))


def tensor(b: GraphBuilder, value: Argument, dtype: str | None = None) -> Tensor:
    """An operand as a tensor. A value that is not a tensor becomes a literal; a list that contains
    tensors is stacked.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, list | tuple) and any(
        isinstance(item, Tensor | list | tuple) for item in value
    ):
        rows = [tensor(b, item, dtype) for item in value]
        common = promote([row.dtype for row in rows])
        return b.op(
            "Concat",
            [b.op("Reshape", [cast(b, row, common)], {"shape": (1, *row.shape)}) for row in rows],
            {"axis": 0},
        )
    return b.constant(literal(value) if dtype is None else value, dtype)


def as_dtype(b: GraphBuilder, value: Argument, dtype: str) -> Tensor:
    """An operand as a tensor of this dtype."""
    return (
        cast(b, tensor(b, value), dtype)
        if isinstance(value, Tensor | list | tuple)
        else b.constant(value, dtype)
    )


def result_of(*values: Argument, floating: bool = False) -> str:
    return promote([*map(kind_of, values), *([WEAK_FLOAT] if floating else [])])


def operands(b: GraphBuilder, *values: Argument, floating: bool = False) -> list[Tensor]:
    """Operands in the dtype that Keras promotes them to; with `floating`, a floating-point one."""
    dtype = result_of(*values, floating=floating)
    return [as_dtype(b, value, dtype) for value in values]


OF_BOOLS = {"Add": "Or", "Mul": "And", "Max": "Or", "Min": "And"}


def combined(b: GraphBuilder, op: str, x1: Tensor, x2: Tensor) -> Tensor:
    """A binary operator on one dtype. Bools are 0 and 1."""
    return b.op(OF_BOOLS.get(op, op) if x1.dtype == "bool" else op, [x1, x2])


def floating(b: GraphBuilder, x: Argument) -> Tensor:
    """The operand in floating point; integers and bools become float32."""
    x = tensor(b, x)
    return x if is_float(x.dtype) else cast(b, x, FLOAT)


def doubled(dtype: str) -> str:
    """The floating-point dtype that some operations use: float64 for int64."""
    return dtype if is_float(dtype) else "float64" if dtype == "int64" else FLOAT


def countable(b: GraphBuilder, x: Tensor) -> Tensor:
    """Bools as int32; others are unchanged."""
    return cast(b, x, "int32") if x.dtype == "bool" else x


def wide(b: GraphBuilder, x: Tensor) -> Tensor:
    """float16 as float32, for operations that round once, at the end; others are unchanged."""
    return cast(b, x, FLOAT) if x.dtype == "float16" else x


def like(b: GraphBuilder, value: float, x: Tensor) -> Tensor:
    """A number in the dtype of x."""
    return b.constant(value, x.dtype)


def full(b: GraphBuilder, value: Argument, dtype: str, shape: Sequence[Size]) -> Tensor:
    """Broadcast an operand to a shape."""
    return widened(b, as_dtype(b, value, dtype), shape)


def numbers(b: GraphBuilder, size: Size, dtype: str, axis: int = 0, rank: int = 1) -> Tensor:
    """0, 1, ... up to a size, along one of several axes."""
    return reshaped(b, iota(b, size, dtype), [size if d == axis else 1 for d in range(rank)])


def counted(b: GraphBuilder, index: Tensor, size: int) -> Tensor:
    """Indices, with negative ones counted from the end; TensorFlow does not support lower ones."""
    if not is_integer(index.dtype):
        index = cast(b, index, "int32")
    if index.dtype.startswith("uint"):
        return index
    return b.op(
        "Where",
        [
            b.op("Less", [index, like(b, 0, index)]),
            b.op("Add", [index, sized(b, size, index.dtype)]),
            index,
        ],
    )


def axes_of(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Sorted, non-negative axes. None means all."""
    if axis is None:
        return tuple(range(rank))
    axes = [axis] if isinstance(axis, int) else list(axis)
    return tuple(sorted(a % rank for a in axes))


Operation = Callable[..., Any]
