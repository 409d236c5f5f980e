"""The function that returns modules for files of `corpus/`: the product of x with each weight that
a tool has quantised.
"""

from pathlib import Path

import torch
from torch import nn

from webkiln.frontends.torch.weights import read_safetensors

FOLDER = Path(__file__).parent / "corpus"
COLUMNS = 256
ROWS = 32
ODD_ROWS, ODD_COLUMNS = 33, 251
"""A weight whose rows are no whole number of blocks, and that has an odd number of elements."""
GPTQ = (
    "bits2_asym_32",
    "bits3_asym_64",
    "bits4_sym_128",
    "bits4_asym_32",
    "bits4_asym_48",
    "bits4_asym_all",
    "bits8_sym_64",
    "bits2_sym_all",
    "bits3_sym_32_act",
    "bits4_asym_32_act",
    "bits8_asym_128_act",
)
"""Bits, kind of zero points, inputs of a group, and whether g_idx orders inputs."""
LAYERS = {
    "gptq": GPTQ,
    "gptq_v2": GPTQ,
    "awq": ("group32", "group128", "group256"),
    "bitsandbytes": ("nf4", "nf4_nested", "fp4", "fp4_nested", "odd", "odd_nested", "int8"),
}


def shape(layer: str) -> tuple[int, int]:
    return (ODD_ROWS, ODD_COLUMNS) if layer.startswith("odd") else (ROWS, COLUMNS)


class Products(nn.Module):
    def __init__(self, layers: tuple[str, ...]) -> None:
        super().__init__()
        self.names = layers
        for name in layers:
            rows, columns = shape(name)
            setattr(self, name, nn.Linear(columns, rows, bias=False))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(getattr(self, name)(x[:, : shape(name)[1]]) for name in self.names)


def products(file: str) -> tuple[nn.Module, tuple[torch.Tensor]]:
    return Products(LAYERS[file]), (torch.zeros(3, COLUMNS),)


def x() -> torch.Tensor:
    """The input of the products that the tools have computed."""
    return torch.randn((5, COLUMNS), generator=torch.Generator().manual_seed(11))


class StoredLinear(nn.Linear):
    """A linear layer whose state has the tensors of a file, as those of bitsandbytes have."""

    def __init__(self, name: str, tensors: dict[str, torch.Tensor]) -> None:
        rows, columns = shape(name)
        super().__init__(columns, rows, bias=False)
        self.tensors = {
            key.removeprefix(f"{name}."): item
            for key, item in tensors.items()
            if key.startswith(f"{name}.")
        }

    def _save_to_state_dict(self, destination, prefix, keep_vars) -> None:
        destination.update({f"{prefix}{key}": item for key, item in self.tensors.items()})


def loaded(file: str) -> tuple[nn.Module, tuple[torch.Tensor]]:
    """A module that has loaded its weights itself."""
    module, inputs = products(file)
    _, tensors = read_safetensors(FOLDER / f"{file}.safetensors")
    for name in LAYERS[file]:
        setattr(module, name, StoredLinear(name, tensors))
    return module, inputs
