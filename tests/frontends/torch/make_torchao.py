"""Writes programs whose weights torchao has quantised: `python -m
tests.frontends.torch.make_torchao`. It needs `pip install torchao`.
"""

import sys
from pathlib import Path

import torch
from torchao.quantization import Int8WeightOnlyConfig, IntxWeightOnlyConfig, quantize_
from torchao.quantization.granularity import PerGroup
from torchao.utils import unwrap_tensor_subclass

FOLDER = Path(__file__).parent / "torchao"
CONFIGS = {
    "int8": Int8WeightOnlyConfig(version=2),
    "int4": IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)),
}


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, config in CONFIGS.items():
        torch.manual_seed(3)
        model = torch.nn.Sequential(
            torch.nn.Linear(128, 96), torch.nn.ReLU(), torch.nn.Linear(96, 64)
        ).eval()
        quantize_(model, config)
        program = torch.export.export(unwrap_tensor_subclass(model), (torch.zeros(3, 128),))
        torch.export.save(program.run_decompositions(), FOLDER / f"{name}.pt2")
    return 0


if __name__ == "__main__":
    sys.exit(main())
