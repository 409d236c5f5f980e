"""A module of `factories.py`, and a source that names its function."""

import torch

from tests.frontends.torch import factories

SOURCE = {"module": "tests.frontends.torch.factories", "function": "bare", "parameters": {}}


def net() -> torch.nn.Module:
    torch.manual_seed(3)
    return factories.Net().eval()
