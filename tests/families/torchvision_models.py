"""Networks of torchvision at a small image, with seeded weights under which their outputs depend on the input.

.venv/bin/python -m tests.families.torchvision_models [resnet50 ...] [--backend js]; of wasm and js together, it replaces the rows of docs/families.md.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tests.families.driver import Family, main
from tests.frontends.torch.vision import torchvision
from webkiln.recipe import PathSource, Recipe

SMALL = 64
SIZES = {"ssd300_vgg16": 300, "inception_v3": 80}
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
        sized = {"image_size": size(name)} if name.startswith("vit") else {}
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
    with torch.no_grad():
        for seed in range(2):
            model(torch.rand(4, 3, size(name), size(name), generator=torch.Generator().manual_seed(seed)))
    return model.eval()


def recipe(name: str, folder: Path, backends: Sequence[str]) -> Recipe:
    """The recipe of a network, exported into a folder."""
    path = folder / f"{name}.pt2"
    with torch.no_grad():
        example = torch.rand(2, 3, size(name), size(name))
        program = torch.export.export(network(name), (example,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    torch.export.save(program, path)
    return Recipe(name, PathSource(path), backends=tuple(backends), project=folder)


def size(name: str) -> int:
    return SIZES.get(name, SMALL)


FAMILY = Family("torchvision", NETWORKS, lambda name: str(size(name)), recipe)

if __name__ == "__main__":
    sys.exit(main(FAMILY, __doc__))
