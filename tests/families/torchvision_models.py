"""Networks of torchvision at a small image, with seeded weights under which their outputs depend on the input.

.venv/bin/python -m tests.families.torchvision_models [resnet50 ...] [--backend js]; of wasm and js together, it replaces the rows of docs/families.md.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from tests.families.applications import CACHE, COLUMNS, TOLERANCE, forget_weights
from tests.families.page import record
from tests.frontends.torch.vision import torchvision
from webkiln import canonical
from webkiln.build.action import Action
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import share
from webkiln.errors import UserError
from webkiln.recipe import PathSource, Recipe

SMALL = 64
SIZES = {"ssd300_vgg16": 300, "alexnet": 64, "inception_v3": 80, "swin_t": 64, "swin_v2_t": 64, "vit_b_16": 64, "maxvit_t": 64}
CLASSIFYING = (
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "inception_v3", "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf", "regnet_y_400mf",
    "resnet18", "resnet50", "resnext50_32x4d", "shufflenet_v2_x0_5", "squeezenet1_1", "swin_t", "swin_v2_t", "vgg11", "vit_b_16",
)  # fmt: skip
SEGMENTING = ("lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large", "fcn_resnet50")
DETECTING = ("ssdlite320_mobilenet_v3_large", "ssd300_vgg16", "retinanet_resnet50_fpn")
NETWORKS = (*CLASSIFYING, *SEGMENTING, *DETECTING)


class Detector(nn.Module):
    """A detector up to the scores and offsets of its anchors."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.backbone, self.head = model.backbone, model.head

    def forward(self, image: Tensor) -> dict[str, Tensor]:
        found: dict[str, Tensor] = self.head(list(self.backbone(image).values()))
        return found


def network(name: str) -> nn.Module:
    models = torchvision().models
    torch.manual_seed(0)
    if name in CLASSIFYING:
        aux: dict[str, Any] = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
        sized = {"image_size": SIZES[name]} if name.startswith("vit") else {"input_size": (SIZES[name],) * 2} if name == "maxvit_t" else {}
        return settled(getattr(models, name)(weights=None, num_classes=50, **aux, **sized), name)
    if name in SEGMENTING:
        return settled(getattr(models.segmentation, name)(weights=None, weights_backbone=None, num_classes=5), name)
    return settled(Detector(getattr(models.detection, name)(weights=None, weights_backbone=None, num_classes=5)), name)


def settled(model: nn.Module, name: str) -> nn.Module:
    """With statistics of normalisations from some images, and what begins as 0 or nearly so drawn anew."""
    for parameter in model.parameters():
        if parameter.abs().max() < 1e-3 and parameter.dim() > 0:
            nn.init.normal_(parameter, std=0.05)
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            layer.momentum = None
    model.train()
    size = SIZES.get(name, SMALL)
    with torch.no_grad():
        for seed in range(2):
            model(torch.rand(4, 3, size, size, generator=torch.Generator().manual_seed(seed)))
    return model.eval()


def exported(name: str, path: Path) -> int:
    """Write a network; how many parameters it has."""
    model, size = network(name), SIZES.get(name, SMALL)
    with torch.no_grad():
        program = torch.export.export(model, (torch.rand(2, 3, size, size),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    torch.export.save(program, path)
    return sum(item.numel() for item in model.parameters())


def verified(name: str, backends: Sequence[str], folder: Path) -> tuple[int, dict[str, float]]:
    """How many parameters a network has, and its error on each backend and variant."""
    path = folder / f"{name}.pt2"
    count = exported(name, path)
    recipe = Recipe(name, PathSource(path), backends=tuple(backends), sample_sizes={}, project=folder)
    with Engine(folder / ".webkiln", cache=CACHE) as engine:

        def read(action: Action, file: str) -> Any:
            return canonical.read(engine.cache.store.path(engine.run(action).outputs[file].sha256))

        results = [read(action, "result.json") for action in ModelGraph(recipe, share()).verify(Selection(tuple(backends)), "chromium")]
    errors = {f"{item['backend']} {item['variant'] or ''}".strip(): max(row["relative"] for row in item["outputs"]) for item in results}
    return count, errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="; all by default")
    parser.add_argument("--backend", default="wasm,js")
    options = parser.parse_args()
    failed = 0
    for name in options.networks or NETWORKS:
        start = time.perf_counter()
        try:
            with TemporaryDirectory() as folder:
                parameters, errors = verified(name, options.backend.split(","), Path(folder))
        except UserError as error:
            parameters, errors = 0, {}
            print(f"{name}: {error}", flush=True)
        forget_weights()
        failed += not errors or max(errors.values()) > TOLERANCE
        told = ", ".join(f"{key} {value:.1e}" for key, value in errors.items())
        print(f"{name} at {SIZES.get(name, SMALL)}: {told or 'FAILED'}, {time.perf_counter() - start:.0f} s", flush=True)
        if set(COLUMNS) <= set(errors):
            record("torchvision", [name, str(SIZES.get(name, SMALL)), f"{parameters:,}", *(f"{errors[key]:.1e}" for key in COLUMNS)])
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
