"""Matrix products, Einsum and moments."""

from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import (
    FLOAT,
    Argument,
    Operation,
    axes_of,
    floating,
    operands,
    tensor,
)
from webkiln.ops.pieces import cast

AxisArgument = int | Sequence[int] | None

WIDE = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
"""The dtype in which Keras sums these."""
NARROW = frozenset(WIDE)


def matmul(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    """numpy's rule: a vector is a row on the left and a column on the right, and its axis is
    removed. int8 matrices give int32.
    """
    kinds = [(tensor(b, x).dtype, tensor(b, x).type.rank > 1) for x in (x1, x2)]
    return _matmul(b, x1, x2, "int32" if kinds == [("int8", True)] * 2 else None)


def _matmul(b: GraphBuilder, x1: Argument, x2: Argument, result: str | None = None) -> Tensor:
    a, c = operands(b, x1, x2)
    dtype = result or a.dtype
    a, c = (_factor(b, factor) for factor in (a, c))
    row, column = a.type.rank == 1, c.type.rank == 1
    a = b.op("Reshape", [a], {"shape": (1, *a.shape)}) if row else a
    c = b.op("Reshape", [c], {"shape": (*c.shape, 1)}) if column else c
    y = _product(b, b.op("MatMul", [a, c]), dtype)
    shape = y.shape[:-1] if column else y.shape
    shape = (
        (*shape[: -1 if column else -2], *shape[len(shape) - (0 if column else 1) :])
        if row
        else shape
    )
    return y if shape == y.shape else b.op("Reshape", [y], {"shape": shape})


def _factor(b: GraphBuilder, x: Tensor) -> Tensor:
    """A factor of a contraction in the dtype of Keras on TensorFlow: int8 as int32, narrow integers
    and bools as floats.
    """
    return cast(b, x, "int32" if x.dtype == "int8" else FLOAT) if x.dtype in NARROW else x


def _product(b: GraphBuilder, y: Tensor, dtype: str) -> Tensor:
    """Cast the result of a contraction to the dtype of the factors."""
    return cast(b, y, dtype) if dtype in NARROW else y


def contraction(
    b: GraphBuilder, inputs: Sequence[Tensor], equation: str, result: str | None = None
) -> Tensor:
    """An Einsum of operands of one dtype."""
    dtype = result or inputs[0].dtype
    return _product(
        b, b.op("Einsum", [_factor(b, x) for x in inputs], {"equation": equation}), dtype
    )


def einsum(b: GraphBuilder, *xs: Argument, subscripts: str, **_: Any) -> Tensor:
    """int8 operands in int32."""
    inputs = operands(b, *xs)
    narrow = {tensor(b, x).dtype for x in xs} == {"int8"}
    if "->" not in subscripts:
        letters = [
            letter
            for letter in sorted(subscripts)
            if letter.isalpha() and subscripts.count(letter) == 1
        ]
        subscripts += "->" + "..." * ("..." in subscripts) + "".join(letters)
    equation = spelled_out(subscripts.replace(" ", ""), [x.type.rank for x in inputs])
    return contraction(b, inputs, equation, "int32" if narrow else None)


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


def spelled_out(equation: str, ranks: Sequence[int]) -> str:
    """An equation in which letters replace `...`, for operands of these ranks."""
    terms = equation.partition("->")[0].split(",")
    counts = [
        rank - len(term) + 3 if "..." in term else 0
        for term, rank in zip(terms, ranks, strict=True)
    ]
    free = "".join(letter for letter in ascii_letters if letter not in equation)[
        : max(counts, default=0)
    ]
    spelled = [
        term.replace("...", free[len(free) - count :])
        for term, count in zip(terms, counts, strict=True)
    ]
    return f"{','.join(spelled)}->{equation.partition('->')[2].replace('...', free)}"
