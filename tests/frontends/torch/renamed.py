"""A function that returns a module, and one that renames the tensors of a file for it."""

import torch
from torch import nn

from tests.frontends.torch.factories import Net

NAMES = {
    "stem.w": "conv.weight",
    "stem.b": "conv.bias",
    "out.w": "head.weight",
    "out.b": "head.bias",
}


def make() -> nn.Module:
    return Net()


def state_dict(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {NAMES[name]: value for name, value in tensors.items() if name != "step"}
