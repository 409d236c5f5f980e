"""Activations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, known
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor

Activation = Callable[..., Tensor]


def unary(op: str, **attrs: Any) -> Activation:
    """An activation that is a single operator."""

    def apply(b: GraphBuilder, x: Tensor) -> Tensor:
        return b.op(op, [x], attrs)

    return apply


def linear(_: GraphBuilder, x: Tensor) -> Tensor:
    return x


def softmax(b: GraphBuilder, x: Tensor, axis: int | list[int] = -1) -> Tensor:
    if isinstance(axis, int):
        return b.op("Softmax", [x], {"axis": axis % x.type.rank})
    return b.op("Exp", [log_softmax(b, x, axis)])


def log_softmax(b: GraphBuilder, x: Tensor, axis: int | list[int] = -1) -> Tensor:
    if isinstance(axis, int):
        return b.op("LogSoftmax", [x], {"axis": axis % x.type.rank})
    axes = tuple(sorted(a % x.type.rank for a in axis))
    shifted = b.op("Sub", [x, b.op("ReduceMax", [x], {"axes": axes, "keepdims": True})])
    total = b.op("ReduceSum", [b.op("Exp", [shifted])], {"axes": axes, "keepdims": True})
    return b.op("Sub", [shifted, b.op("Log", [total])])


def gelu(b: GraphBuilder, x: Tensor, approximate: bool = False) -> Tensor:
    return b.op("Gelu", [x], {"approximate": approximate})


def elu(b: GraphBuilder, x: Tensor, alpha: float = 1.0) -> Tensor:
    return b.op("Elu", [x], {"alpha": float(alpha)})


def leaky_relu(
    b: GraphBuilder, x: Tensor, negative_slope: float = 0.2, alpha: float | None = None
) -> Tensor:
    """`alpha` is the name of the slope in Keras 2."""
    return b.op("LeakyRelu", [x], {"alpha": float(negative_slope if alpha is None else alpha)})


def relu(
    b: GraphBuilder,
    x: Tensor,
    negative_slope: float = 0.0,
    max_value: float | None = None,
    threshold: float = 0.0,
) -> Tensor:
    """x if it exceeds `threshold`, up to max_value; otherwise -negative_slope * (threshold - x)."""
    if threshold == 0 and negative_slope == 0 and max_value is not None:
        return b.op("Clip", [x], {"min": 0.0, "max": float(max_value)})
    if threshold == 0:
        result = (
            b.op("LeakyRelu", [x], {"alpha": float(negative_slope)})
            if negative_slope
            else b.op("Relu", [x])
        )
        return result if max_value is None else b.binary("Min", result, float(max_value))
    result = b.op(
        "Where", [b.binary("Greater", x, threshold), x, b.constant(0.0, x.dtype)], order=x.order
    )
    if max_value is not None:
        result = b.op("Clip", [result], {"min": 0.0, "max": float(max_value)})
    return result - b.op("Relu", [threshold - x]) * negative_slope if negative_slope else result


def relu6(b: GraphBuilder, x: Tensor) -> Tensor:
    return b.op("Relu6", [x]) if is_float(x.dtype) else b.op("Clip", [x], {"min": 0.0, "max": 6.0})


def hard_sigmoid(b: GraphBuilder, x: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """alpha x + beta, clipped to 0..1. Keras 3 and PyTorch have x / 6 + 1/2."""
    return b.op("Clip", [x * alpha + beta], {"min": 0, "max": 1})


def mish(b: GraphBuilder, x: Tensor) -> Tensor:
    return x * b.op("Tanh", [b.op("Softplus", [x])])


def hard_silu(b: GraphBuilder, x: Tensor) -> Tensor:
    return x * b.op("HardSigmoid", [x])


def log_sigmoid(b: GraphBuilder, x: Tensor) -> Tensor:
    return -b.op("Softplus", [-x])


def tanh_shrink(b: GraphBuilder, x: Tensor) -> Tensor:
    return x - b.op("Tanh", [x])


def celu(b: GraphBuilder, x: Tensor, alpha: float = 1.0) -> Tensor:
    """x if x > 0, alpha (exp(x / alpha) - 1) elsewhere."""
    is_positive = b.binary("Greater", x, 0.0)
    below = b.op("Expm1", [x * (1 / alpha)]) * alpha
    return b.op("Where", [is_positive, x, below], order=x.order)


def squareplus(b: GraphBuilder, x: Tensor, b_: float = 4) -> Tensor:
    return (x + b.op("Sqrt", [b.op("Square", [x]) + b_])) / 2


def glu(b: GraphBuilder, x: Tensor, axis: int = -1) -> Tensor:
    """The first half of an axis, gated by the second half."""
    axis %= x.type.rank
    if x.shape[axis] % 2:
        raise ShapeError(f"{b.layer}: glu halves axis {axis} of {list(x.shape)}, whose size is odd")
    half = x.shape[axis] // 2
    sizes = (*x.shape[:axis], half, *x.shape[axis + 1 :])

    def part(start: Size) -> Tensor:
        starts = tuple(start if a == axis else 0 for a in range(x.type.rank))
        return b.op("Slice", [x], {"starts": starts, "sizes": sizes, "steps": (1,) * x.type.rank})

    return part(0) * b.op("Sigmoid", [part(half)])


def hard_shrink(b: GraphBuilder, x: Tensor, threshold: float = 0.5) -> Tensor:
    return b.op(
        "Where",
        [b.binary("Greater", b.op("Abs", [x]), threshold), x, b.constant(0.0, x.dtype)],
        order=x.order,
    )


def soft_shrink(b: GraphBuilder, x: Tensor, threshold: float = 0.5) -> Tensor:
    """Move towards 0 by `threshold`. Smaller magnitudes and NaN become 0."""
    low = b.op(
        "Where",
        [b.binary("Less", x, -threshold), x + threshold, b.constant(0.0, x.dtype)],
        order=x.order,
    )
    return b.op("Where", [b.binary("Greater", x, threshold), x - threshold, low], order=x.order)


def threshold(b: GraphBuilder, x: Tensor, threshold: float, default_value: float) -> Tensor:
    """x if it exceeds `threshold`, otherwise `default_value`."""
    return b.op(
        "Where",
        [b.binary("Greater", x, threshold), x, b.constant(default_value, x.dtype)],
        order=x.order,
    )


def sparse_sigmoid(b: GraphBuilder, x: Tensor) -> Tensor:
    return b.op("Clip", [x * 0.5 + 0.5], {"min": 0.0, "max": 1.0})


def sparse_plus(b: GraphBuilder, x: Tensor) -> Tensor:
    """0 up to -1, x from 1 on, and a parabola between."""
    return b.op(
        "Where",
        [b.binary("Less", x, 1.0), b.op("Square", [b.op("Relu", [x + 1.0])]) * 0.25, x],
        order=x.order,
    )


def sparsemax(b: GraphBuilder, x: Tensor, axis: int = -1) -> Tensor:
    """Sparsemax, as Keras computes it: the largest elements, as long as each exceeds (their sum -
    1) / their number, minus a threshold; negative results become 0.

    The threshold is (the sum of the partial sums - 1) / their number, as in Keras; Martins &
    Astudillo 2016 use the last partial sum. Elements are compared pairwise, not sorted.
    """
    axis %= x.type.rank
    count = known(x.shape[axis], "the size of the axis of sparsemax")
    if count > INLINE_ELEMENTS:
        raise ShapeError(
            f"{b.layer}: sparsemax over {count} elements is not supported; at most"
            f" {INLINE_ELEMENTS}"
        )
    own = b.op("Reshape", [x], {"shape": (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :])})
    other = b.op("Reshape", [x], {"shape": (*x.shape[:axis], 1, *x.shape[axis:])})
    places = [
        b.constant(
            np.arange(count, dtype="int32").reshape(*shape, *(1,) * (x.type.rank - axis - 1))
        )
        for shape in ((-1, 1), (1, -1))
    ]
    tied = b.op("And", [b.op("Equal", [other, own]), b.op("LessEqual", [places[1], places[0]])])
    before = b.op("Or", [b.op("Greater", [other, own]), tied])
    zero, attrs = b.constant(0.0, x.dtype), {"axes": (axis + 1,), "keepdims": False}
    rank = b.op("ReduceSum", [b.op("Cast", [before], {"dtype": x.dtype})], attrs)
    partial = b.op("ReduceSum", [b.op("Where", [before, other, zero])], attrs)
    support = b.op("Greater", [x * rank, partial - 1.0])
    attrs = {"axes": (axis,), "keepdims": True}
    size = b.op("ReduceSum", [b.op("Cast", [support], {"dtype": x.dtype})], attrs)
    total = b.op("ReduceSum", [b.op("Where", [support, partial, zero])], attrs)
    return b.op("Relu", [x - (total - 1.0) / size])


def prelu(b: GraphBuilder, x: Tensor, slope: Tensor) -> Tensor:
    """x where it is not negative, slope * x elsewhere. The slope broadcasts to x."""
    is_negative = b.binary("Less", x, 0.0)
    return b.op("Where", [is_negative, b.op("Mul", [x, slope]), x], order=x.order)


def hard_swish(b: GraphBuilder, x: Tensor) -> Tensor:
    return x * hard_sigmoid(b, x, 1 / 6)


def scaled_elu(b: GraphBuilder, x: Tensor, alpha: float, gamma: float) -> Tensor:
    """gamma x if x > 0, gamma alpha (exp(x) - 1) elsewhere."""
    return b.op("Elu", [x], {"alpha": alpha}) * gamma


def stepwise_softmax(b: GraphBuilder, op: str, x: Tensor, axis: int) -> Tensor:
    """Softmax or LogSoftmax. In float16, each step is rounded, as in the function body of ONNX."""
    if x.dtype != "float16":
        return b.op(op, [x], {"axis": axis})
    shifted = b.op("Sub", [x, b.op("ReduceMax", [x], {"axes": (axis,), "keepdims": True})])
    powers = b.op("Exp", [shifted])
    total = b.op("ReduceSum", [powers], {"axes": (axis,), "keepdims": True})
    return (
        b.op("Div", [powers, total])
        if op == "Softmax"
        else b.op("Sub", [shifted, b.op("Log", [total])])
    )
