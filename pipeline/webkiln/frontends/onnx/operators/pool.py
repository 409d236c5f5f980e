"""Pooling over the spatial axes, which follow batch and channels."""

from collections.abc import Sequence
from math import prod
from typing import Any

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.shape import reshaped
from webkiln.frontends.onnx.operators.windows import Windows, windows
from webkiln.ir.dim import floordiv, maximum
from webkiln.ir.rational import positive
from webkiln.ops.builder import Tensor


def pool_windows(call: NodeCall, x: Tensor) -> Windows:
    return windows(call, x.shape[2:], call.attr("kernel_shape"))


def ceil_padding(call: NodeCall, x: Tensor, windows_: Windows) -> tuple[int, ...]:
    """The padding after each axis that `ceil_mode` adds for the last windows. No window starts in
    the trailing padding.
    """
    if not call.attr("ceil_mode", 0):
        return (0,) * len(windows_.window)
    result = []
    rows = zip(
        x.shape[2:],
        windows_.window,
        windows_.strides,
        windows_.dilation,
        windows_.low,
        windows_.high,
        strict=True,
    )
    for size, window, stride, dilation, low, high in rows:
        room = size + low + high - ((window - 1) * dilation + 1)
        count = -floordiv(-room, stride) + 1
        count -= positive((count - 1) * stride - (size + low) + 1)
        result.append(maximum([(count - 1) * stride - room, 0]))
    return tuple(result)


def pool_attributes(x: Tensor, windows_: Windows, extra: Sequence[int]) -> dict[str, Any]:
    return {
        "axes": tuple(range(2, x.type.rank)),
        "window": windows_.window,
        "strides": windows_.strides,
        "dilation": windows_.dilation,
        "pad_low": windows_.low,
        "pad_high": tuple(high + added for high, added in zip(windows_.high, extra, strict=True)),
    }


def max_pool(call: NodeCall) -> list[Tensor]:
    """The maximum of each window, and its flat index: row-major in the entire tensor, or with
    `storage_order` 1 column-major in the spatial axes.
    """
    x = call.tensor(0)
    windows_ = pool_windows(call, x)
    attrs = pool_attributes(x, windows_, ceil_padding(call, x, windows_))
    y = call.op("MaxPool", [x], attrs)
    if not call.is_output_used(1):
        return [y]
    return [
        y,
        cast(
            call,
            call.op(
                "MaxPoolIndex", [x], attrs | {"column_major": bool(call.attr("storage_order", 0))}
            ),
            "int64",
        ),
    ]


def average_pool(call: NodeCall) -> Tensor:
    return average_pool_of(call, call.tensor(0))


def average_pool_of(call: NodeCall, x: Tensor) -> Tensor:
    """Padding counts if `count_include_pad` is set; the padding that `ceil_mode` adds does not."""
    windows_ = pool_windows(call, x)
    extra = ceil_padding(call, x, windows_)
    if call.attr("count_include_pad", 0) and any((*windows_.low, *windows_.high)):
        attrs = {"low": (0, 0, *windows_.low), "high": (0, 0, *windows_.high)}
        wide = call.op("Pad", [x], attrs)
        none = (0,) * len(windows_.window)
        return call.op(
            "AvgPool",
            [wide],
            pool_attributes(
                wide,
                Windows(windows_.window, windows_.strides, windows_.dilation, none, none),
                extra,
            ),
        )
    return call.op("AvgPool", [x], pool_attributes(x, windows_, extra))


def lp_pool(call: NodeCall) -> Tensor:
    x, p = call.tensor(0), call.attr("p", 2)
    windows_ = pool_windows(call, x)
    powers = power(call, call.op("Abs", [x]), p)
    attrs = pool_attributes(x, windows_, ceil_padding(call, x, windows_)) | {
        "count_include_pad": True
    }
    return power(call, call.op("AvgPool", [powers], attrs) * prod(windows_.window), 1 / p)


def power(call: NodeCall, x: Tensor, p: float) -> Tensor:
    """x**p of non-negative x."""
    if p in (1, 2):
        return x if p == 1 else x * x
    return call.op("Sqrt", [x]) if p == 0.5 else call.op("Pow", [x, call.like(float(p), x)])


def spatial(call: NodeCall, op: str, x: Tensor) -> Tensor:
    return call.op(op, [x], {"axes": tuple(range(2, x.type.rank)), "keepdims": True})


def global_pool(op: str) -> NodeHandler:
    return lambda call: spatial(call, op, call.tensor(0))


def global_lp_pool(call: NodeCall) -> Tensor:
    p = call.attr("p", 2)
    return power(
        call, spatial(call, "ReduceSum", power(call, call.op("Abs", [call.tensor(0)]), p)), 1 / p
    )


def max_unpool(call: NodeCall) -> Tensor:
    """Write each element to its index in the tensor before pooling; other elements are 0."""
    x, indices = call.tensor(0), call.tensor(1)
    count = x.type.rank - 2
    window, strides = call.attr("kernel_shape"), call.attr("strides") or (1,) * count
    pads = call.attr("pads") or (0,) * 2 * count
    sizes = [
        (size - 1) * stride - before - after + width
        for size, stride, width, before, after in zip(
            x.shape[2:], strides, window, pads[:count], pads[count:], strict=True
        )
    ]
    unpooled_shape = (*x.shape[:2], *sizes)
    output_shape = call.sizes(2) if call.has(2) else unpooled_shape
    flat = call.op("Broadcast", [call.like(0, x)], {"shape": (prod(unpooled_shape),)})
    operands = [flat, reshaped(call, indices, (x.type.size,)), reshaped(call, x, (x.type.size,))]
    filled = reshaped(call, call.op("ScatterElements", operands, {"axis": 0}), unpooled_shape)
    missing = tuple(
        size - unpooled for size, unpooled in zip(output_shape, unpooled_shape, strict=True)
    )
    return (
        call.op("Pad", [filled], {"low": (0,) * len(unpooled_shape), "high": missing})
        if any(missing)
        else filled
    )


POOL: dict[str, NodeHandler] = {
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "LpPool": lp_pool,
    "GlobalMaxPool": global_pool("ReduceMax"),
    "GlobalAveragePool": global_pool("ReduceMean"),
    "GlobalLpPool": global_lp_pool,
    "MaxUnpool": max_unpool,
}
