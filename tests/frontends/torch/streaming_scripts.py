"""Modules for TorchScript whose states get their shape in the first run."""

from typing import Optional

import torch
from torch import Tensor, nn


class Voice(nn.Module):
    """A detector of voice: the state and the context start empty, and are reset when the rate or
    the batch changes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTMCell(12, 6), nn.Linear(6, 1)
        self._state: Tensor = torch.zeros(0)
        self._context: Tensor = torch.zeros(0)
        self._last_sr = 0
        self._last_batch = 0

    def reset(self, batch: int) -> None:
        self._state = torch.zeros(2, batch, 6)
        self._context = torch.zeros(0)

    def forward(self, x: Tensor, sr: int) -> Tensor:
        if sr not in [8000, 16000]:
            raise ValueError("rate")
        context = 4 if sr == 16000 else 2
        if not self._last_batch:
            self.reset(x.shape[0])
        if self._last_sr and self._last_sr != sr:
            self.reset(x.shape[0])
        if self._last_batch and self._last_batch != x.shape[0]:
            self.reset(x.shape[0])
        if len(self._context) == 0:
            self._context = torch.zeros(x.shape[0], context)
        joined = torch.cat([self._context, x], dim=1)
        h, c = self.cell(joined[:, :12], (self._state[0], self._state[1]))
        self._state = torch.stack([h, c])
        self._context = joined[:, -context:]
        self._last_sr = sr
        self._last_batch = x.shape[0]
        return torch.sigmoid(self.out(h))


class FirstIsNone(nn.Module):
    """A state that is None until the first run, which starts from ones."""

    h: Optional[Tensor]  # noqa: UP045 - torch.jit reads it

    def __init__(self) -> None:
        super().__init__()
        self.h = None
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.h
        if h is None:
            h = torch.ones(2, 3)
        h = torch.tanh(self.linear(x) + h)
        self.h = h
        return h


class FirstFrame(nn.Module):
    """The first frame is its own predecessor."""

    def __init__(self) -> None:
        super().__init__()
        self.previous: Tensor = torch.zeros(0)

    def forward(self, x: Tensor) -> Tensor:
        if len(self.previous) == 0:
            self.previous = x
        y = x - self.previous + 1
        self.previous = x
        return y


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = 0

    def forward(self, x: Tensor) -> Tensor:
        self.step += 1
        return x * self.step


class Pile(nn.Module):
    """A state that grows."""

    def __init__(self) -> None:
        super().__init__()
        self.pile: Tensor = torch.zeros(0, 3)

    def forward(self, x: Tensor) -> Tensor:
        self.pile = torch.cat([self.pile, x])
        return self.pile.sum(0)


class Appended(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.items: list[Tensor] = [torch.zeros(2, 3)]

    def forward(self, x: Tensor) -> Tensor:
        self.items.append(x)
        return self.items[0] + x


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.items: list[Tensor] = [torch.zeros(2, 3)]

    def forward(self, x: Tensor) -> Tensor:
        y = self.items[0] + x
        self.items = [y]
        return y


class OpenBatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.h: Tensor = torch.zeros(0)

    def forward(self, x: Tensor) -> Tensor:
        if self.h.numel() == 0:
            self.h = torch.zeros_like(x)
        self.h = self.h * 0.5 + x
        return self.h


class Flagged(nn.Module):
    """A flag that does not change what is computed, besides a state."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.ones(2, 3))
        self.started = False

    def forward(self, x: Tensor) -> Tensor:
        if not self.started:
            self.total.fill_(1.0)
            self.started = True
        self.total.add_(x)
        return self.total * 2
