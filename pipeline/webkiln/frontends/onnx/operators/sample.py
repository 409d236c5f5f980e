"""Operators that sample images at data-dependent positions."""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import sample
from webkiln.ops.functional.determinant import determinant


def grid_sample(call: NodeCall) -> Tensor:
    return sample.grid_sample(
        call.builder,
        call.tensor(0),
        call.tensor(1),
        mode=call.attr("mode", "bilinear"),
        padding=call.attr("padding_mode", "zeros"),
        corners=call.flag("align_corners"),
    )


def affine_grid(call: NodeCall) -> Tensor:
    return sample.affine_grid(
        call.builder, call.tensor(0), call.sizes(1)[2:], corners=call.flag("align_corners")
    )


def deform_conv(call: NodeCall) -> Tensor:
    """Operands: x, kernel, offsets, bias, mask."""
    x, w, offsets = call.tensor(0), call.tensor(1), call.tensor(2)
    count = x.type.rank - 2
    return sample.deform_conv(
        call.builder,
        x,
        w,
        offsets,
        call.optional(3),
        call.optional(4),
        strides=call.attr("strides") or (1,) * count,
        pads=call.attr("pads") or (0,) * 2 * count,
        dilation=call.attr("dilations") or (1,) * count,
        groups=call.attr("group", 1),
        offset_groups=call.attr("offset_group", 1),
    )


def roi_align(call: NodeCall) -> Tensor:
    """Operands: x [N, C, H, W], regions [R, 4] as x1, y1, x2, y2, and the image index of each."""
    ratio = call.attr("sampling_ratio", 0)
    if ratio <= 0:
        raise call.unsupported(*sample.DATA_DEPENDENT_RATIO)
    return sample.roi_align(
        call.builder,
        call.tensor(0),
        call.tensor(1),
        call.tensor(2),
        bins=(call.attr("output_height", 1), call.attr("output_width", 1)),
        ratio=ratio,
        scale=call.attr("spatial_scale", 1.0),
        half_pixel=call.version >= 16
        and call.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel",
        mode=call.attr("mode", "avg"),
    )


def max_roi_pool(call: NodeCall) -> Tensor:
    return sample.max_roi_pool(
        call.builder,
        call.tensor(0),
        call.tensor(1),
        call.attr("pooled_shape"),
        call.attr("spatial_scale", 1.0),
    )


SAMPLE: dict[str, NodeHandler] = {
    "GridSample": grid_sample,
    "AffineGrid": affine_grid,
    "DeformConv": deform_conv,
    "RoiAlign": roi_align,
    "MaxRoiPool": max_roi_pool,
    "Det": lambda call: determinant(call.builder, call.tensor(0)),
}
