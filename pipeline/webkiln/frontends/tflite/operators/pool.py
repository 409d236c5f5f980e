"""Pooling, and normalization over channels."""

from typing import Any

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators.fixed import inverse_root
from webkiln.frontends.tflite.operators.fused import activated
from webkiln.frontends.tflite.operators.integers import (
    bounded,
    by_multiplier,
    centred,
    is_quantized,
    more,
    number,
    out_zero,
    result,
    zero,
)
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.windows import window_of
from webkiln.ops.pieces import cast, filled, total

AXES = (1, 2)


def window(call: NodeCall, x: Tensor) -> dict[str, Any]:
    sizes = (call.attr("filter_height"), call.attr("filter_width"))
    strides = (call.attr("stride_h"), call.attr("stride_w"))
    if min(*sizes, *strides) < 1:
        raise call.error(f"the window is {sizes}, strides are {strides}; all must be 1 or more")
    return window_of(x, sizes, None, call.attr("padding").lower(), strides, 1) | {
        "axes": AXES,
        "window": sizes,
    }


def max_pool(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    y = call.op("MaxPool", [x], window(call, x))
    if is_quantized(call):
        low, high = call.attr("range")
        return bounded(call, y, low, high)
    return activated(call, y)


def average_pool(call: NodeCall) -> Tensor:
    """The mean of elements without padding. Integers are rounded to nearest, ties away from 0."""
    x = call.tensor(0)
    attrs = window(call, x)
    if not is_quantized(call):
        return activated(call, call.op("AvgPool", [x], attrs))
    if zero(call) != out_zero(call):
        raise call.error("the zero points of operand and result differ; the file is damaged")
    b = call.builder
    sums = added(call, cast(b, x, "int32"), attrs)
    counts = added(call, filled(b, 1, "int32", (1, *x.shape[1:3], 1)), attrs)
    half = call.op("Div", [counts, number(call, 2)])
    moved = call.op(
        "Where",
        [b.binary("Greater", sums, 0), call.op("Add", [sums, half]), call.op("Sub", [sums, half])],
    )
    return result(call, call.op("Div", [moved, counts]))


def added(call: NodeCall, x: Tensor, attrs: dict[str, Any]) -> Tensor:
    """The sum of each window of integers."""
    channels = x.shape[3]
    ones = filled(call.builder, 1, "int32", (1, *attrs["window"], channels))
    order = {
        "x_dims": (0, 3, 1, 2),
        "w_dims": (3, 0, 1, 2),
        "out_dims": (0, 3, 1, 2),
        "groups": channels,
    }
    return call.op(
        "Conv",
        [x, ones],
        order | {name: attrs[name] for name in ("strides", "dilation", "pad_low", "pad_high")},
    )


def l2_pool(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return activated(call, call.op("Sqrt", [call.op("AvgPool", [x * x], window(call, x))]))


def l2_normalization(call: NodeCall) -> Tensor:
    if is_quantized(call):
        x = centred(call)
        multiplier, shift = inverse_root(
            call, total(call.builder, call.op("Mul", [x, x]), -1, keepdims=True)
        )
        y = by_multiplier(
            call,
            call.op("Mul", [x, number(call, 128)]) if out_zero(call) else x,
            multiplier,
            shift if out_zero(call) else more(call, shift, 7),
        )
        return result(call, more(call, y, out_zero(call)))
    x = call.tensor(0)
    norm = call.op("Sqrt", [total(call.builder, x * x, -1, keepdims=True)])
    return activated(call, call.op("Div", [x, call.builder.binary("Max", norm, 1e-6)]))


def local_response_normalization(call: NodeCall) -> Tensor:
    """x (bias + alpha * the sum of the squares of neighbouring channels) ** -beta."""
    x, radius = call.tensor(0), call.attr("radius")
    attrs = {
        "axes": (x.type.rank - 1,),
        "window": (2 * radius + 1,),
        "strides": (1,),
        "dilation": (1,),
        "pad_low": (radius,),
        "pad_high": (radius,),
        "count_include_pad": True,
    }
    sums = call.op("AvgPool", [x * x], attrs) * float(2 * radius + 1)
    return x * call.op(
        "Pow", [sums * call.attr("alpha") + call.attr("bias"), call.like(-call.attr("beta"), x)]
    )


POOL: dict[str, NodeHandler] = {
    "MAX_POOL_2D": max_pool,
    "AVERAGE_POOL_2D": average_pool,
    "L2_POOL_2D": l2_pool,
    "L2_NORMALIZATION": l2_normalization,
    "LOCAL_RESPONSE_NORMALIZATION": local_response_normalization,
}
