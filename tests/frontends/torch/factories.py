"""Functions that return modules, as in user code."""

import torch
from torch import Tensor, nn


class Net(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, width, 3), nn.Linear(width, 2)

    def forward(self, image: Tensor) -> Tensor:
        return self.head(torch.relu(self.conv(image)).mean((2, 3)))


def bare(width: int = 4) -> nn.Module:
    return Net(width)


def with_inputs() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Net(), (torch.rand(1, 3, 8, 8),)


def not_a_module() -> int:
    return 3
