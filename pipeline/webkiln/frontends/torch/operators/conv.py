"""Convolutions and pooling. Channels are first, with or without a batch."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.frontends.torch.operators.windows import padded
from webkiln.ir.dim import Size, is_symbolic, maximum
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import pooling
from webkiln.ops.functional.pooling import Windows
from webkiln.ops.pieces import iota, reshaped, sized
from webkiln.ops.transposed_conv import transposed_conv

S = TypeVar("S", int, Size)


def spread(values: Sequence[S], count: int) -> tuple[S, ...]:
    """One value per axis. A single value applies to all axes; an empty list stays empty."""
    return tuple(values) * count if len(values) == 1 else tuple(values)


def with_batch(c: AtenCall, x: Tensor, count: int) -> tuple[Tensor, bool]:
    alone = x.type.rank == count + 1
    return (reshaped(c.b, x, (1, *x.shape)) if alone else x), alone


def without_batch(c: AtenCall, x: Tensor, alone: bool) -> Tensor:
    return reshaped(c.b, x, x.shape[1:]) if alone else x


def convolved(
    c: AtenCall, *, transposed: bool, padding: Sequence[Size], more: Sequence[Size] = (0,)
) -> Tensor:
    w, bias = c.tensor("weight"), c.optional("bias")
    count = w.type.rank - 2
    x, alone = with_batch(c, c.tensor("input"), count)
    pads = spread(padding, count)
    strides, dilation = (spread(c.integers(name), count) for name in ("stride", "dilation"))
    groups = c.get("groups", 1)
    if transposed:
        extra = spread(more, count)
        y = transposed_conv(c.b, x, w, bias, strides, dilation, pads, pads, extra, groups)
    else:
        windows = Windows(tuple(w.shape[2:]), strides, dilation, pads, pads)
        y = pooling.conv(c.b, x, w, bias, windows, groups)
    return without_batch(c, y, alone)


def convolution(c: AtenCall) -> Tensor:
    return convolved(
        c,
        transposed=bool(c.get("transposed", False)),
        padding=c.sizes("padding"),
        more=c.sizes("output_padding"),
    )


def conv(c: AtenCall) -> Tensor:
    """The padding may be "same" or "valid"."""
    word = c["padding"]
    if not isinstance(word, str):
        return convolved(c, transposed=False, padding=c.sizes("padding"))
    if word == "valid":
        return convolved(c, transposed=False, padding=(0,))
    w = c.tensor("weight")
    count = w.type.rank - 2
    dilation = spread(c.integers("dilation"), count)
    totals = [gap * (width - 1) for gap, width in zip(dilation, w.shape[2:], strict=True)]
    x, alone = with_batch(c, c.tensor("input"), count)
    low = tuple(total // 2 for total in totals)
    high = tuple(total - before for total, before in zip(totals, low, strict=True))
    windows = Windows(tuple(w.shape[2:]), (1,) * count, dilation, low, high)
    y = pooling.conv(c.b, x, w, c.optional("bias"), windows, c.get("groups", 1))
    return without_batch(c, y, alone)


def conv_transpose(c: AtenCall) -> Tensor:
    return convolved(c, transposed=True, padding=c.sizes("padding"), more=c.sizes("output_padding"))


def pooled(c: AtenCall, count: int) -> tuple[Tensor, bool, Windows]:
    x, alone = with_batch(c, c.tensor(), count)
    window = spread(c.integers("kernel_size"), count)
    pads = spread(c.sizes("padding"), count)
    strides = spread(c.integers("stride") if c["stride"] else window, count)
    dilation = spread(c.integers("dilation"), count) if c.has("dilation") else (1,) * count
    if len(window) != count or len(strides) != count or len(pads) != count:
        raise c.error(f"kernel, strides and pads do not fit the {count} spatial axes")
    return x, alone, Windows(window, strides, dilation, pads, pads)


def average_pool(count: int) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x, alone, windows = pooled(c, count)
        divisor, ceil_mode = c["divisor_override"], bool(c.get("ceil_mode", False))
        if divisor is None:
            include = bool(c.get("count_include_pad", True))
            y = pooling.average_pool(
                c.b, x, windows, ceil_mode=ceil_mode, count_include_pad=include
            )
            return without_batch(c, y, alone)
        wide = padded(c, x, [0, 0, *windows.low], [0, 0, *windows.high])
        if ceil_mode:
            raise c.unsupported("has both divisor_override and ceil_mode", "Leave one of them out")
        none = (0,) * count
        mean = pooling.average_pool(
            c.b,
            wide,
            replace(windows, low=none, high=none),
            ceil_mode=False,
            count_include_pad=False,
        )
        return without_batch(c, mean * (prod(windows.window) / divisor), alone)

    return handler


def max_pool_handler(count: int, *, indices: bool) -> AtenHandler:
    """Max pooling. Indices are relative to the element's channel."""

    def handler(c: AtenCall) -> Tensor | list[Tensor]:
        x, alone, windows = pooled(c, count)
        y, *positions = pooling.max_pool(
            c.b,
            x,
            windows,
            ceil_mode=bool(c.get("ceil_mode", False)),
            indices=c.call.is_output_used(1),
        )
        if not (indices and positions):
            return [without_batch(c, y, alone)]
        plane = c.op("Mod", positions[0], c.scalar(prod(x.shape[2:]), "int64"))
        return [without_batch(c, item, alone) for item in (y, plane)]

    return handler


def unpool(count: int) -> AtenHandler:
    """Indices within channels become indices in the tensor."""

    def handler(c: AtenCall) -> Tensor:
        x, alone = with_batch(c, c.tensor(), count)
        indices, _ = with_batch(c, c.tensor("indices"), count)
        sizes = c.sizes("output_size")
        n, channels = x.shape[:2]
        base = reshaped(c.b, iota(c.b, n * channels, "int64") * 1, (n, channels, *[1] * count))
        flat = c.op("Add", indices, c.op("Mul", base, c.scalar(prod(sizes), "int64")))
        flat = c.op("Broadcast", c.like(0, x), shape=(prod((n, channels, *sizes)),))
        filled = c.op(
            "ScatterElements",
            flat,
            reshaped(c.b, flat, (x.type.size,)),
            reshaped(c.b, x, (x.type.size,)),
            axis=0,
        )
        return without_batch(c, reshaped(c.b, filled, (n, channels, *sizes)), alone)

    return handler


def adaptive(c: AtenCall, x: Tensor, axis: int, out: Size, *, mean: bool) -> Tensor:
    """Adaptive windows from floor(i size / out) to ceil((i + 1) size / out) of one axis, whose
    lengths may differ.
    """
    size = x.shape[axis]
    if not is_symbolic(size) and size == out:
        return x
    if not is_symbolic(out) and out == 1:
        return c.op("ReduceMean" if mean else "ReduceMax", x, axes=(axis,), keepdims=True)
    width = size // out
    if width * out == size:
        attrs = {
            "axes": (axis,),
            "window": (width,),
            "strides": (width,),
            "dilation": (1,),
            "pad_low": (0,),
            "pad_high": (0,),
        }
        if not is_symbolic(width):
            return c.op("AvgPool" if mean else "MaxPool", x, **attrs)
        windows = reshaped(c.b, x, (*x.shape[:axis], out, width, *x.shape[axis + 1 :]))
        return c.op("ReduceMean" if mean else "ReduceMax", windows, axes=(axis + 1,))
    numbers, length = iota(c.b, out, "int32"), sized(c.b, size, "int32")
    first = c.op("FloorDiv", c.op("Mul", numbers, length), sized(c.b, out, "int32"))
    ahead = c.op("Mul", numbers + 1, length)
    end = -c.op("FloorDiv", -ahead, sized(c.b, out, "int32"))
    reach = maximum([width + 2, 1])
    taps = c.op("Add", reshaped(c.b, first, (out, 1)), iota(c.b, reach, "int32"))
    last = reshaped(c.b, end, (out, 1))
    read = c.op("Gather", x, c.op("Min", taps, last - 1), axis=axis)
    if not mean:
        return c.op("ReduceMax", read, axes=(axis + 1,))
    inside = reshaped(c.b, c.op("Less", taps, last), (out, reach, *[1] * (x.type.rank - axis - 1)))
    summed = c.op("ReduceSum", c.op("Where", inside, read, c.like(0, x)), axes=(axis + 1,))
    count = reshaped(c.b, c.op("Sub", end, first), (out, *[1] * (x.type.rank - axis - 1)))
    return c.op("Div", summed, c.cast(count, x.dtype))


def adaptive_pool(count: int, *, mean: bool) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor | list[Tensor]:
        x, alone = with_batch(c, c.tensor(), count)
        output_sizes = spread(tuple(size for size in c["output_size"]), count)
        if not mean and c.call.is_output_used(1):
            raise c.unsupported(
                "returns the indices of the maxima",
                "Only the maxima are supported; use max_pool with return_indices",
            )
        for axis, out in enumerate(output_sizes, 2):
            x = x if out is None else adaptive(c, x, axis, out, mean=mean)
        y = without_batch(c, x, alone)
        return y if mean else [y]

    return handler


CONV: dict[str, AtenHandler] = {
    "convolution": convolution,
    "_convolution": convolution,
    **{f"conv{d}d": conv for d in (1, 2, 3)},
    "_convolution_mode": conv,
    **{f"conv_transpose{d}d": conv_transpose for d in (1, 2, 3)},
    **{f"avg_pool{d}d": average_pool(d) for d in (1, 2, 3)},
    **{f"max_pool{d}d": max_pool_handler(d, indices=False) for d in (1, 2, 3)},
    **{f"max_pool{d}d_with_indices": max_pool_handler(d, indices=True) for d in (1, 2, 3)},
    **{f"max_unpool{d}d": unpool(d) for d in (2, 3)},
    **{
        f"{name}adaptive_avg_pool{d}d": adaptive_pool(d, mean=True)
        for d in (1, 2, 3)
        for name in ("", "_")
    },
    **{f"adaptive_max_pool{d}d": adaptive_pool(d, mean=False) for d in (1, 2, 3)},
}
