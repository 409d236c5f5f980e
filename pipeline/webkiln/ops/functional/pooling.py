"""Pooling over the spatial axes, which follow batch and channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.ir.dim import Shape, Size, floordiv, maximum
from webkiln.ir.rational import positive
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast


@dataclass(frozen=True, slots=True)
class Windows:
    """One entry for each spatial axis. `low` and `high` are the padding."""

    window: Shape
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    low: Shape
    high: Shape


def conv(
    b: GraphBuilder, x: Tensor, w: Tensor, bias: Tensor | None, windows: Windows, groups: Size = 1
) -> Tensor:
    """x [N, C, ...] convolved with a kernel [out, C / groups, ...]."""
    attrs = _conv_attributes(x.type.rank, windows, groups)
    return b.op("Conv", [x, w] if bias is None else [x, w, bias], attrs)


def conv_integer(
    b: GraphBuilder, x: Tensor, w: Tensor, zeros: Sequence[Tensor], windows: Windows, groups: Size
) -> Tensor:
    """Integers x [N, C, ...] of 8 bits convolved with a kernel [out, C / groups, ...], minus their
    zero points. It is computed with channels last.
    """
    rank = x.type.rank
    attrs = _conv_attributes(rank, windows, groups) | {
        "out_dims": (0, rank - 1, *range(1, rank - 1))
    }
    y = b.op("ConvInteger", [x, w, *zeros], attrs)
    return b.op("Transpose", [y], {"perm": attrs["out_dims"]})


def _conv_attributes(rank: int, windows: Windows, groups: Size) -> dict[str, Any]:
    """The attributes of a convolution with channels first."""
    dims = tuple(range(rank))
    return {
        "x_dims": dims,
        "w_dims": dims,
        "out_dims": dims,
        "strides": windows.strides,
        "dilation": windows.dilation,
        "pad_low": windows.low,
        "pad_high": windows.high,
        "groups": groups,
    }


def ceil_padding(sizes: Sequence[Size], windows: Windows) -> Shape:
    """The padding after each axis for a last window that is only partly inside, as with
    `ceil_mode`. No window starts in the trailing padding.
    """
    result = []
    rows = zip(
        sizes,
        windows.window,
        windows.strides,
        windows.dilation,
        windows.low,
        windows.high,
        strict=True,
    )
    for size, window, stride, dilation, low, high in rows:
        room = size + low + high - ((window - 1) * dilation + 1)
        count = -floordiv(-room, stride) + 1
        count -= positive((count - 1) * stride - (size + low) + 1)
        result.append(maximum([(count - 1) * stride - room, 0]))
    return tuple(result)


def pool_attributes(x: Tensor, windows: Windows, *, ceil_mode: bool) -> dict[str, Any]:
    extra = ceil_padding(x.shape[2:], windows) if ceil_mode else (0,) * len(windows.window)
    return _attributes(x, windows, extra)


def _attributes(x: Tensor, windows: Windows, extra: Sequence[Size]) -> dict[str, Any]:
    return {
        "axes": tuple(range(2, x.type.rank)),
        "window": windows.window,
        "strides": windows.strides,
        "dilation": windows.dilation,
        "pad_low": windows.low,
        "pad_high": tuple(high + added for high, added in zip(windows.high, extra, strict=True)),
    }


def max_pool(
    b: GraphBuilder,
    x: Tensor,
    windows: Windows,
    *,
    ceil_mode: bool,
    indices: bool = False,
    column_major: bool = False,
) -> list[Tensor]:
    """The maximum of each window and, with `indices`, its flat index: row-major in the entire
    tensor, or with `column_major` column-major in the spatial axes.
    """
    attrs = pool_attributes(x, windows, ceil_mode=ceil_mode)
    y = b.op("MaxPool", [x], attrs)
    if not indices:
        return [y]
    found = b.op("MaxPoolIndex", [x], attrs | {"column_major": column_major})
    return [y, cast(b, found, "int64")]


def average_pool(
    b: GraphBuilder, x: Tensor, windows: Windows, *, ceil_mode: bool, count_include_pad: bool
) -> Tensor:
    """The mean of each window. Padding counts with `count_include_pad`; the padding that
    `ceil_mode` adds does not.
    """
    if not (count_include_pad and any((*windows.low, *windows.high))):
        return b.op("AvgPool", [x], pool_attributes(x, windows, ceil_mode=ceil_mode))
    extra = ceil_padding(x.shape[2:], windows) if ceil_mode else (0,) * len(windows.window)
    wide = b.op("Pad", [x], {"low": (0, 0, *windows.low), "high": (0, 0, *windows.high)})
    none = (0,) * len(windows.window)
    inner = Windows(windows.window, windows.strides, windows.dilation, none, none)
    return b.op("AvgPool", [wide], _attributes(wide, inner, extra))
