"""Pooling over the spatial axes, which follow batch and channels."""

from math import prod

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.shape import reshaped
from webkiln.frontends.onnx.operators.windows import windows
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import pooling
from webkiln.ops.functional.pooling import Windows


def pool_windows(call: NodeCall, x: Tensor) -> Windows:
    return windows(call, x.shape[2:], call.attr("kernel_shape"))


def max_pool(call: NodeCall) -> list[Tensor]:
    """The maximum of each window, and its flat index."""
    x = call.tensor(0)
    return pooling.max_pool(
        call.builder,
        x,
        pool_windows(call, x),
        ceil_mode=call.flag("ceil_mode"),
        indices=call.is_output_used(1),
        column_major=call.flag("storage_order"),
    )


def average_pool(call: NodeCall) -> Tensor:
    return average_pool_of(call, call.tensor(0))


def average_pool_of(call: NodeCall, x: Tensor) -> Tensor:
    return pooling.average_pool(
        call.builder,
        x,
        pool_windows(call, x),
        ceil_mode=call.flag("ceil_mode"),
        count_include_pad=call.flag("count_include_pad"),
    )


def lp_pool(call: NodeCall) -> Tensor:
    x, p = call.tensor(0), call.attr("p", 2)
    windows_ = pool_windows(call, x)
    powers = power(call, call.op("Abs", [x]), p)
    attrs = pooling.pool_attributes(x, windows_, ceil_mode=call.flag("ceil_mode"))
    attrs["count_include_pad"] = True
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
