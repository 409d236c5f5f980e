"""Pools, padding, resizing and sampling."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor


def pools(x: Tensor) -> tuple[Tensor, ...]:
    return (
        F.max_pool2d(x, 3, 2, 1),
        F.max_pool2d(x, 2, ceil_mode=True),
        *F.max_pool2d(x, 2, return_indices=True),
        F.avg_pool2d(x, 3, 2, 1),
        F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        F.avg_pool2d(x, 2, ceil_mode=True),
        F.avg_pool2d(x, 2, divisor_override=3),
        F.adaptive_avg_pool2d(x, 1),
        F.adaptive_avg_pool2d(x, (2, 3)),
        F.adaptive_avg_pool2d(x, (4, None)),
        F.adaptive_max_pool2d(x, (3, 2)),
        F.lp_pool2d(x.abs(), 2, 2),
        F.max_pool2d(x, 3, 1, dilation=2),
        F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(6, 7)),
        F.local_response_norm(x, 3),
    )


def paddings(x: Tensor) -> tuple[Tensor, ...]:
    return (
        *(
            F.pad(x, (1, 2, 2, 1), mode)
            for mode in ("constant", "reflect", "replicate", "circular")
        ),
        F.pad(x, (-1, 2), value=3.0),
        F.pad(x[0, 0], (0, 1)),
        F.pad(x[:, 0], (1, 1), "reflect"),
    )


def resizes(
    mode: str, dimensions: int, *, corners: bool | None = None
) -> Callable[[Tensor], tuple[Tensor, ...]]:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        x = (
            x
            if dimensions == 2
            else x[:, :, 0]
            if dimensions == 1
            else x.unsqueeze(2).repeat(1, 1, 2, 1, 1)
        )
        align = {} if corners is None else {"align_corners": corners}
        return (
            F.interpolate(x, scale_factor=2, mode=mode, **align),
            F.interpolate(x, size=(7, 4, 9)[:dimensions], mode=mode, **align),
            F.interpolate(x, scale_factor=1.7, mode=mode, **align),
            F.interpolate(x, scale_factor=1.7, mode=mode, recompute_scale_factor=True, **align),
        )

    return function


def grid_samples(x: Tensor, grid: Tensor) -> tuple[Tensor, ...]:
    return tuple(
        F.grid_sample(x, grid, mode, padding, corners)
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    )


def folds(x: Tensor) -> tuple[Tensor, ...]:
    y = F.unfold(x, (2, 3), dilation=(1, 1), padding=1, stride=(2, 1))
    return (
        y,
        F.fold(y, x.shape[-2:], (2, 3), padding=1, stride=(2, 1)),
        F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2),
        F.pixel_unshuffle(x[..., :4, :4], 2),
        F.channel_shuffle(x.repeat(1, 2, 1, 1), 2),
    )
