"""Functions that sample images: resizing, spatial transformers, regions of interest."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions.indexing import get_item
from webkiln.frontends.chainer.functions.shape import concat, reshape, transpose
from webkiln.frontends.chainer.functions.window import spread
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, sizes


def resize_images(
    x: Any, output_shape: Any, *, mode: str = "bilinear", align_corners: bool = True
) -> ChainVariable:
    x = as_variable(x)
    if mode not in ("bilinear", "nearest"):
        raise SourceError(f"F.resize_images: mode is {mode!r}; expected bilinear or nearest")
    attrs: dict[str, Any] = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    if mode == "bilinear":
        attrs = {
            "mode": "linear",
            "coordinate_transformation_mode": "align_corners" if align_corners else "half_pixel",
        }
    return node("Resize", x, None, None, sizes((*x.shape[:2], *output_shape)), **attrs)


def spatial_transformer_grid(theta: Any, output_shape: Any, **kwargs: Any) -> ChainVariable:
    """Grid positions [N, 2, H, W] in -1..1."""
    theta = as_variable(theta)
    height, width = output_shape
    grid = node("AffineGrid", theta, sizes((theta.shape[0], 1, height, width)), align_corners=1)
    return transpose(grid, (0, 3, 1, 2))


def spatial_transformer_sampler(x: Any, grid: Any, **kwargs: Any) -> ChainVariable:
    points = transpose(as_variable(grid), (0, 2, 3, 1))
    return node(
        "GridSample", as_variable(x), points, mode="linear", padding_mode="zeros", align_corners=1
    )


def deformable_convolution_2d_sampler(
    x: Any, offset: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0
) -> ChainVariable:
    """Offsets: all horizontal ones, then all vertical ones."""
    x, offset, W = map(as_variable, (x, offset, W))
    taps = W.shape[2] * W.shape[3]
    n, _, height, width = offset.shape
    pairs = transpose(reshape(offset, (n, 2, taps, height, width)), (0, 2, 1, 3, 4))
    swapped = get_item(pairs, (slice(None), slice(None), slice(None, None, -1)))
    points = reshape(swapped, (n, 2 * taps, height, width))
    before = spread(pad, 2)
    return node(
        "DeformConv",
        x,
        W,
        points,
        b,
        kernel_shape=W.shape[2:],
        strides=spread(stride, 2),
        pads=(*before, *before),
    )


def roi_pooling_2d(x: Any, rois: Any, outh: Any, outw: Any, spatial_scale: float) -> ChainVariable:
    """Regions are rows of image index, x1, y1, x2, y2. The end is inclusive."""
    return node(
        "MaxRoiPool",
        as_variable(x),
        as_variable(rois),
        pooled_shape=(outh, outw),
        spatial_scale=float(spatial_scale),
    )


def _rounded(x: ChainVariable) -> ChainVariable:
    return node("Cast", node("Round", x), to=7)


def _bins(first: ChainVariable, last: ChainVariable, bins: int, size: Any) -> ChainVariable:
    """Masks of the positions in each bin of each region, [R, bins, size]."""
    span = node("Max", node("Sub", last, first), np.asarray(1, np.int64))
    numbers = np.arange(bins, dtype=np.int64).reshape(1, bins)
    total = np.asarray(bins, np.int64)
    starts = node("Add", _floor_div(node("Mul", span, numbers), total), first)
    end = node(
        "Add", node("Neg", _floor_div(node("Neg", node("Mul", span, numbers + 1)), total)), first
    )
    positions = node(
        "Range",
        np.asarray(0, np.int64),
        node("Squeeze", sizes([size]), axes=(0,)),
        np.asarray(1, np.int64),
    )
    reach = [reshape(item, (first.shape[0], bins, 1)) for item in (starts, end)]
    return node(
        "And", node("GreaterOrEqual", positions, reach[0]), node("Less", positions, reach[1])
    )


def _floor_div(a: ChainVariable, b: Any) -> ChainVariable:
    return node("FloorDiv", a, b, domain="chainer")


def roi_pooled(largest: bool) -> Callable[..., ChainVariable]:
    """Regions are rows of y1, x1, y2, x2, with exclusive ends; `roi_indices` are the images."""

    def function(
        x: Any, rois: Any, roi_indices: Any, outsize: Any, spatial_scale: float
    ) -> ChainVariable:
        x, rois, images = map(as_variable, (x, rois, roi_indices))
        bins = spread(outsize, 2)
        corners = _rounded(node("Mul", rois, float(spatial_scale)))
        y = node("Gather", x, node("Cast", images, to=7), axis=0)
        for axis in (0, 1):
            first, last = (
                get_item(corners, (slice(None), slice(column, column + 1)))
                for column in (axis, axis + 2)
            )
            inside = _bins(first, last, bins[axis], x.shape[2 + axis])
            y = _reduced(y, inside, axis, largest)
        return y

    return function


def _reduced(y: ChainVariable, is_inside: ChainVariable, axis: int, largest: bool) -> ChainVariable:
    count, bins, size = is_inside.shape
    shape = (count, 1, bins, size, 1) if axis == 0 else (count, 1, 1, bins, size)
    wide = reshape(
        y, (*y.shape[:2], 1, *y.shape[2:]) if axis == 0 else (*y.shape[:3], 1, y.shape[3])
    )
    mask = reshape(is_inside, shape)
    if not largest:
        weight = node("Cast", mask, to=1)
        summed = node("ReduceSum", node("Mul", wide, weight), axes=(3 + axis,), keepdims=0)
        number = node("ReduceSum", weight, axes=(3 + axis,), keepdims=0)
        return node("Div", summed, node("Max", number, 1.0))
    chosen = node(
        "ReduceMax",
        node("Where", mask, wide, np.asarray(-np.inf, np.float32)),
        axes=(3 + axis,),
        keepdims=0,
    )
    return node("Where", node("IsInf", chosen), np.asarray(0, np.float32), chosen)


def roi_aligned(largest: bool) -> Callable[..., ChainVariable]:
    """Sample each bin at several positions. Positions outside the image are zero for the mean, and
    ignored for the maximum.
    """

    def function(
        x: Any,
        rois: Any,
        roi_indices: Any,
        outsize: Any,
        spatial_scale: float,
        sampling_ratio: Any = None,
    ) -> ChainVariable:
        x, rois, images = map(as_variable, (x, rois, roi_indices))
        bins = spread(outsize, 2)
        ratios = (
            tuple(sampling_ratio)
            if isinstance(sampling_ratio, list | tuple)
            else (sampling_ratio, sampling_ratio)
        )
        if None in ratios:
            raise SourceError(
                "F.roi_*_align_2d: the number of samples depends"
                " on the sizes of the regions; set sampling_ratio"
            )
        corners = concat(
            [get_item(rois, (slice(None), slice(column, column + 1))) for column in (1, 0, 3, 2)], 1
        )
        counts = [size * ratio for size, ratio in zip(bins, ratios, strict=True)]

        def samples(image: ChainVariable) -> ChainVariable:
            read = node(
                "RoiAlign",
                image,
                corners,
                node("Cast", images, to=7),
                mode="avg",
                output_height=counts[0],
                output_width=counts[1],
                sampling_ratio=1,
                spatial_scale=float(spatial_scale),
                coordinate_transformation_mode="output_half_pixel",
            )
            return reshape(
                read, (rois.shape[0], image.shape[1], bins[0], ratios[0], bins[1], ratios[1])
            )

        if not largest:
            return node("ReduceMean", samples(x), axes=(3, 5), keepdims=0)
        plane = node("Expand", np.asarray(1, x.dtype), sizes((x.shape[0], 1, *x.shape[2:])))
        is_inside = node(
            "Where", node("Greater", samples(plane), 0.5), samples(x), np.asarray(-np.inf, x.dtype)
        )
        return node("ReduceMax", is_inside, axes=(3, 5), keepdims=0)

    return function


IMAGE: Mapping[str, Callable[..., Any]] = {
    "resize_images": resize_images,
    "spatial_transformer_grid": spatial_transformer_grid,
    "spatial_transformer_sampler": spatial_transformer_sampler,
    "deformable_convolution_2d_sampler": deformable_convolution_2d_sampler,
    "roi_pooling_2d": roi_pooling_2d,
    "roi_max_pooling_2d": roi_pooled(True),
    "roi_average_pooling_2d": roi_pooled(False),
    "roi_max_align_2d": roi_aligned(True),
    "roi_average_align_2d": roi_aligned(False),
}
