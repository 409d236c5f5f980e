"""Networks of torchvision at a small image size, with seeded weights under which their outputs
depend on the input.

.venv/bin/python -m tests.families.torchvision_models [resnet50 ...] [--backend js]; with wasm and
js, it replaces the rows of docs/families.md.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tests.families.driver import Family, main
from tests.families.normalisation import settle_statistics
from tests.frontends.torch.vision import torchvision
from webkiln.recipe.recipe import Recipe, UserCode, Verification
from webkiln.recipe.sources import PathSource

SMALL = 64
SIZES = {"ssd300_vgg16": 300, "inception_v3": 80}
CLASSIFYING = (
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "googlenet",
    "inception_v3",
    "mnasnet0_5",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "regnet_y_400mf",
    "resnet18",
    "resnet50",
    "resnext50_32x4d",
    "shufflenet_v2_x0_5",
    "squeezenet1_1",
    "swin_t",
    "swin_v2_t",
    "vgg11",
    "vit_b_16",
)
SEGMENTING = ("lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large", "fcn_resnet50")
DETECTING = ("ssdlite320_mobilenet_v3_large", "ssd300_vgg16", "retinanet_resnet50_fpn")
NETWORKS = (*CLASSIFYING, *SEGMENTING, *DETECTING)


class Detector(nn.Module):
    """A detector up to the scores and offsets of its anchors."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.backbone, self.head = model.backbone, model.head

    def forward(self, image: Tensor) -> dict[str, Tensor]:
        predictions: dict[str, Tensor] = self.head(list(self.backbone(image).values()))
        return predictions


def network(name: str) -> nn.Module:
    models = torchvision().models
    torch.manual_seed(0)
    if name in CLASSIFYING:
        aux: dict[str, Any] = (
            {"aux_logits": False, "init_weights": False}
            if name in ("googlenet", "inception_v3")
            else {}
        )
        sized = {"image_size": size(name)} if name.startswith("vit") else {}
        return seeded(getattr(models, name)(weights=None, num_classes=50, **aux, **sized), name)
    if name in SEGMENTING:
        return seeded(
            getattr(models.segmentation, name)(weights=None, weights_backbone=None, num_classes=5),
            name,
        )
    return seeded(
        Detector(
            getattr(models.detection, name)(weights=None, weights_backbone=None, num_classes=5)
        ),
        name,
    )


def seeded(model: nn.Module, name: str) -> nn.Module:
    gates = [
        layer.fc2
        for layer in model.modules()
        if isinstance(layer, torchvision().ops.SqueezeExcitation)
    ]
    return settle_statistics(model, (4, 3, size(name), size(name)), gates)


def recipe(name: str, folder: Path, backends: Sequence[str]) -> Recipe:
    """Export a network into a folder; return its recipe."""
    path = folder / f"{name}.pt2"
    with torch.no_grad():
        example = torch.rand(2, 3, size(name), size(name))
        program = torch.export.export(
            network(name), (example,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
        )
    torch.export.save(program, path)
    sizes = {"image_0": 1} if name in DETECTING else {}
    return Recipe(
        name,
        PathSource(path),
        backends=tuple(backends),
        verification=Verification(sample_sizes=sizes),
        user_code=UserCode(project=folder),
    )


def size(name: str) -> int:
    return SIZES.get(name, SMALL)


FAMILY = Family("torchvision", NETWORKS, lambda name: str(size(name)), recipe)

if __name__ == "__main__":
    sys.exit(main(FAMILY, __doc__))
