"""keras.ops operations that normalize."""

from typing import Any

import numpy as np

from webkiln.ir.types import is_integer
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.linalg import norm
from webkiln.ops.functional.linear import AxisArgument, variance
from webkiln.ops.functional.normalization import by_root_mean_square, standardise, to_length_1
from webkiln.ops.functional.operands import FLOAT, Argument, axes_of, floating, tensor
from webkiln.ops.pieces import cast

EPSILON = 1e-7
"""keras.config.epsilon()."""


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
