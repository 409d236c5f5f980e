"""Caffe's pooling: the number of windows is rounded up, no window starts in the trailing padding,
and averages include padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import Shape, Size, floordiv, is_symbolic, minimum
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.normalization import local_response_norm
from webkiln.ops.pieces import cast, part, reshaped, sized


@dataclass(frozen=True, slots=True)
class Pooled:
    """Window parameters, one entry per spatial axis. `counts` are the numbers of windows."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pad: tuple[int, ...]
    counts: Shape


def pooling(call: NodeCall) -> list[Tensor]:
    """Pool. A second top is the indices of the maxima within their channels."""
    x = call.tensor(0)
    if x.type.rank != 4:
        raise call.error(f"reads {list(x.shape)}; pooling is over the last two of four axes")
    if call.attr("global_pooling"):
        if call.is_output_used(1):
            raise call.unsupported("returns indices of a global pooling", "Remove the second top")
        op = {"MAX": "ReduceMax", "AVE": "ReduceMean"}.get(call.attr("pool"))
        if op is None:
            raise _stochastic(call)
        return [call.op(op, [x], {"axes": (2, 3), "keepdims": True})]
    kernel, stride, pad = (
        _pair(call, *names)
        for names in (("kernel", "kernel_size"), ("stride", "stride"), ("pad", "pad"))
    )
    if any(size < 1 for size in (*kernel, *stride)) or any(
        before >= size for before, size in zip(pad, kernel, strict=True)
    ):
        raise call.error(
            f"its kernel is {list(kernel)}, its stride {list(stride)}, its padding {list(pad)};"
            " padding must be less than the kernel"
        )
    up = call.attr("round_mode") == "CEIL" and call.attr("ceil_mode")
    rows = zip(x.shape[2:], kernel, stride, pad, strict=True)
    counts = tuple(_count(call, *row, padded=any(pad), up=up) for row in rows)
    return pooled(call, x, Pooled(kernel, stride, pad, counts), call.attr("pool"))


def _pair(call: NodeCall, stem: str, name: str) -> tuple[int, int]:
    """Height and width by name, or one number for both."""
    both = int(call.attr(name) or 0)
    return tuple(
        both if (size := call.attr(f"{stem}_{letter}")) is None else int(size)
        for letter in ("h", "w")
    )  # type: ignore[return-value]


def _count(
    call: NodeCall, size: Size, kernel: Size, stride: Size, pad: int, *, padded: bool, up: bool
) -> Size:
    room = size + 2 * pad - kernel
    if not is_symbolic(room) and room < 0:
        raise call.error(
            f"its kernel of {kernel} is larger than the {size + 2 * pad} elements of its operand"
        )
    count = floordiv(room + (stride - 1 if up else 0), stride) + 1
    limit = floordiv(size + pad + stride - 1, stride)
    if padded:
        return minimum(count, limit)
    if up and kernel < stride and (is_symbolic(size) or count > limit):
        raise call.unsupported(
            f"may have a window past the last element (kernel {kernel}, stride {stride})",
            "Pad the blob",
        )
    return count


def pooled(call: NodeCall, x: Tensor, windows: Pooled, kind: str) -> list[Tensor]:
    y = {"MAX": _largest, "AVE": _average}.get(kind)
    if y is None:
        raise _stochastic(call)
    return y(call, x, windows)


def _stochastic(call: NodeCall) -> Exception:
    return call.unsupported("uses random pooling", "Use MAX or AVE")


def _reach(x: Tensor, windows: Pooled) -> Shape:
    """How far windows reach past the padded axis; for dynamic sizes, an upper bound."""
    rows = zip(
        x.shape[2:], windows.kernel, windows.stride, windows.pad, windows.counts, strict=True
    )
    return tuple(
        (
            stride - 1
            if is_symbolic(size)
            else max((count - 1) * stride + kernel - (size + 2 * pad), 0)
        )
        for size, kernel, stride, pad, count in rows
    )


def _attrs(windows: Pooled, low: Sequence[int], high: Sequence[Size]) -> dict[str, Any]:
    return {
        "axes": (2, 3),
        "window": windows.kernel,
        "strides": windows.stride,
        "dilation": (1, 1),
        "pad_low": tuple(low),
        "pad_high": tuple(high),
    }


def _first(call: NodeCall, y: Tensor, counts: Sequence[Size]) -> Tensor:
    for axis, count in enumerate(counts, 2):
        y = part(call.builder, y, axis, 0, count)
    return y


def _largest(call: NodeCall, x: Tensor, windows: Pooled) -> list[Tensor]:
    high = tuple(pad + more for pad, more in zip(windows.pad, _reach(x, windows), strict=True))
    attrs = _attrs(windows, windows.pad, high)
    outputs = [_first(call, call.op("MaxPool", [x], attrs), windows.counts)]
    if call.is_output_used(1):
        indices = _first(call, call.op("MaxPoolIndex", [x], attrs), windows.counts)
        plane = sized(call.builder, prod(x.shape[2:]), "int32")
        outputs.append(cast(call.builder, call.op("Rem", [indices, plane]), x.dtype))
    return outputs


def _average(call: NodeCall, x: Tensor, windows: Pooled) -> list[Tensor]:
    """Average over windows. Elements past the trailing padding are not counted."""
    reach = _reach(x, windows)
    if not any(reach):
        attrs = _attrs(windows, windows.pad, windows.pad) | {"count_include_pad": True}
        return [_first(call, call.op("AvgPool", [x], attrs), windows.counts)]
    padded = (
        call.op("Pad", [x], {"low": (0, 0, *windows.pad), "high": (0, 0, *windows.pad)})
        if any(windows.pad)
        else x
    )
    return [
        _first(call, call.op("AvgPool", [padded], _attrs(windows, (0, 0), reach)), windows.counts)
    ]


def pyramid(call: NodeCall) -> Tensor:
    """Pool into 1, 2 x 2, 4 x 4, ... windows, and concatenate."""
    x, height = call.tensor(0), call.attr("pyramid_height") or 0
    if x.type.rank != 4 or height < 1 or height > 12:
        raise call.error(
            f"has {height} levels over {list(map(str, x.shape))}; expected 1 to 12 over four axes"
        )
    if any(map(is_symbolic, x.shape[2:])):
        raise call.unsupported(
            "divides axes of dynamic size into windows", "Set the sizes with --input-shape"
        )
    levels = []
    for level in range(height):
        bins = 2**level
        kernel = tuple(-(-size // bins) for size in x.shape[2:])
        pad = tuple(
            (width * bins - size + 1) // 2 for width, size in zip(kernel, x.shape[2:], strict=True)
        )
        if any(before >= width for before, width in zip(pad, kernel, strict=True)):
            raise call.error(
                f"its level {level} has {bins} windows over"
                f" {list(x.shape[2:])}, which has too few elements"
            )
        rows = zip(x.shape[2:], kernel, pad, strict=True)
        counts = tuple(
            _count(call, size, width, width, before, padded=any(pad), up=True)
            for size, width, before in rows
        )
        y = pooled(call, x, Pooled(kernel, kernel, pad, counts), call.attr("pool"))[0]
        levels.append(
            y if height == 1 else reshaped(call.builder, y, (x.shape[0], prod(y.shape[1:])))
        )
    return levels[0] if height == 1 else call.op("Concat", levels, {"axis": 1})


def response_norm(call: NodeCall) -> Tensor:
    """Across channels, or within each channel, where k is 1."""
    x, size = call.tensor(0), call.attr("local_size")
    across = call.attr("norm_region") == "ACROSS_CHANNELS"
    if size % 2 != 1 or x.type.rank != 4:
        raise call.error(
            f"has a local size of {size} over {list(map(str, x.shape))}; expected an odd one over"
            " four axes"
        )
    return local_response_norm(
        call.builder,
        x,
        dict.fromkeys((1,) if across else (2, 3), size),
        alpha=call.attr("alpha"),
        beta=call.attr("beta"),
        bias=call.attr("k") if across else 1.0,
    )


def unpooled(call: NodeCall) -> Tensor:
    """With one bottom, repeat each element; with two, write each element at the index in the
    second, and zeros elsewhere.
    """
    x = call.tensor(0)
    if len(call) == 1:
        scale = call.attr("scale")
        for axis in (2, 3):
            attrs = {
                "axis": axis,
                "size": x.shape[axis] * scale,
                "scale": 1,
                "start": 0,
                "unit": scale,
                "mode": "nearest",
                "rounding": "floor",
            }
            x = call.op("Interpolate", [x], attrs)
        return x
    n, c, h, w = x.shape
    height, width = (
        call.attr(f"upsample_{name}")
        or size * (call.attr(f"scale_{name}") or call.attr("scale"))
        - int(call.attr(f"pad_out_{name}"))
        for name, size in (("h", h), ("w", w))
    )
    flat = call.op("Broadcast", [call.like(0, x)], {"shape": (n, c, height * width)})
    indices = cast(call.builder, reshaped(call.builder, call.tensor(1), (n, c, h * w)), "int32")
    filled = call.op(
        "ScatterElements", [flat, indices, reshaped(call.builder, x, (n, c, h * w))], {"axis": 2}
    )
    return reshaped(call.builder, filled, (n, c, height, width))


POOL: dict[str, NodeHandler] = {
    "Pooling": pooling,
    "SPP": pyramid,
    "LRN": response_norm,
    "Upsample": unpooled,
}
