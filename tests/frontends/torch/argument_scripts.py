"""Modules for TorchScript whose `forward` takes more than tensors."""

from typing import Optional

import torch
from torch import Tensor, nn


class Rates(nn.Module):
    """Numbers, texts and truth values between tensors."""

    def forward(
        self,
        a: Tensor,
        sr: int,
        b: Tensor,
        gain: float,
        mode: str = "plain",
        loud: bool = False,
        mask: Optional[Tensor] = None,  # noqa: UP045 - torch.jit reads it
    ) -> Tensor:
        y = a * 2 + b if sr == 16000 else a - b * sr
        if mode == "fast":
            y = y * gain
        elif mode == "slow":
            y = y / gain
        if loud:
            y = y + 100
        if mask is not None:
            y = y * mask
        return y


class Switch(nn.Module):
    def forward(self, x: Tensor, loud: bool) -> Tensor:
        return x * 10 if loud else x + 1


class Scaled(nn.Module):
    def forward(
        self,
        x: Tensor,
        scale: Optional[float],  # noqa: UP045
        shift: Optional[Tensor],  # noqa: UP045
        sizes: list[int],
        pair: tuple[int, float] = (2, 0.5),
    ) -> Tensor:
        if scale is not None:
            x = x * scale
        if shift is not None:
            x = x + shift
        return x.reshape(sizes) * pair[0] + pair[1]


class Collections(nn.Module):
    """A list, a tuple and a dict of tensors, and pairs in a list as caches are."""

    def forward(
        self,
        xs: list[Tensor],
        pair: tuple[Tensor, int],
        table: dict[str, Tensor],
        caches: list[tuple[Tensor, Tensor]],
    ) -> tuple[Tensor, list[Tensor]]:
        y = torch.cat(xs, 1).sum(1, keepdim=True) + pair[0] * pair[1]
        if "left" in table:
            y = y - table["left"]
        for value in table.values():
            y = y + value * 3
        following: list[Tensor] = []
        for k, v in caches:
            following.append(torch.cat([k, v], 1))
        return y, following
