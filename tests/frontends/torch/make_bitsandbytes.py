"""Write `corpus/bitsandbytes.safetensors` and the products with its weights, both by bitsandbytes:
`python -m tests.frontends.torch.make_bitsandbytes`. It needs `pip install bitsandbytes`.
"""

import numpy as np
import torch
from bitsandbytes import functional, nn
from safetensors.torch import save_file

from tests.frontends.torch.packed_nets import FOLDER, LAYERS, shape, x


def layer(name: str) -> torch.nn.Module:
    rows, columns = shape(name)
    if name == "int8":
        return nn.Linear8bitLt(columns, rows, bias=False, has_fp16_weights=False)
    return nn.Linear4bit(
        columns,
        rows,
        bias=False,
        quant_type="fp4" if name.startswith("fp4") else "nf4",
        compress_statistics=name.endswith("_nested"),
    )


def weight(module: torch.nn.Module) -> torch.Tensor:
    """The weight in float32, as the package dequantises it."""
    if isinstance(module, nn.Linear8bitLt):
        return functional.int8_vectorwise_dequant(module.weight.data, module.weight.SCB)
    return functional.dequantize_4bit(module.weight.data, module.weight.quant_state)


def main() -> None:
    torch.manual_seed(5)
    modules = torch.nn.ModuleDict({name: layer(name) for name in LAYERS["bitsandbytes"]})
    modules = modules.to("cpu")
    save_file(modules.state_dict(), FOLDER / "bitsandbytes.safetensors")
    products = {
        name: x()[:, : shape(name)[1]].double().numpy() @ weight(module).double().numpy().T
        for name, module in modules.items()
    }
    np.savez_compressed(FOLDER / "bitsandbytes.npz", **products)


if __name__ == "__main__":
    main()
