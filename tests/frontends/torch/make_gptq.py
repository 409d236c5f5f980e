"""Write files in the layouts of GPTQ and AWQ, and the products with their weights: `python -m
tests.frontends.torch.make_gptq`.

auto-gptq packs `corpus/gptq.safetensors`, gptqmodel the zero points of `gptq_v2.safetensors`,
autoawq `awq.safetensors`; weights are dequantised by gptqmodel and autoawq. The script needs these
packages and transformers (`pip install --no-deps`), of which it imports only the modules that pack.
"""

import importlib.util
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

from tests.frontends.torch.packed_nets import COLUMNS, FOLDER, GPTQ, LAYERS, ROWS, x

PACKAGES = ("auto_gptq", "auto_gptq.nn_modules", "auto_gptq.nn_modules.qlinear")
AWQ = ("awq", "awq.modules", "awq.modules.linear", "awq.utils")
BARE = (*PACKAGES, *AWQ, "gptqmodel", "gptqmodel.quantization")
METADATA = {"format": "pt", "auto_gptq_version": "0.7.1"}


def without_init(name: str) -> None:
    """Import a package without running its `__init__.py`, which imports models and kernels."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)


def ranges(
    weight: torch.Tensor, groups: torch.Tensor, bits: int, *, symmetric: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scales and zero points [out, groups] of each group of inputs."""
    count = int(groups.max()) + 1
    parts = [weight[:, groups == number] for number in range(count)]
    least = torch.stack([part.amin(1).clamp(max=0) for part in parts], 1)
    most = torch.stack([part.amax(1).clamp(min=0) for part in parts], 1)
    if symmetric:
        scales = torch.maximum(-least, most) / (2 ** (bits - 1))
        return scales, torch.full_like(scales, 2 ** (bits - 1))
    scales = (most - least) / (2**bits - 1)
    return scales, torch.round(-least / scales).clamp(1, 2**bits - 1)


def gptq_layer(name: str, quant_linear: Any) -> dict[str, torch.Tensor]:
    bits, kind, length, *act = name.removeprefix("bits").split("_")
    size = COLUMNS if length == "all" else int(length)
    groups = torch.arange(COLUMNS) // size
    if act:
        groups = groups[torch.randperm(COLUMNS)]
    linear = nn.Linear(COLUMNS, ROWS, bias=False)
    linear.weight.data = torch.randn(ROWS, COLUMNS) * 0.1
    scales, zeros = ranges(linear.weight.data, groups, int(bits), symmetric=kind == "sym")
    scales = scales.half().float()
    codes = torch.round(linear.weight.data / scales[:, groups] + zeros[:, groups])
    codes = codes.clamp(0, 2 ** int(bits) - 1)
    linear.weight.data = (codes - zeros[:, groups]) * scales[:, groups]
    module = quant_linear(int(bits), size, COLUMNS, ROWS, bias=False)
    module.pack(linear, scales, zeros.clone(), groups.int())
    return {part: getattr(module, part) for part in ("qweight", "qzeros", "scales", "g_idx")}


def write_gptq(quant_linear: Any, dequant: Any) -> None:
    old = {name: gptq_layer(name, quant_linear) for name in GPTQ}
    new = {}
    for name, parts in old.items():
        bits = int(name[len("bits")])
        zeros = torch.randint(0, 2**bits, (len(parts["scales"]), ROWS))
        if "_sym" in name:
            zeros = torch.full_like(zeros, 2 ** (bits - 1))
        packed = dequant.pack_cols(zeros, bits, pack_dtype=torch.int32)
        new[name] = {**parts, "qzeros": packed}
    for file, layers in (("gptq", old), ("gptq_v2", new)):
        path = FOLDER / f"{file}.safetensors"
        save_file(named(layers), path, METADATA if file == "gptq" else {"format": "pt"})
        products = {}
        for name, parts in layers.items():
            config = {"bits": int(name[len("bits")]), "checkpoint_format": file}
            with TemporaryDirectory() as folder:
                alone = Path(folder) / "layer.safetensors"
                save_file(named({name: parts}), alone)
                weights = dequant.convert_gptq_file(alone, torch.float32, config, "cpu")
            products[name] = product(weights[f"{name}.weight"])
        np.savez_compressed(path.with_suffix(".npz"), **products)


def write_awq(gemm: Any, dequantize: Any) -> None:
    layers, products = {}, {}
    for name in LAYERS["awq"]:
        size = int(name.removeprefix("group"))
        groups = torch.arange(COLUMNS) // size
        linear = nn.Linear(COLUMNS, ROWS, bias=False)
        scales, zeros = (
            item.T.contiguous() for item in ranges(linear.weight.data, groups, 4, symmetric=False)
        )
        module = gemm.from_linear(linear, 4, size, scales=scales, zeros=zeros)
        layers[name] = {part: getattr(module, part) for part in ("qweight", "qzeros", "scales")}
        parts = (module.qweight, module.qzeros, module.scales.float())
        products[name] = product(dequantize(*parts, 4, size).T)
    save_file(named(layers), FOLDER / "awq.safetensors", {"format": "pt"})
    np.savez_compressed(FOLDER / "awq.npz", **products)


def named(layers: dict[str, dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    return {
        f"{name}.{part}": tensor.contiguous()
        for name, parts in layers.items()
        for part, tensor in parts.items()
    }


def product(weight: torch.Tensor) -> np.ndarray:
    return x().double().numpy() @ weight.detach().double().numpy().T


def main() -> None:
    sys.modules["torchvision"] = None  # type: ignore[assignment]  # transformers would import it
    import transformers.pytorch_utils  # noqa: F401 - before the packages that it looks for

    for name in BARE:
        without_init(name)
    from auto_gptq.nn_modules.qlinear.qlinear_cuda import QuantLinear
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.utils.packing_utils import dequantize_gemm
    from gptqmodel.utils import model_dequant

    torch.manual_seed(9)
    with torch.no_grad():
        write_gptq(QuantLinear, model_dequant)
        write_awq(WQLinear_GEMM, dequantize_gemm)


if __name__ == "__main__":
    main()
