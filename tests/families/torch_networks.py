"""Typical user networks of PyTorch, at the width of well-known ones, with seeded weights and
symbolic sizes.

.venv/bin/python -m tests.families.torch_networks ["U-Net" ...] [--backend js]; with wasm and js, it
replaces the rows of docs/families.md.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim

from tests.families.driver import Family, main
from tests.families.normalisation import settle_statistics
from tests.families.torch_images import UNet, Yolo
from tests.families.torch_sequences import (
    Bert,
    Listener,
    SoundDecoder,
    SoundEncoder,
    Translator,
    WaveNet,
)
from webkiln.random_inputs import make_inputs
from webkiln.recipe.recipe import Inputs, Recipe, UserCode, Verification
from webkiln.recipe.sources import PathSource

WHISPER = (384, 4, 6)
LENGTH = Dim("length", min=1, max=512)


@dataclass(frozen=True)
class Network:
    """`sizes`: the symbolic sizes in the verification, by their name in the bundle. `dynamic`: the
    symbolic dimensions, for torch.export; None for TorchScript.

    `recorded`: outputs that this module computes are the reference, since the network has an
    operator that torch lacks.
    """

    make: Callable[[], nn.Module]
    inputs: tuple[Tensor, ...]
    dynamic: Any
    size: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    recorded: bool = False


def tokens(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.int64)


def yolo() -> nn.Module:
    """Scores and overlaps are distinct in float32, some above their thresholds and some below."""
    model = Yolo(threshold=0.509, overlap=0.577)
    last: list[Any] = [branch[-1] for branch in model.head.scores]
    settle_statistics(model, (1, 3, 128, 128), last)
    for layer in last:
        for parameter in layer.parameters():
            parameter.data.mul_(2.0)
    return model


def decoder() -> nn.Module:
    """The state of the decoder after five tokens."""
    model = SoundDecoder(*WHISPER)
    model.keys[:, :, :5].normal_()
    model.values[:, :, :5].normal_()
    model.position.fill_(5)
    return model


def bert(length: int) -> Network:
    """BERT small: 4 layers of width 512."""
    inputs = (tokens(2, 8), tokens(2, 8).bool(), torch.ones(2, 8, dtype=torch.bool))
    axes = ({0: Dim("batch"), 1: LENGTH},) * 3
    return Network(
        lambda: Bert(512, 4, 8), inputs, axes, f"2 x {length}", {"tokens_0": 2, "tokens_1": length}
    )


NETWORKS: dict[str, Network] = {
    "BERT small, 1 token": bert(1),
    "BERT small, 48 tokens": bert(48),
    "BERT small, 512 tokens": bert(512),
    "LSTM both ways, and a GRU": Network(
        Listener, (torch.rand(1, 240, 40),), None, "240 steps", {}, {"sound": (1, 240, 40)}
    ),
    "translation with attention": Network(
        Translator, (tokens(1, 20),), None, "1 x 20", {}, {"text": (1, 20)}
    ),
    "U-Net": Network(
        lambda: settle_statistics(UNet(2, 3, (64, 128, 256, 512, 1024), 4), (2, 3, 64, 64)),
        (torch.rand(1, 3, 64, 48),),
        ({2: 16 * Dim("rows"), 3: 16 * Dim("columns")},),
        "48 x 32",
        {"image_2": 48, "image_3": 32},
    ),
    "U-Net that resizes": Network(
        lambda: settle_statistics(
            UNet(2, 3, (64, 128, 256, 512, 512), 4, resizes=True), (2, 3, 64, 64)
        ),
        (torch.rand(1, 3, 64, 48),),
        ({2: Dim("rows", min=32), 3: Dim("columns", min=32)},),
        "37 x 50",
        {"image_2": 37, "image_3": 50},
    ),
    "U-Net 3D": Network(
        lambda: settle_statistics(UNet(3, 1, (32, 64, 128, 256), 3), (1, 1, 16, 32, 32)),
        (torch.rand(1, 1, 16, 32, 24),),
        ({2: 8 * Dim("slices"), 3: 8 * Dim("rows"), 4: 8 * Dim("columns")},),
        "16 x 24 x 32",
        {"image_2": 16, "image_3": 24, "image_4": 32},
    ),
    "U-Net 3D that resizes": Network(
        lambda: settle_statistics(
            UNet(3, 1, (32, 64, 128, 256), 3, resizes=True), (1, 1, 16, 32, 32)
        ),
        (torch.rand(1, 1, 16, 32, 24),),
        None,
        "16 x 32 x 24",
    ),
    "WaveNet": Network(
        WaveNet, (tokens(1, 64),), ({1: Dim("length", min=2)},), "1 x 600", {"sound_1": 600}
    ),
    "Whisper tiny, decoder's step": Network(
        decoder,
        (tokens(1, 1), torch.rand(1, 40, 384)),
        (None, {1: Dim("frames", max=1500)}),
        "1 token, 50 frames",
        {"sound_1": 50},
    ),
    "Whisper tiny, encoder": Network(
        lambda: SoundEncoder(*WHISPER),
        (torch.rand(1, 80, 40),),
        ({2: 2 * Dim("frames", max=1500)},),
        "80 x 200",
        {"mel_2": 200},
    ),
    "YOLO": Network(
        yolo,
        (torch.rand(1, 3, 128, 96),),
        ({2: 32 * Dim("rows"), 3: 32 * Dim("columns")},),
        "64 x 96",
        {"image_2": 64, "image_3": 96},
        recorded=True,
    ),
}


def recipe(name: str, folder: Path, backends: Sequence[str]) -> Recipe:
    """Export a network into a folder; return its recipe."""
    network = NETWORKS[name]
    torch.manual_seed(0)
    model = network.make().eval()
    path = folder / "network.pt2"
    with torch.no_grad():
        if network.shapes:
            torch.jit.script(model).save(path)
        else:
            torch.export.save(
                torch.export.export(model, network.inputs, dynamic_shapes=network.dynamic), path
            )
    reference = (
        record_outputs(model, network, folder / "expected.npz") if network.recorded else None
    )
    return Recipe(
        "network",
        PathSource(path),
        inputs=Inputs(shapes=network.shapes),
        backends=tuple(backends),
        verification=Verification(reference, sample_sizes=network.sizes),
        user_code=UserCode(trust_source=bool(network.shapes), project=folder),
    )


def record_outputs(model: nn.Module, network: Network, path: Path) -> Path:
    """Record the outputs of a module of one image for random inputs in a file."""
    shape = tuple(
        network.sizes.get(f"image_{axis}", size)
        for axis, size in enumerate(network.inputs[0].shape)
    )
    arrays: dict[str, Any] = {}
    for case, arrays_of_case in make_inputs({"image": ("float32", shape)}, 255.0).items():
        with torch.no_grad():
            outputs = model(torch.from_numpy(arrays_of_case["image"]))
        arrays |= {f"{case}/inputs/{name}": value for name, value in arrays_of_case.items()}
        arrays |= {f"{case}/outputs/{name}": value.numpy() for name, value in outputs.items()}
    np.savez(path, **arrays)
    return path


FAMILY = Family("PyTorch", tuple(NETWORKS), lambda name: NETWORKS[name].size, recipe)

if __name__ == "__main__":
    sys.exit(main(FAMILY, __doc__))
