"""torchvision. If its compiled operators cannot be loaded, they are replaced by their schemas and
reference implementations in Python, as in its own tests.
"""

import sys
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    (
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt"
        " pooled_width, int sampling_ratio, bool aligned) -> Tensor"
    ),
    (
        "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt"
        " pooled_width) -> (Tensor, Tensor)"
    ),
    (
        "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt"
        " pooled_width, int sampling_ratio) -> (Tensor, Tensor)"
    ),
    (
        "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt"
        " pooled_width) -> (Tensor, Tensor)"
    ),
    (
        "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt"
        " stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt"
        " dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor"
    ),
    (
        "_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height,"
        " SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width, int"
        " sampling_ratio, bool aligned) -> Tensor"
    ),
    (
        "_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, SymInt"
        " pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height,"
        " SymInt width) -> Tensor"
    ),
    (
        "_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float"
        " spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, SymInt"
        " batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor"
    ),
    (
        "_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float"
        " spatial_scale, SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt"
        " channels, SymInt height, SymInt width) -> Tensor"
    ),
    (
        "_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor"
        " mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt"
        " dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) ->"
        " (Tensor, Tensor, Tensor, Tensor, Tensor)"
    ),
)
LIBRARIES: list[Any] = []


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Boxes in the order of their scores, without those that overlap a box of a higher score."""
    selected: list[int] = []
    areas = (dets[:, 2] - dets[:, 0]) * (dets[:, 3] - dets[:, 1])
    for index in scores.sort(descending=True, stable=True).indices.tolist():
        low, high = (
            torch.maximum(dets[selected, :2], dets[index, :2]),
            torch.minimum(dets[selected, 2:], dets[index, 2:]),
        )
        common = (high - low).clamp(min=0).prod(1)
        if not bool((common / (areas[selected] + areas[index] - common) > iou_threshold).any()):
            selected.append(index)
    return torch.tensor(selected, dtype=torch.int64)


def deform_conv(
    x: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    sh: int,
    sw: int,
    ph: int,
    pw: int,
    dh: int,
    dw: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """For each tap: the input, interpolated at the offsets, times the weights."""
    n, channels, h, w = x.shape
    rows, columns = offset.shape[2:]
    kh, kw = weight.shape[2:]
    offsets = offset.reshape(n, offset_groups, kh * kw, 2, rows, columns)
    scale = (
        mask.reshape(n, offset_groups, kh * kw, rows, columns)
        if use_mask
        else torch.ones(n, offset_groups, kh * kw, rows, columns)
    )
    read = []
    for tap in range(kh * kw):
        down = torch.arange(rows)[:, None] * sh - ph + tap // kw * dh + offsets[:, :, tap, 0]
        across = torch.arange(columns) * sw - pw + tap % kw * dw + offsets[:, :, tap, 1]
        grid = torch.stack([(across * 2 + 1) / w - 1, (down * 2 + 1) / h - 1], -1).flatten(0, 1)
        parts = x.reshape(n * offset_groups, channels // offset_groups, h, w)
        sampled = torch.nn.functional.grid_sample(parts, grid, align_corners=False).reshape(
            n, offset_groups, channels // offset_groups, rows, columns
        )
        read.append((sampled * scale[:, :, tap, None]).reshape(n, channels, rows, columns))
    taps = torch.stack(read, 2).reshape(n, groups, channels // groups, kh * kw, rows, columns)
    kernel = weight.reshape(groups, weight.shape[0] // groups, channels // groups, kh * kw)
    return torch.einsum("ngckij,gock->ngoij", taps, kernel).flatten(1, 2) + bias[:, None, None]


def torchvision() -> Any:
    """The package with its operators."""
    try:
        package = import_module("torchvision")
        torch.ops.torchvision.nms(torch.rand(1, 4), torch.rand(1), 0.5)
    except (RuntimeError, AttributeError, ImportError):
        library = torch.library.Library("torchvision", "DEF")
        for schema in SCHEMAS:
            library.define(schema)
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        package = import_module("torchvision")
        import_module("torchvision.extension")._has_ops = lambda: True
        align = import_module("torchvision.ops.roi_align")._roi_align
        library.impl("nms", nms, "CPU")
        library.impl("roi_align", align, "CPU")
        library.impl("deform_conv2d", deform_conv, "CPU")
        torch.library.register_fake("torchvision::deform_conv2d", deform_conv, lib=library)
        LIBRARIES.append(library)
    return package
