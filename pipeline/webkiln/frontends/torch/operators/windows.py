"""Padding, pixel shuffling and windows."""

from collections.abc import Sequence
from typing import Any

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.overlap import overlapped, unfolded
from webkiln.ops.pieces import part, reshaped, transposed


def constant_pad(c: AtenCall) -> Tensor:
    """Pairs from the last axis to the first. Negative padding crops."""
    x, low, high = c.tensor(), *paddings(c, c.tensor().type.rank, c.sizes("pad"))
    value = c.get("value", 0)
    return padded(c, x, low, high, value)


def paddings(c: AtenCall, rank: int, pad: Sequence[Size]) -> tuple[list[Size], list[Size]]:
    low: list[Size] = [0] * rank
    high: list[Size] = [0] * rank
    for index in range(len(pad) // 2):
        low[rank - 1 - index], high[rank - 1 - index] = pad[2 * index], pad[2 * index + 1]
    return low, high


def padded(
    c: AtenCall,
    x: Tensor,
    low: list[Size],
    high: list[Size],
    value: Any = 0,
    mode: str = "constant",
) -> Tensor:
    for axis, (first, last) in enumerate(zip(low, high, strict=True)):
        cut = [-item if not is_symbolic(item) and item < 0 else 0 for item in (first, last)]
        if any(cut):
            x = part(c.b, x, axis, cut[0], x.shape[axis] - sum(cut))
    before, after = (
        tuple(item if is_symbolic(item) else max(item, 0) for item in items)
        for items in (low, high)
    )
    if not any((*before, *after)):
        return c.op("Identity", x)
    if mode == "constant":
        return c.op("Pad", x, low=before, high=after, value=value)
    return c.op("PadFrom", x, low=before, high=after, mode=mode)


MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(c: AtenCall) -> Tensor:
    return pad_of(c, c.tensor(), c.get("value", 0))


def pad_of(c: AtenCall, x: Tensor, value: Any) -> Tensor:
    """Pad a tensor by the arguments of `pad`."""
    low, high = paddings(c, x.type.rank, c.sizes("pad"))
    mode = c.get("mode", "constant")
    return padded(c, x, low, high, value, mode if mode == "constant" else MODES[mode])


def pad_from(mode: str) -> AtenHandler:
    return lambda c: padded_from(c, c.tensor(), mode)


def padded_from(c: AtenCall, x: Tensor, mode: str) -> Tensor:
    """Pad with elements of the tensor."""
    sizes = c.sizes("padding" if c.has("padding") else "pad")
    return padded(c, x, *paddings(c, x.type.rank, sizes), mode=mode)


PAD_MODES = {
    **{f"reflection_pad{d}d": "reflect" for d in (1, 2, 3)},
    **{f"replication_pad{d}d": "edge" for d in (1, 2, 3)},
    "_pad_circular": "wrap",
}
"""By operators that pad with elements of the tensor."""


def pixel_shuffle(c: AtenCall) -> Tensor:
    x, f = c.tensor(), c.number("upscale_factor")
    *lead, channels, h, w = x.shape
    rank = len(lead)
    blocks = reshaped(c.b, x, (*lead, channels // f**2, f, f, h, w))
    perm = (*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2)
    return reshaped(c.b, transposed(c.b, blocks, perm), (*lead, channels // f**2, h * f, w * f))


def pixel_unshuffle(c: AtenCall) -> Tensor:
    x, f = c.tensor(), c.number("downscale_factor")
    *lead, channels, h, w = x.shape
    rank = len(lead)
    blocks = reshaped(c.b, x, (*lead, channels, h // f, f, w // f, f))
    perm = (*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3)
    return reshaped(c.b, transposed(c.b, blocks, perm), (*lead, channels * f**2, h // f, w // f))


def channel_shuffle(c: AtenCall) -> Tensor:
    x, groups = c.tensor(), c.number("groups")
    n, channels, *rest = x.shape
    blocks = reshaped(c.b, x, (n, groups, channels // groups, *rest))
    return reshaped(c.b, transposed(c.b, blocks, (0, 2, 1, *range(3, 3 + len(rest)))), x.shape)


def unfold(c: AtenCall) -> Tensor:
    """The windows of one axis, with their elements as a new last axis."""
    x = c.tensor()
    axis, size, step = (
        c.axis(c.number("dimension"), x.type.rank),
        c.number("size"),
        c.number("step"),
    )
    wide = unfolded(c.b, x, [axis], [size], [step], [1])
    rank = wide.type.rank
    return transposed(c.b, wide, [*(d for d in range(rank) if d != axis + 1), axis + 1])


def im2col(c: AtenCall) -> Tensor:
    x = c.tensor()
    batched = x.type.rank == 4
    x = x if batched else reshaped(c.b, x, (1, *x.shape))
    kernel, dilation, stride = (c.integers(name) for name in ("kernel_size", "dilation", "stride"))
    padding = c.sizes("padding")
    x = padded(c, x, [0, 0, *padding], [0, 0, *padding])
    wide = unfolded(c.b, x, [2, 3], kernel, stride, dilation)
    n, channels, rows, taps, columns, others = wide.shape
    y = reshaped(
        c.b,
        transposed(c.b, wide, (0, 1, 3, 5, 2, 4)),
        (n, channels * taps * others, rows * columns),
    )
    return y if batched else reshaped(c.b, y, y.shape[1:])


def col2im(c: AtenCall) -> Tensor:
    x = c.tensor()
    batched = x.type.rank == 3
    x = x if batched else reshaped(c.b, x, (1, *x.shape))
    padding = c.sizes("padding")
    y = overlapped(
        c.b,
        x,
        c.sizes("output_size"),
        c.integers("kernel_size"),
        c.integers("stride"),
        c.integers("dilation"),
        padding,
        padding,
    )
    return y if batched else reshaped(c.b, y, y.shape[1:])


WINDOWS: dict[str, AtenHandler] = {
    "constant_pad_nd": constant_pad,
    "pad": pad,
    **{name: pad_from(mode) for name, mode in PAD_MODES.items()},
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "channel_shuffle": channel_shuffle,
    "native_channel_shuffle": channel_shuffle,
    "unfold": unfold,
    "unfold_copy": unfold,
    "im2col": im2col,
    "col2im": col2im,
}
