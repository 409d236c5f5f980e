"""Operands of keras.ops operations: scalars and literals become constants, dtypes are promoted as
Keras does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from webkiln.ir.types import is_float, is_integer
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, iota, reshaped, sized, widened

Argument = Any
FLOAT = "float32"
"""What Keras calls floatx."""

QUOTIENTS = {
    **dict.fromkeys(("int8", "uint8", "int16", "uint16"), FLOAT),
    **dict.fromkeys(("int32", "uint32", "int64", "uint64"), "float64"),
}
"""What TensorFlow's own division casts whole numbers to."""

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
"""The dtypes next above each in Keras's lattice of promotion; Python's numbers are weak.
https://keras.io/api/utils/backend_utils/
"""


def _bounds(dtype: str) -> frozenset[str]:
    return frozenset({dtype}).union(*map(_bounds, ABOVE[dtype]))


BOUNDS = {dtype: _bounds(dtype) for dtype in ABOVE}
RESOLVED = {WEAK_INT: "int32", WEAK_FLOAT: FLOAT, "uint64": "uint32"}
"""What weak dtypes are in the end; Keras knows no uint64 but as the dtype of a tensor."""


def promote(dtypes: Sequence[str]) -> str:
    """`keras.ops.result_type`: the least dtype above all of these, of which those of Python's
    numbers are `int` and `float`.
    """
    common = frozenset.intersection(*(BOUNDS[dtype] for dtype in dtypes))
    least = max(common, key=lambda dtype: len(BOUNDS[dtype]))
    return RESOLVED.get(least, least)


def kind_of(value: Argument) -> str:
    """The dtype of an operand as promotion sees it."""
    if isinstance(value, Tensor | np.ndarray):
        return str(value.dtype)
    if isinstance(value, list | tuple):
        return str(literal(value).dtype)
    return "bool" if isinstance(value, bool) else {int: WEAK_INT, float: WEAK_FLOAT}[type(value)]


def literal(value: Argument) -> Any:
    """Numbers as an array of the dtype that Keras makes a tensor of: int32 and float32 for those of
    Python.
    """
    if isinstance(value, np.ndarray):
        return value
    array = np.asarray(value)
    return array.astype({"i": "int32", "f": FLOAT}.get(array.dtype.kind, array.dtype))


def tensor(b: GraphBuilder, value: Argument, dtype: str | None = None) -> Tensor:
    """An operand as a tensor: a Tensor as it is, anything else as a literal of the structure; one
    with tensors in it is stacked.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, list | tuple) and any(
        isinstance(item, Tensor | list | tuple) for item in value
    ):
        rows = [tensor(b, item, dtype) for item in value]
        whole = promote([row.dtype for row in rows])
        return b.op(
            "Concat",
            [b.op("Reshape", [cast(b, row, whole)], {"shape": (1, *row.shape)}) for row in rows],
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
    """Operands in the one dtype that Keras promotes them to; with `floating` to one of floats."""
    dtype = result_of(*values, floating=floating)
    return [as_dtype(b, value, dtype) for value in values]


OF_BOOLS = {"Add": "Or", "Mul": "And", "Max": "Or", "Min": "And"}


def combined(b: GraphBuilder, op: str, x1: Tensor, x2: Tensor) -> Tensor:
    """An operator of two operands of one dtype; of bools what it is of 0 and 1."""
    return b.op(OF_BOOLS.get(op, op) if x1.dtype == "bool" else op, [x1, x2])


def floating(b: GraphBuilder, x: Argument) -> Tensor:
    """The operand in floats; integers and bools as float32."""
    x = tensor(b, x)
    return x if is_float(x.dtype) else cast(b, x, FLOAT)


def doubled(dtype: str) -> str:
    """The floats that some operations make of a dtype: float64 of int64."""
    return dtype if is_float(dtype) else "float64" if dtype == "int64" else FLOAT


def countable(b: GraphBuilder, x: Tensor) -> Tensor:
    """Bools as int32, anything else as it is."""
    return cast(b, x, "int32") if x.dtype == "bool" else x


def wide(b: GraphBuilder, x: Tensor) -> Tensor:
    """Halves as float32, anything else as it is: what is rounded once, at the end."""
    return cast(b, x, FLOAT) if x.dtype == "float16" else x


def like(b: GraphBuilder, value: float, x: Tensor) -> Tensor:
    """A number in the dtype of x."""
    return b.constant(value, x.dtype)


def full(b: GraphBuilder, value: Argument, dtype: str, shape: Sequence[int]) -> Tensor:
    """An operand broadcast to a shape."""
    return widened(b, as_dtype(b, value, dtype), shape)


def numbers(b: GraphBuilder, size: int, dtype: str, axis: int = 0, rank: int = 1) -> Tensor:
    """0, 1, ... below a size, along one axis of several."""
    return reshaped(b, iota(b, size, dtype), [size if d == axis else 1 for d in range(rank)])


def counted(b: GraphBuilder, index: Tensor, size: int) -> Tensor:
    """Indices with those below 0 counted from the end; TensorFlow knows none below that."""
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
    """Axes as sorted, non-negative numbers; None is all."""
    if axis is None:
        return tuple(range(rank))
    given = [axis] if isinstance(axis, int) else list(axis)
    return tuple(sorted(a % rank for a in given))
