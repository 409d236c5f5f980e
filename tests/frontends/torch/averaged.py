"""A function that returns a module, and one that chooses the averaged weights of a checkpoint."""

import torch
from torch import nn

from tests.frontends.torch.factories import Net

PREFIX = "params_ema."


def bare() -> nn.Module:
    return Net()


def state_dict(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(PREFIX): value
        for name, value in tensors.items()
        if name.startswith(PREFIX)
    }
