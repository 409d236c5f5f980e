"""The operators of torchvision: those of the package or, if it is not installed, the signatures
that torch needs to read programs.
"""

import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    (
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt"
        " pooled_width, int sampling_ratio, bool aligned) -> Tensor"
    ),
    (
        "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt"
        " stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt"
        " dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor"
    ),
)
LIBRARIES: list[Any] = []


def declare_vision_operators(path: Path) -> None:
    """Register the operators with torch if a program or a TorchScript file uses one."""
    with zipfile.ZipFile(path) as archive:
        texts = [name for name in archive.namelist() if name.endswith((".json", ".py"))]
        if hasattr(torch.ops.torchvision, "nms") or not any(
            b"torchvision" in archive.read(name) for name in texts
        ):
            return
    try:
        import_module("torchvision")
    except (ImportError, RuntimeError):
        library = torch.library.Library("torchvision", "FRAGMENT")
        for schema in SCHEMAS:
            library.define(schema)
        for name, shaped in {
            "nms": _chosen,
            "roi_align": _aligned,
            "deform_conv2d": _deformed,
        }.items():
            torch.library.register_fake(f"torchvision::{name}", shaped, lib=library)
        LIBRARIES.append(library)


def _chosen(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    return dets.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


def _aligned(x: Tensor, rois: Tensor, scale: float, rows: int, columns: int, *rest: Any) -> Tensor:
    return x.new_empty(rois.shape[0], x.shape[1], rows, columns)


def _deformed(x: Tensor, weight: Tensor, offset: Tensor, *rest: Any) -> Tensor:
    return x.new_empty(x.shape[0], weight.shape[0], *offset.shape[2:])
