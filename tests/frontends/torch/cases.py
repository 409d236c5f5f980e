"""Modules of PyTorch with example inputs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn


class FunctionModule(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


@dataclass(frozen=True)
class ModuleCase:
    """`sizes` maps the dynamic axes of each input to a second size. `gpu` is the reason why webgpu
    and webgl are not tested, if they are not.
    """

    make: Callable[[], nn.Module]
    inputs: tuple[Tensor, ...]
    sizes: dict[int, dict[int, int]] = field(default_factory=dict)
    tolerance: float = 1e-4
    gpu: str = ""


def floats(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * (high - low) + low


def integers(
    *shape: int, seed: int = 0, low: int = 0, high: int = 5, dtype: torch.dtype = torch.int64
) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def booleans(*shape: int, seed: int = 0) -> Tensor:
    return floats(*shape, seed=seed) > 0


def module_of(function: Callable[..., Any]) -> Callable[[], nn.Module]:
    return lambda: FunctionModule(function)


DATA_DEPENDENT = "the size of the output is data-dependent, which only wasm and js support"


Calls = Callable[..., Iterator[Tensor]]


@cache
def weights(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Tensor:
    """Random weights, cached since torch.export does not support random generators."""
    return floats(*shape, seed=seed, low=low, high=high)
