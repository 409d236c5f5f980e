"""Matrix products, Einsum and moments."""

from collections.abc import Callable, Sequence
from typing import Any

from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.einsum import einsum as broadcast_einsum
from webkiln.ops.functional.operands import (
    FLOAT,
    Argument,
    Operation,
    axes_of,
    floating,
    operands,
    tensor,
)
from webkiln.ops.pieces import cast, reshaped

AxisArgument = int | Sequence[int] | None

WIDE = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
"""The dtype in which Keras sums these."""
NARROW = frozenset(WIDE)


def matrix_product(b: GraphBuilder, x: Tensor, y: Tensor) -> Tensor:
    """numpy.matmul of one dtype: a vector is a row on the left and a column on the right, and its
    axis is removed.
    """
    left = reshaped(b, x, (1, *x.shape)) if x.type.rank == 1 else x
    right = reshaped(b, y, (*y.shape, 1)) if y.type.rank == 1 else y
    product = b.op("MatMul", [left, right])
    shape = list(product.shape)
    if y.type.rank == 1:
        del shape[-1]
    if x.type.rank == 1:
        del shape[-1 if y.type.rank == 1 else -2]
    return reshaped(b, product, shape)


def matmul(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    """`matrix_product` of operands of any dtypes. int8 matrices give int32."""
    kinds = [(tensor(b, x).dtype, tensor(b, x).type.rank > 1) for x in (x1, x2)]
    return _matmul(b, x1, x2, "int32" if kinds == [("int8", True)] * 2 else None)


def _matmul(b: GraphBuilder, x1: Argument, x2: Argument, result: str | None = None) -> Tensor:
    a, c = operands(b, x1, x2)
    product = matrix_product(b, _factor(b, a), _factor(b, c))
    return _product(b, product, result or a.dtype)


def _factor(b: GraphBuilder, x: Tensor) -> Tensor:
    """A factor of a contraction in the dtype of Keras on TensorFlow: int8 as int32, narrow integers
    and bools as floats.
    """
    return cast(b, x, "int32" if x.dtype == "int8" else FLOAT) if x.dtype in NARROW else x


def _product(b: GraphBuilder, y: Tensor, dtype: str) -> Tensor:
    """Cast the result of a contraction to the dtype of the factors."""
    return cast(b, y, dtype) if dtype in NARROW else y


def contraction(b: GraphBuilder, inputs: Sequence[Tensor], equation: str) -> Tensor:
    """An Einsum of operands of one dtype."""
    y = b.op("Einsum", [_factor(b, x) for x in inputs], {"equation": equation})
    return _product(b, y, inputs[0].dtype)


def einsum(b: GraphBuilder, *xs: Argument, subscripts: str, **_: Any) -> Tensor:
    """int8 operands in int32."""
    inputs = operands(b, *xs)
    narrow = {tensor(b, x).dtype for x in xs} == {"int8"}
    y = broadcast_einsum(b, [_factor(b, x) for x in inputs], subscripts)
    return _product(b, y, "int32" if narrow else inputs[0].dtype)


def variance(
    b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
) -> Tensor:
    x = floating(b, x)
    axes = axes_of(axis, x.type.rank)
    centred = b.op("Sub", [x, b.op("ReduceMean", [x], {"axes": axes, "keepdims": True})])
    return b.op("ReduceMean", [b.op("Square", [centred])], {"axes": axes, "keepdims": keepdims})


def softmax(function: Callable[[GraphBuilder, Tensor, int | list[int]], Tensor]) -> Operation:
    """Over one axis, several, or all."""

    def apply(b: GraphBuilder, x: Argument, axis: AxisArgument = -1) -> Tensor:
        x = floating(b, x)
        axes = axes_of(axis, x.type.rank)
        return function(b, x, axes[0] if len(axes) == 1 else [*axes])

    return apply
