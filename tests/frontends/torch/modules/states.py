"""Modules with states, and writes in place."""

import torch
from torch import Tensor, nn


class Counting(nn.Module):
    """The outputs depend on earlier runs."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("runs", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.total += x.sum(0)
        self.runs += 1
        return self.total / self.runs, self.runs * 2


class Storing(nn.Module):
    """Buffers that are assigned a constant, an input, and the previous value of another buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fixed", torch.ones(3))
        self.register_buffer("integers", torch.ones(3, dtype=torch.int64))
        self.register_buffer("current", torch.zeros(3))
        self.register_buffer("previous", torch.full((3,), 2.0))

    def forward(self, x: Tensor) -> Tensor:
        total = self.fixed + 10 * self.current + 100 * self.previous + 1000 * self.integers
        self.previous.copy_(self.current)
        self.current.copy_(x)
        self.fixed.copy_(torch.full((3,), 4.0))
        self.integers = torch.tensor([4, 5, 6])
        return total


class Cache(nn.Module):
    """Keys of the previous steps, written in place."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 6, 4))
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))
        self.project = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.keys.index_copy_(1, self.position, self.project(x).unsqueeze(1))
        self.position += 1
        return torch.softmax(self.keys @ x.unsqueeze(-1), 1)


class Writing(nn.Module):
    """Writes to views."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[:, 1] = 0
        y[0, ::2] += 1
        y.view(-1)[:3].mul_(2)
        y[:, -1:, 1:3] = x[:, :1, :2]
        return y
