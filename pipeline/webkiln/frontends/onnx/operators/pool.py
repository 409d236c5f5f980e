"""Pooling over the axes behind batch and channels."""

from collections.abc import Sequence
from math import prod
from typing import Any

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.shape import reshaped
from webkiln.frontends.onnx.operators.windows import Windows, windows
from webkiln.ir.dim import floordiv, is_symbolic
from webkiln.ops.builder import Tensor


def pool_windows(call: NodeCall, x: Tensor) -> Windows:
    return windows(call, x.shape[2:], call.attr("kernel_shape"))


def ceil_padding(call: NodeCall, x: Tensor, place: Windows) -> tuple[int, ...]:
    """How far the last windows reach behind the padded axis where their number is rounded up; none
    begins in the padding behind.
    """
    if not call.attr("ceil_mode", 0):
        return (0,) * len(place.window)
    result = []
    rows = zip(
        x.shape[2:], place.window, place.strides, place.dilation, place.low, place.high, strict=True
    )
    for size, window, stride, gap, low, high in rows:
        room = size + low + high - ((window - 1) * gap + 1)
        count = -floordiv(-room, stride) + 1
        if is_symbolic(count):
            raise call.unsupported(
                "rounds the number of windows up over an axis of open size",
                "Give the size with --dim",
            )
        if (count - 1) * stride >= size + low:
            count -= 1
        result.append(max((count - 1) * stride - room, 0))
    return tuple(result)


def pool_attributes(x: Tensor, place: Windows, extra: Sequence[int]) -> dict[str, Any]:
    return {
        "axes": tuple(range(2, x.type.rank)),
        "window": place.window,
        "strides": place.strides,
        "dilation": place.dilation,
        "pad_low": place.low,
        "pad_high": tuple(high + more for high, more in zip(place.high, extra, strict=True)),
    }


def max_pool(call: NodeCall) -> list[Tensor]:
    """The largest element of each window, and its place: in the whole tensor, row-major, or with
    `storage_order` 1 in its last axes column-major.
    """
    x = call.tensor(0)
    place = pool_windows(call, x)
    attrs = pool_attributes(x, place, ceil_padding(call, x, place))
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
    """Padding counts where asked for; what lies behind it, for the last windows, does not."""
    place = pool_windows(call, x)
    extra = ceil_padding(call, x, place)
    if call.attr("count_include_pad", 0) and any((*place.low, *place.high)):
        attrs = {"low": (0, 0, *place.low), "high": (0, 0, *place.high)}
        wide = call.op("Pad", [x], attrs)
        none = (0,) * len(place.window)
        return call.op(
            "AvgPool",
            [wide],
            pool_attributes(
                wide, Windows(place.window, place.strides, place.dilation, none, none), extra
            ),
        )
    return call.op("AvgPool", [x], pool_attributes(x, place, extra))


def lp_pool(call: NodeCall) -> Tensor:
    x, p = call.tensor(0), call.attr("p", 2)
    place = pool_windows(call, x)
    powers = power(call, call.op("Abs", [x]), p)
    attrs = pool_attributes(x, place, ceil_padding(call, x, place)) | {"count_include_pad": True}
    return power(call, call.op("AvgPool", [powers], attrs) * prod(place.window), 1 / p)


def power(call: NodeCall, x: Tensor, p: float) -> Tensor:
    """x**p of what is not negative."""
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
    """Each element goes to its place in what was pooled, zeros elsewhere and behind that."""
    x, places = call.tensor(0), call.tensor(1)
    count = x.type.rank - 2
    window, strides = call.attr("kernel_shape"), call.attr("strides") or (1,) * count
    pads = call.attr("pads") or (0,) * 2 * count
    sizes = [
        (size - 1) * stride - before - after + width
        for size, stride, width, before, after in zip(
            x.shape[2:], strides, window, pads[:count], pads[count:], strict=True
        )
    ]
    whole = (*x.shape[:2], *sizes)
    asked = call.sizes(2) if call.has(2) else whole
    flat = call.op("Broadcast", [call.like(0, x)], {"shape": (prod(whole),)})
    operands = [flat, reshaped(call, places, (x.type.size,)), reshaped(call, x, (x.type.size,))]
    filled = reshaped(call, call.op("ScatterElements", operands, {"axis": 0}), whole)
    missing = tuple(size - own for size, own in zip(asked, whole, strict=True))
    return (
        call.op("Pad", [filled], {"low": (0,) * len(whole), "high": missing})
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
