"""Options of convolutions, pooling and resizing."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from tests.frontends.onnx.option_rows import IMAGE, RNG, Row, integers, real


def windows() -> Iterator[Row]:
    w = {groups: real(4, 4 // groups, 3, 2) for groups in (1, 2, 4)}
    transposed = {groups: real(4, 6 // groups if groups < 4 else 2, 3, 2) for groups in (1, 2, 4)}
    for pad, strides in product(("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), ([1, 1], [2, 3])):
        attrs = {"auto_pad": pad, "strides": strides}
        for groups in (1, 2, 4):
            yield Row("Conv", 11, (IMAGE, w[groups], real(4)), {**attrs, "group": groups})
        for op in ("MaxPool", "AveragePool"):
            yield Row(op, 11, (IMAGE,), {**attrs, "kernel_shape": [2, 3]})
        yield Row("LpPool", 11, (IMAGE,), {**attrs, "kernel_shape": [2, 3]})
        if pad != "NOTSET":
            yield Row(
                "ConvTranspose",
                11,
                (IMAGE, transposed[1]),
                {**attrs, "strides": [2, 2] if max(strides) > 1 else strides},
            )
    for pads, strides, gaps in product(
        ([0, 0, 0, 0], [1, 0, 2, 1]), ([1, 1], [2, 3]), ([1, 1], [2, 1])
    ):
        attrs = {"pads": pads, "strides": strides}
        yield Row("Conv", 11, (IMAGE, w[2]), {**attrs, "dilations": gaps, "group": 2})
        for groups in (1, 2, 4):
            yield Row(
                "ConvTranspose",
                11,
                (IMAGE, transposed[groups]),
                {**attrs, "dilations": gaps, "group": groups},
            )
        yield Row(
            "ConvTranspose",
            11,
            (IMAGE, transposed[1], real(6)),
            {**attrs, "output_padding": [1, 0] if max(strides) > 1 else [0, 0]},
        )
        for ceil in (0, 1):
            yield Row(
                "MaxPool",
                12,
                (IMAGE,),
                {**attrs, "kernel_shape": [3, 2], "ceil_mode": ceil, "dilations": gaps},
                outputs=2,
            )
            for counted in (0, 1):
                if max(gaps) == 1:
                    yield Row(
                        "AveragePool",
                        11,
                        (IMAGE,),
                        {
                            **attrs,
                            "kernel_shape": [3, 2],
                            "ceil_mode": ceil,
                            "count_include_pad": counted,
                        },
                    )
    yield Row(
        "MaxPool",
        12,
        (IMAGE,),
        {"kernel_shape": [3, 2], "strides": [2, 2], "storage_order": 1},
        outputs=2,
    )
    yield Row(
        "ConvTranspose", 11, (IMAGE, transposed[1]), {"strides": [2, 3], "output_shape": [15, 24]}
    )
    yield Row("MaxPool", 8, (IMAGE,), {"kernel_shape": [3, 2]})
    signs = -np.arange(1, 17, dtype=np.int8).reshape(1, 1, 4, 4)
    for dtype in (np.int8, np.uint8):
        yield Row(
            "MaxPool",
            12,
            (signs.astype(dtype),),
            {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        )
    for op in ("GlobalMaxPool", "GlobalAveragePool"):
        yield Row(op, 11, (IMAGE,))


def resizings() -> Iterator[Row]:
    """Without cubic filters at a border: onnxruntime repeats elements there, the reference of the
    standard moves the entire filter.
    """
    image = IMAGE[:1, :2, :5, :6]
    scales = np.array([1, 1, 1.6, 0.5], np.float32)
    modes = (
        "half_pixel",
        "asymmetric",
        "align_corners",
        "pytorch_half_pixel",
        "half_pixel_symmetric",
    )
    for where in modes:
        opset = 19 if where == "half_pixel_symmetric" else 13
        for operands, fixed in (
            ((image, None, scales), (2,)),
            ((image, None, None, integers(1, 2, 8, 3)), (3,)),
        ):
            for mode in ("linear", "cubic"):
                yield Row(
                    "Resize",
                    opset,
                    operands,
                    {"mode": mode, "coordinate_transformation_mode": where},
                    fixed,
                )
            for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
                attrs = {
                    "mode": "nearest",
                    "nearest_mode": rounding,
                    "coordinate_transformation_mode": where,
                }
                yield Row("Resize", opset, operands, attrs, fixed)
    for outside, a in product((0, 1), (-0.75, -0.5)):
        attrs = {"mode": "cubic", "cubic_coeff_a": a, "exclude_outside": outside}
        yield Row("Resize", 13, (image, None, scales), attrs, (2,))
    yield Row(
        "Resize", 10, (image, np.array([1, 1, 1.6, 2], np.float32)), {"mode": "nearest"}, (1,)
    )
    yield Row("Upsample", 9, (image, np.array([1, 1, 2, 3], np.float32)), {"mode": "nearest"}, (1,))
    grid = (RNG.random((1, 3, 4, 2)) * 2.6 - 1.3).astype(np.float32)
    for mode, padding, corners in product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (0, 1)
    ):
        if (mode, padding) != ("bicubic", "border"):
            yield Row(
                "GridSample",
                16,
                (image, grid),
                {"mode": mode, "padding_mode": padding, "align_corners": corners},
            )
    rois, batch = np.array([[0, 0, 4, 3], [1, 1.5, 3, 4]], np.float32), integers(0, 0)
    for mode, ratio, scale in product(("avg", "max"), (1, 2), (1.0, 0.5)):
        attrs = {
            "mode": mode,
            "sampling_ratio": ratio,
            "spatial_scale": scale,
            "output_height": 2,
            "output_width": 3,
        }
        yield Row("RoiAlign", 10, (image, rois, batch), attrs)
        yield Row(
            "RoiAlign",
            16,
            (image, rois, batch),
            {**attrs, "coordinate_transformation_mode": "output_half_pixel"},
        )
