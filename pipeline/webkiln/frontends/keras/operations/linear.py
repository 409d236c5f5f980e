"""keras.ops operations that contract, reduce or normalize."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from webkiln.frontends.keras.layers.linear import spelled_out
from webkiln.frontends.keras.layers.norm import by_root_mean_square, standardise, to_length_1
from webkiln.frontends.keras.operations.arguments import (
    FLOAT,
    Argument,
    axes_of,
    floating,
    operands,
    tensor,
)
from webkiln.frontends.keras.operations.elementwise import Operation
from webkiln.frontends.keras.operations.linalg import norm
from webkiln.ir.types import is_integer
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast

AxisArgument = int | Sequence[int] | None

WIDE = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
"""The dtype in which Keras sums these."""
NARROW = frozenset(WIDE)
EPSILON = 1e-7
"""keras.config.epsilon()."""


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


def normalize(
    b: GraphBuilder,
    x: Argument,
    axis: AxisArgument = -1,
    order: int = 2,
    epsilon: float | None = None,
) -> Tensor:
    x = floating(b, x)
    least = 1e-7 if epsilon is None else epsilon
    if order == 2:
        return to_length_1(b, x, axes_of(axis, x.type.rank), least)
    return b.op("Div", [x, b.binary("Max", norm(b, x, axis, keepdims=True, ord=order), least)])


def variance(
    b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
) -> Tensor:
    x = floating(b, x)
    axes = axes_of(axis, x.type.rank)
    centred = b.op("Sub", [x, b.op("ReduceMean", [x], {"axes": axes, "keepdims": True})])
    return b.op("ReduceMean", [b.op("Square", [centred])], {"axes": axes, "keepdims": keepdims})


def moments(
    b: GraphBuilder, x: Argument, axes: AxisArgument, keepdims: bool = False, **_: Any
) -> list[Tensor]:
    """Mean and variance in the dtype of x. For integers, about the truncated mean; for float16,
    computed in float32 and clipped to the largest float16.
    """
    x = tensor(b, x)
    wide = cast(b, x, FLOAT) if x.dtype == "float16" else floating(b, x)

    def mean(y: Tensor, *, keepdims: bool) -> Tensor:
        return b.op("ReduceMean", [y], {"axes": axes_of(axes, x.type.rank), "keepdims": keepdims})

    centre = (
        cast(b, cast(b, mean(wide, keepdims=True), x.dtype), wide.dtype)
        if is_integer(x.dtype)
        else None
    )
    spread = (
        variance(b, wide, axes, keepdims)
        if centre is None
        else mean(b.op("Square", [wide - centre]), keepdims=keepdims)
    )
    results = [mean(wide, keepdims=keepdims), spread]
    if x.dtype == "float16":
        largest = float(np.finfo(np.float16).max)
        results = [b.op("Clip", [y], {"min": -largest, "max": largest}) for y in results]
    return [cast(b, y, x.dtype) for y in results]


def logsumexp(
    b: GraphBuilder, x: Argument, axis: AxisArgument = None, keepdims: bool = False
) -> Tensor:
    x = floating(b, x)
    axes = axes_of(axis, x.type.rank)
    peak = b.op("ReduceMax", [x], {"axes": axes, "keepdims": True})
    total = b.op(
        "ReduceSum", [b.op("Exp", [b.op("Sub", [x, peak])])], {"axes": axes, "keepdims": True}
    )
    y = b.op("Add", [b.op("Log", [total]), peak])
    return (
        y
        if keepdims
        else b.op(
            "Reshape",
            [y],
            {"shape": tuple(n for axis, n in enumerate(x.shape) if axis not in axes)},
        )
    )


def batch_norm(
    b: GraphBuilder,
    x: Argument,
    mean: Argument,
    variance: Argument,
    *affine: Argument,
    axis: int,
    epsilon: float = 1e-3,
    **named: Argument,
) -> Tensor:
    arguments = dict(zip(("offset", "scale"), affine, strict=False)) | named
    x = floating(b, x)
    channels = x.shape[axis]

    def filled(value: Argument, otherwise: float) -> Tensor:
        return (
            b.op("Broadcast", [b.constant(otherwise, x.dtype)], {"shape": (channels,)})
            if value is None
            else cast(b, tensor(b, value), x.dtype)
        )

    inputs = [
        x,
        *(
            filled(*item)
            for item in (
                (arguments.get("scale"), 1.0),
                (arguments.get("offset"), 0.0),
                (mean, 0.0),
                (variance, 1.0),
            )
        ),
    ]
    return b.op("BatchNorm", inputs, {"axis": axis % x.type.rank, "epsilon": epsilon})


def layer_norm(
    b: GraphBuilder,
    x: Argument,
    gamma: Argument = None,
    beta: Argument = None,
    *,
    axis: AxisArgument = -1,
    epsilon: float | None = None,
    **options: bool,
) -> Tensor:
    """Centre and scale; with `rms_scaling`, divide by the deviation only, as Keras does."""
    x, dtype = _wide(b, x)
    rms_scaling = options.get("rms_scaling", False)
    axes = axes_of(axis, x.type.rank)
    shape = tuple(n if axis in axes else 1 for axis, n in enumerate(x.shape))

    def reshape(value: Argument) -> Tensor:
        return b.op("Reshape", [cast(b, tensor(b, value), x.dtype)], {"shape": shape})

    y = standardise(b, x, axes, EPSILON if epsilon is None else epsilon, centre=not rms_scaling)
    y = y if gamma is None else b.op("Mul", [y, reshape(gamma)])
    return cast(b, y if beta is None or rms_scaling else b.op("Add", [y, reshape(beta)]), dtype)


def rms_norm(
    b: GraphBuilder,
    x: Argument,
    scale: Argument = None,
    axis: AxisArgument = -1,
    epsilon: float | None = None,
) -> Tensor:
    x, dtype = _wide(b, x)
    y = by_root_mean_square(
        b, x, axes_of(axis, x.type.rank), EPSILON if epsilon is None else epsilon
    )
    return cast(
        b, y if scale is None else b.op("Mul", [y, cast(b, tensor(b, scale), x.dtype)]), dtype
    )


def _wide(b: GraphBuilder, x: Argument) -> tuple[Tensor, str]:
    """x in at least float32, and its own dtype."""
    x = tensor(b, x)
    return x if x.dtype == "float64" else cast(b, x, FLOAT), x.dtype


def softmax(function: Callable[[GraphBuilder, Tensor, int | list[int]], Tensor]) -> Operation:
    """Over one axis, several, or all."""

    def apply(b: GraphBuilder, x: Argument, axis: AxisArgument = -1) -> Tensor:
        x = floating(b, x)
        axes = axes_of(axis, x.type.rank)
        return function(b, x, axes[0] if len(axes) == 1 else [*axes])

    return apply
