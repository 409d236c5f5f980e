"""Resizing, sampling images at computed positions, and torchvision's operators."""

from collections.abc import Sequence
from fractions import Fraction

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import sample
from webkiln.ops.functional.detection import selected_boxes
from webkiln.ops.functional.interpolate import Interpolation, fraction, resize_axis
from webkiln.ops.pieces import part, reshaped


def upsample(mode: str, count: int, *, exact: bool = False, antialias: bool = False) -> AtenHandler:
    """Resize to a size, or by factors, which then determine the positions. With `align_corners`,
    antialiasing uses the scale between the first and last pixels, but the pixel centres of the
    default mode.
    """

    def handler(c: AtenCall) -> Tensor:
        x = c.tensor("input" if c.has("input") else "self")
        sizes, factors = c["output_size"], scale_factors(c, count)
        corners = bool(c.get("align_corners", False))
        how = Interpolation(
            mode,
            coordinates(mode, exact=exact, corners=corners and not antialias),
            rounding(mode, exact=exact),
            cubic_coeff=-0.5 if antialias else -0.75,
            exclude_outside=antialias,
            antialias=antialias,
        )
        for d in range(count):
            axis = 2 + d
            factor = factors[d]
            scale = None if factor is None else fraction(factor)
            if sizes is not None:
                out = sizes[d]
            else:
                assert scale is not None
                out = x.shape[axis] * scale.numerator // scale.denominator
            used = None if corners else scale
            if corners and antialias and out != x.shape[axis]:
                used = between_corners(c, x.shape[axis], out)
            if out != x.shape[axis] or used not in (None, 1):
                x = resize_axis(c.b, x, axis, out, used, how)
        return c.op("Identity", x)

    return handler


def coordinates(mode: str, *, exact: bool, corners: bool) -> str:
    if mode == "nearest":
        return "half_pixel" if exact else "asymmetric"
    return "align_corners" if corners else "half_pixel"


def rounding(mode: str, *, exact: bool) -> str:
    if mode != "nearest":
        return "round_prefer_floor"
    return "round_prefer_ceil" if exact else "floor"


def between_corners(c: AtenCall, size: Size, out: Size) -> Fraction:
    if is_symbolic(size) or is_symbolic(out) or min(size, out) < 2:
        raise c.unsupported(
            "aligns corners with antialiasing on an axis of size 1 or of symbolic size",
            "Leave one of them out",
        )
    return Fraction(out - 1, size - 1)


def scale_factors(c: AtenCall, count: int) -> Sequence[float | None]:
    """The factors of all axes, or of each axis by name."""
    if c.has("scale_factors"):
        factors: Sequence[float | None] = c["scale_factors"]
        return factors
    names = ("scales",) if count == 1 else ("scales_d", "scales_h", "scales_w")[3 - count :]
    return [c[name] for name in names]


MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


REACH = 3
"""How far a cubic filter reads past an edge."""


def grid_sample(c: AtenCall) -> Tensor:
    """Border padding. Each element past the edge is replaced by the one at the edge; other formats
    clamp the position of the filter instead.
    """
    x, grid = c.tensor("input"), c.tensor("grid")
    mode, padding, corners = (
        MODES[c.number("interpolation_mode")],
        PADDINGS[c.number("padding_mode")],
        bool(c["align_corners"]),
    )
    if (mode, padding) == ("bicubic", "border"):
        x, grid = widened_edges(c, x, grid, corners=corners)
        padding, corners = "zeros", True
    return sample.grid_sample(c.b, x, grid, mode=mode, padding=padding, corners=corners)


def widened_edges(c: AtenCall, x: Tensor, grid: Tensor, *, corners: bool) -> tuple[Tensor, Tensor]:
    """The image with replicated edges, and the grid as positions in it, clamped to where the result
    does not change.
    """
    spatial = tuple(reversed(x.shape[2:]))
    sizes = c.b.op("Sizes", [], {"sizes": spatial, "dtype": grid.dtype})
    indices = sample.grid_positions(c.b, grid, sizes, corners=corners)
    near = c.op(
        "Min", c.op("Max", indices, c.like(1.0 - REACH, grid)), sizes + (REACH - 2.0)
    ) + float(REACH)
    pads = (0, 0, *[REACH] * len(spatial))
    wide = c.op("PadFrom", x, low=pads, high=pads, mode="edge")
    last = c.b.op(
        "Sizes", [], {"sizes": tuple(size + 2 * REACH - 1 for size in spatial), "dtype": grid.dtype}
    )
    return wide, c.op("Div", near * 2.0, last) - 1.0


def affine_grid(c: AtenCall) -> Tensor:
    sizes = c.sizes("size")[2:]
    return sample.affine_grid(c.b, c.tensor("theta"), sizes, corners=bool(c["align_corners"]))


def nms(c: AtenCall) -> Tensor:
    """Non-maximum suppression. Boxes [N, 4] and scores [N]; returns the indices of the selected
    boxes, the best first.
    """
    boxes, scores = c.tensor("dets"), c.tensor("scores")
    return selected_boxes(
        c.b,
        boxes,
        scores,
        c.scalar(boxes.shape[0], "int64"),
        c.b.constant(float(c.number("iou_threshold")), "float32"),
        c.b.constant(float("-inf"), "float32"),
    )


def roi_align(c: AtenCall) -> Tensor:
    """Regions [R, 5]: the image index, then the corners."""
    x, rois = c.tensor("input"), c.tensor("rois")
    images = c.cast(reshaped(c.b, part(c.b, rois, 1, 0, 1), rois.shape[:1]), "int64")
    ratio = c.number("sampling_ratio")
    if ratio <= 0:
        raise c.unsupported(*sample.DATA_DEPENDENT_RATIO)
    return sample.roi_align(
        c.b,
        x,
        part(c.b, rois, 1, 1, 4),
        images,
        bins=(c.number("pooled_height"), c.number("pooled_width")),
        ratio=ratio,
        scale=float(c.number("spatial_scale")),
        half_pixel=bool(c["aligned"]),
    )


def deform_conv(c: AtenCall) -> Tensor:
    pairs = {
        name: (c.number(f"{name}_h"), c.number(f"{name}_w"))
        for name in ("stride", "pad", "dilation")
    }
    return sample.deform_conv(
        c.b,
        c.tensor("input"),
        c.tensor("weight"),
        c.tensor("offset"),
        c.tensor("bias"),
        c.tensor("mask") if c["use_mask"] else None,
        strides=pairs["stride"],
        pads=(*pairs["pad"], *pairs["pad"]),
        dilation=pairs["dilation"],
        groups=c.number("groups"),
        offset_groups=c.number("offset_groups"),
    )


RESIZING = {
    **{f"upsample_nearest{d}d": upsample("nearest", d) for d in (1, 2, 3)},
    **{f"_upsample_nearest_exact{d}d": upsample("nearest", d, exact=True) for d in (1, 2, 3)},
    "upsample_linear1d": upsample("linear", 1),
    "upsample_bilinear2d": upsample("linear", 2),
    "upsample_trilinear3d": upsample("linear", 3),
    "upsample_bicubic2d": upsample("cubic", 2),
    "_upsample_bilinear2d_aa": upsample("linear", 2, antialias=True),
    "_upsample_bicubic2d_aa": upsample("cubic", 2, antialias=True),
}
IMAGE: dict[str, AtenHandler] = {
    **RESIZING,
    "grid_sampler_2d": grid_sample,
    "grid_sampler_3d": grid_sample,
    "grid_sampler": grid_sample,
    "affine_grid_generator": affine_grid,
}
VISION: dict[str, AtenHandler] = {"nms": nms, "roi_align": roi_align, "deform_conv2d": deform_conv}
"""Operators of torchvision."""
