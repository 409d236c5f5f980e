"""Windows over the spatial axes of images in terms of data format, padding, strides and dilation,
and convolutions.
"""

from collections.abc import Sequence
from typing import Any

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, maximum
from webkiln.ops.builder import GraphBuilder, Tensor

Pads = Sequence[tuple[Size, Size]]
"""(low, high) for each spatial axis."""
CAUSAL = ("valid", "same", "causal")
PADDING = ("valid", "same")
PerAxis = int | Sequence[int]


def checked_padding(b: GraphBuilder, padding: str) -> str:
    if padding not in PADDING:
        raise ShapeError(
            f"{b.layer}: padding {padding!r} is not supported; use {' or '.join(PADDING)}"
        )
    return padding


def dims_of(data_format: str | None, rank: int) -> tuple[int, ...]:
    """(batch, feature, *spatial)."""
    return (
        (0, 1, *range(2, rank))
        if data_format == "channels_first"
        else (0, rank - 1, *range(1, rank - 1))
    )


def sizes(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    return (value,) * count if isinstance(value, int) else tuple(value)


def spans(window: Sequence[Size], dilation: Sequence[int]) -> list[Size]:
    """The extent of a dilated window along each axis."""
    return [(size - 1) * gap + 1 for size, gap in zip(window, dilation, strict=True)]


def padding_of(
    kind: str,
    size: Sequence[Size],
    window: Sequence[Size],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> Pads:
    """The padding of `valid`, `same` (the odd one is high) and `causal`."""
    reaches = spans(window, dilation)
    if kind == "valid":
        return [(0, 0)] * len(size)
    if kind == "causal":
        return [(span - 1, 0) for span in reaches]
    totals = [
        maximum([((n - 1) // s) * s + span - n, 0])
        for n, s, span in zip(size, strides, reaches, strict=True)
    ]
    return [(total // 2, total - total // 2) for total in totals]


def pads(pairs: Pads) -> dict[str, Any]:
    return {"pad_low": tuple(low for low, _ in pairs), "pad_high": tuple(high for _, high in pairs)}


def plain(count: int) -> dict[str, Any]:
    """No strides, dilation and padding."""
    return {"strides": (1,) * count, "dilation": (1,) * count} | pads([(0, 0)] * count)


def window_of(
    x: Tensor,
    kernel: Sequence[Size],
    data_format: str | None,
    kind: str,
    strides: int | Sequence[int],
    dilation: int | Sequence[int],
) -> dict[str, Any]:
    """Strides, dilation and padding of a window with sizes `kernel` over x."""
    spatial = dims_of(data_format, x.type.rank)[2:]
    steps, gaps = sizes(strides, len(spatial)), sizes(dilation, len(spatial))
    return {"strides": steps, "dilation": gaps} | pads(
        padding_of(kind, [x.shape[axis] for axis in spatial], kernel, steps, gaps)
    )


def convolved(
    b: GraphBuilder,
    x: Tensor,
    kernel: Tensor,
    data_format: str | None,
    groups: Size,
    attrs: dict[str, Any],
    bias: Sequence[Tensor] = (),
) -> Tensor:
    """x convolved with a kernel [*window, in / groups, out]."""
    rank = x.type.rank
    dims = dims_of(data_format, rank)
    order = {
        "x_dims": dims,
        "w_dims": (rank - 1, rank - 2, *range(rank - 2)),
        "out_dims": dims,
        "groups": groups,
    }
    return b.op("Conv", [x, kernel, *bias], order | attrs)


def by_channel(b: GraphBuilder, kernel: Tensor) -> Tensor:
    """A depthwise kernel [*window, in, multiplier] as that of a grouped convolution."""
    *window, channels, multiplier = kernel.shape
    return b.op("Reshape", [kernel], {"shape": (*window, 1, channels * multiplier)})


def transposed(
    b: GraphBuilder,
    x: Tensor,
    kernel: Tensor,
    data_format: str | None,
    kind: str,
    strides: Sequence[int],
    dilation: Sequence[int],
    extra: int | Sequence[int | None] | None,
) -> tuple[Tensor, dict[str, Any]]:
    """The kernel [*window, out, in] and the attributes of the transposed convolution as a
    convolution; `extra` is `output_padding`.
    """
    window, rank = kernel.shape[:-2], x.type.rank
    turned = {
        "starts": (*(size - 1 for size in window), 0, 0),
        "sizes": kernel.shape,
        "steps": (*(-1,) * len(window), 1, 1),
    }
    kernel = b.op(
        "Transpose",
        [b.op("Slice", [kernel], turned)],
        {"perm": (*range(rank - 2), rank - 1, rank - 2)},
    )
    extras = (extra,) * len(window) if extra is None or isinstance(extra, int) else tuple(extra)
    pairs = []
    for axis, span, stride, more in zip(
        dims_of(data_format, rank)[2:], spans(window, dilation), strides, extras, strict=True
    ):
        reach = (x.shape[axis] - 1) * stride
        if kind == "valid":
            out = reach + span + (max(stride - span, 0) if more is None else more)
        else:
            out = reach + stride if more is None else reach + span % 2 + more
        cut = max(reach + span - out, 0) // 2 if kind == "same" else 0
        pairs.append((span - 1 - cut, out + cut - 1 - reach))
    return kernel, plain(len(window)) | {
        "dilation": tuple(dilation),
        "x_dilation": tuple(strides),
    } | pads(pairs)
