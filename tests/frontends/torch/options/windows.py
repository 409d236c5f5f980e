"""Options of convolutions, pools, padding and resizing."""

from collections.abc import Iterator
from itertools import product

import torch.nn.functional as F
from torch import Tensor

from tests.frontends.torch.cases import Calls, floats, weights

IMAGE = (floats(2, 4, 7, 8),)
FUNCTIONS = {
    1: (F.conv1d, F.conv_transpose1d),
    2: (F.conv2d, F.conv_transpose2d),
    3: (F.conv3d, F.conv_transpose3d),
}
TAPS, STRIDES, DILATIONS = (2, 3, 4), (2, 1, 3), (1, 3, 2)
"""Values per axis, which differ between the axes."""


def volume(count: int) -> tuple[Tensor]:
    return (floats(2, 4, *(7, 8, 9)[:count]),)


def convolutions(count: int) -> Calls:
    """Padding by number and by name, with kernels of even and odd sizes, dilation, groups, strides
    and a bias.
    """

    def calls(x: Tensor) -> Iterator[Tensor]:
        conv = FUNCTIONS[count][0]
        for groups, taps, dilations in product(
            (1, 2, 4), (TAPS, TAPS[::-1]), ((1, 1, 1), DILATIONS)
        ):
            w = weights(4, 4 // groups, *taps[:count], seed=groups)
            bias = weights(4, seed=9) if groups == 2 else None
            if all(
                (tap - 1) * dilation < 7
                for tap, dilation in zip(taps[:count], dilations, strict=False)
            ):
                yield conv(
                    x,
                    w,
                    bias,
                    stride=STRIDES[:count],
                    padding="valid",
                    dilation=dilations[:count],
                    groups=groups,
                )
            yield conv(x, w, bias, padding="same", dilation=dilations[:count], groups=groups)
            yield conv(
                x,
                w,
                bias,
                stride=STRIDES[:count],
                padding=(3, 4, 2)[:count],
                dilation=dilations[:count],
                groups=groups,
            )
            yield conv(x[0], w, bias, padding="same", dilation=2, groups=groups)

    return calls


def transposed(count: int) -> Calls:
    def calls(x: Tensor) -> Iterator[Tensor]:
        conv = FUNCTIONS[count][1]
        for groups, dilations in product((1, 2, 4), ((1, 1, 1), DILATIONS)):
            w = weights(4, 2, *TAPS[:count], seed=groups)
            for padding, more in product(((0, 0, 0), (1, 0, 1)), ((0, 0, 0), (1, 0, 2))):
                bias = weights(2 * groups, seed=9) if any(padding) else None
                yield conv(
                    x,
                    w,
                    bias,
                    STRIDES[:count],
                    padding[:count],
                    more[:count],
                    groups,
                    dilations[:count],
                )

    return calls


def pools(x: Tensor) -> Iterator[Tensor]:
    for ceil, padding in product((False, True), ((0, 0), (1, 0), (0, 1))):
        for stride in (None, (2, 3), (3, 1)):
            yield F.max_pool2d(x, (3, 2), stride, padding, 1, ceil_mode=ceil)
            yield F.max_pool2d(x, (3, 2), stride, padding, (1, 2), ceil_mode=ceil)
            for include_pad in (False, True):
                yield F.avg_pool2d(x, (3, 2), stride, padding, ceil, include_pad)
        yield from F.max_pool2d(x, (3, 2), (2, 1), padding, ceil_mode=ceil, return_indices=True)
    for divisor in (1, 3, 7):
        yield F.avg_pool2d(x, (3, 2), (2, 1), (1, 1), divisor_override=divisor)
    for size in ((1, 1), (3, 5), (7, 2), (None, 3), (4, None), (9, 11)):
        yield F.adaptive_avg_pool2d(x, size)
        yield F.adaptive_max_pool2d(x, size)


def pools_1d(x: Tensor) -> Iterator[Tensor]:
    flat = x.flatten(2)
    for ceil, stride, padding in product((False, True), (None, 2, 5), (0, 1)):
        yield F.max_pool1d(flat, 4, stride, padding, ceil_mode=ceil)
        yield F.avg_pool1d(flat, 4, stride, padding, ceil, count_include_pad=bool(padding))
    for size in (1, 3, 9):
        yield F.adaptive_avg_pool1d(flat, size)


def paddings(x: Tensor) -> Iterator[Tensor]:
    for mode in ("reflect", "replicate", "circular"):
        yield F.pad(x, (1, 2, 3, 0), mode)
        yield F.pad(x[0], (2, 3), mode)
        yield F.pad(x[:, :, None], (1, 0, 2, 1, 0, 0), mode)
    for value in (0.0, -1.5, float("inf")):
        yield F.pad(x, (1, 0, -2, 3, 0, 1), "constant", value)


def resizings(x: Tensor) -> Iterator[Tensor]:
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        aligned = (False, True) if mode.startswith("bi") else (None,)
        for corners in aligned:
            for size in ((3, 5), (14, 9)):
                yield F.interpolate(x, size=size, mode=mode, align_corners=corners)
            for factor, recompute in product(((2.0, 0.5), (1.3, 2.7)), (False, True)):
                yield F.interpolate(
                    x,
                    scale_factor=factor,
                    mode=mode,
                    align_corners=corners,
                    recompute_scale_factor=recompute,
                )
    for mode, corners in product(("bilinear", "bicubic"), (False, True)):
        yield F.interpolate(x, size=(4, 11), mode=mode, align_corners=corners, antialias=True)


def samplings(x: Tensor) -> Iterator[Tensor]:
    grid = weights(2, 3, 5, 2, seed=4, low=-1.4, high=1.4)
    for mode, padding, corners in product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    ):
        yield F.grid_sample(x, grid, mode, padding, corners)
    theta = weights(2, 2, 3, seed=5)
    for corners in (False, True):
        yield F.affine_grid(theta + x.sum() * 0, [2, 1, 4, 3], align_corners=corners)


def blocks(x: Tensor) -> Iterator[Tensor]:
    for dilation, padding, stride in product(((1, 1), (2, 1)), ((0, 0), (1, 2)), ((1, 1), (2, 3))):
        columns = F.unfold(x, (2, 3), dilation, padding, stride)
        yield columns
        yield F.fold(columns, (7, 8), (2, 3), dilation, padding, stride)
    for factor in (1, 2):
        yield F.pixel_shuffle(x, factor)
        yield F.pixel_unshuffle(x[:, :, :6], factor)
    for groups in (1, 2, 4):
        yield F.channel_shuffle(x, groups)
