"""Functions that return modules for `corpus/matrices.gguf`, which has a matrix of each type."""

import torch
from torch import nn

TYPES = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")
ROWS, COLUMNS = 32, 512


class Products(nn.Module):
    """The product of x with each matrix."""

    def __init__(self) -> None:
        super().__init__()
        for name in TYPES:
            setattr(self, name, nn.Linear(COLUMNS, ROWS, bias=False))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(getattr(self, name)(x) for name in TYPES)


def products() -> tuple[nn.Module, tuple[torch.Tensor]]:
    return Products(), (torch.zeros(3, COLUMNS),)
