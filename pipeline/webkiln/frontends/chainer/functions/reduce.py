"""Reductions, sorting and matrix products."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions.elementwise import cast
from webkiln.frontends.chainer.functions.shape import (
    broadcast_to,
    normalised_axes,
    reshape,
    swapaxes,
    transpose,
)
from webkiln.frontends.chainer.sizes import is_open
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node


def _axes(x: ChainVariable, axis: Any) -> tuple[int, ...]:
    return (
        tuple(range(x.ndim))
        if axis is None
        else normalised_axes(x, *((axis,) if isinstance(axis, int) else axis))
    )


def reduction(op: str) -> Callable[..., ChainVariable]:
    def function(x: Any, axis: Any = None, keepdims: bool = False) -> ChainVariable:
        x = as_variable(x)
        return node(op, x, axes=_axes(x, axis), keepdims=keepdims) if x.ndim else x

    return function


total, largest, smallest, product = (
    reduction(op) for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")
)
mean = reduction("ReduceMean")


def average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> ChainVariable:
    if weights is None:
        return mean(x, axis, keepdims)
    x, weights = as_variable(x), as_variable(weights)
    axes = _axes(x, axis)
    if weights.ndim != x.ndim:
        weights = reshape(weights, [size if d in axes else 1 for d, size in enumerate(x.shape)])
    broadcast_weights = broadcast_to(weights, x.shape)
    return node(
        "Div",
        total(node("Mul", x, broadcast_weights), axes, keepdims),
        total(broadcast_weights, axes, keepdims),
    )


def logsumexp(x: Any, axis: Any = None) -> ChainVariable:
    x = as_variable(x)
    return node("ReduceLogSumExp", x, axes=_axes(x, axis), keepdims=0)


def index_of(op: str) -> Callable[..., ChainVariable]:
    def function(x: Any, axis: int | None = None) -> ChainVariable:
        x = as_variable(x)
        if axis is None:
            x, axis = reshape(x, (-1,)), 0
        return cast(node(op, x, axis=axis, keepdims=0), np.int32)

    return function


def cumulative(op: str) -> Callable[..., ChainVariable]:
    def function(x: Any, axis: int | None = None) -> ChainVariable:
        x = as_variable(x)
        if axis is None:
            x, axis = reshape(x, (-1,)), 0
        return node(op, x, np.asarray(axis, np.int64))

    return function


def sum_to(x: Any, shape: Any) -> ChainVariable:
    x, target = as_variable(x), tuple(shape)
    lead = x.ndim - len(target)
    axes = [
        *range(lead),
        *(d + lead for d, size in enumerate(target) if not is_open(size) and size == 1),
    ]
    return reshape(node("ReduceSum", x, axes=tuple(axes), keepdims=1), target) if axes else x


def batch_l2_norm_squared(x: Any) -> ChainVariable:
    x = as_variable(x)
    return total(node("Mul", x, x), tuple(range(1, x.ndim)))


def matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> ChainVariable:
    a, b = as_variable(a), as_variable(b)
    left = swapaxes(a, -1, -2) if transa and a.ndim > 1 else a
    right = swapaxes(b, -1, -2) if transb and b.ndim > 1 else b
    return node("MatMul", left, right)


def batch_matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> ChainVariable:
    """Vectors become columns."""
    left, right = (
        reshape(x, (*x.shape, 1)) if x.ndim == 2 else x for x in map(as_variable, (a, b))
    )
    return matmul(left, right, transa, transb)


def einsum(*operands: Any) -> ChainVariable:
    if isinstance(operands[0], str):
        equation, xs = operands[0], operands[1:]
    else:
        pairs = builtins.list(zip(operands[0::2], operands[1::2], strict=False))
        equation = ",".join(_letters(item) for _, item in pairs)
        equation += f"->{_letters(operands[-1])}" if len(operands) % 2 else ""
        xs = tuple(x for x, _ in pairs)
    return node("Einsum", *map(as_variable, xs), equation=equation)


def _letters(axes: Any) -> str:
    return "".join("..." if axis is Ellipsis else chr(97 + axis) for axis in axes)


def tensordot(a: Any, b: Any, axes: Any = 2) -> ChainVariable:
    a, b = as_variable(a), as_variable(b)
    if isinstance(axes, int):
        left, right = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        left, right = (tuple(item) if isinstance(item, Sequence) else (item,) for item in axes)
    left, right = normalised_axes(a, *left), normalised_axes(b, *right)
    first = [d for d in range(a.ndim) if d not in left]
    last = [d for d in range(b.ndim) if d not in right]
    inner: Any = 1
    for d in left:
        inner = inner * a.shape[d]
    rows = reshape(transpose(a, (*first, *left)), (-1, inner))
    columns = reshape(transpose(b, (*right, *last)), (inner, -1))
    return reshape(
        node("MatMul", rows, columns), [*(a.shape[d] for d in first), *(b.shape[d] for d in last)]
    )


def determinant(a: Any) -> ChainVariable:
    a = as_variable(a)
    if is_open(a.shape[-1]):
        raise SourceError("F.det: the size of the matrix must be known before the model runs")
    return node("Det", a)


REDUCE: Mapping[str, Callable[..., Any]] = {
    "sum": total,
    "max": largest,
    "min": smallest,
    "prod": product,
    "mean": mean,
    "average": average,
    "logsumexp": logsumexp,
    "argmax": index_of("ArgMax"),
    "argmin": index_of("ArgMin"),
    "cumsum": cumulative("CumSum"),
    "cumprod": cumulative("CumProd"),
    "sum_to": sum_to,
    "batch_l2_norm_squared": batch_l2_norm_squared,
    "matmul": matmul,
    "batch_matmul": batch_matmul,
    "einsum": einsum,
    "tensordot": tensordot,
    "det": determinant,
    "batch_det": determinant,
}
