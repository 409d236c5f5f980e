"""Images resized as TensorFlow does."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.ir.dim import Size, known, known_shape
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor

METHODS: Mapping[str, str] = {
    "nearest": "nearest",
    "bilinear": "linear",
    "bicubic": "cubic",
    "area": "area",
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
}
"""Keras's interpolation -> the operator's method."""


BICUBIC_STEPS = 1024
"""The number of positions between two elements in TensorFlow's table of bicubic weights."""


def resized_to(
    b: GraphBuilder,
    x: Tensor,
    axes: Sequence[int],
    target: Sequence[Size],
    interpolation: str,
    *,
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_value: float = 0.0,
) -> Tensor:
    """Resize height and width; to preserve the aspect ratio, crop or pad first."""

    def resize(y: Tensor) -> Tensor:
        if crop_to_aspect_ratio:
            y = _cropped(b, y, axes, target)
        elif pad_to_aspect_ratio:
            y = _padded(b, y, axes, target, float(fill_value))
        return resized(b, y, axes, target, interpolation, antialias=bool(antialias))

    return _rounded(b, x, interpolation, resize)


def _rounded(
    b: GraphBuilder, x: Tensor, interpolation: str, resize: Callable[[Tensor], Tensor]
) -> Tensor:
    """The result of `resize`. Interpolations other than `nearest` compute in float32, and round
    integers at the end.
    """
    if interpolation == "nearest" or x.dtype == "float32":
        return resize(x)
    y = resize(b.op("Cast", [x], {"dtype": "float32"}))
    return b.op("Cast", [y if is_float(x.dtype) else b.op("Round", [y])], {"dtype": x.dtype})


def resized(
    b: GraphBuilder,
    x: Tensor,
    axes: Sequence[int],
    target: Sequence[Size],
    interpolation: str,
    *,
    antialias: bool = False,
) -> Tensor:
    """Resize like TensorFlow's kernels."""
    method = METHODS[interpolation]
    attrs: dict[str, Any] = {"axes": tuple(axes), "sizes": tuple(target)}
    if method in ("nearest", "area"):
        attrs |= {"method": method}
    elif method == "linear":
        attrs |= {"method": "triangle", "antialias": True} if antialias else {"method": method}
    else:
        attrs |= {
            "method": method,
            "antialias": antialias,
            "resolution": BICUBIC_STEPS if method == "cubic" and not antialias else 0,
        }
    return b.op("Resize", [x], attrs, x.order)


def _fitting(x: Tensor, axes: Sequence[int], target: Sequence[Size]) -> list[int]:
    """For each axis, the size that matches the other one at the target's aspect ratio, in
    TensorFlow's float32.
    """
    height, width = (known(x.shape[axis], "the size of an image") for axis in axes)
    target = known_shape(target, "the new size of an image")
    scaled = (
        np.float32(width * target[0]) / np.float32(target[1]),
        np.float32(height * target[1]) / np.float32(target[0]),
    )
    return [int(size) for size in scaled]


def _cropped(b: GraphBuilder, x: Tensor, axes: Sequence[int], target: Sequence[Size]) -> Tensor:
    starts: list[Size] = [0] * x.type.rank
    extents = list(x.shape)
    for axis, fitting in zip(axes, _fitting(x, axes, target), strict=True):
        extents[axis] = max(min(x.shape[axis], fitting), 1)
        starts[axis] = (x.shape[axis] - extents[axis]) // 2
    return b.op(
        "Slice",
        [x],
        {"starts": tuple(starts), "sizes": tuple(extents), "steps": (1,) * x.type.rank},
    )


def _padded(
    b: GraphBuilder, x: Tensor, axes: Sequence[int], target: Sequence[Size], value: float
) -> Tensor:
    around: list[Size] = [0] * x.type.rank
    for axis, fitting in zip(axes, _fitting(x, axes, target), strict=True):
        around[axis] = max(fitting - x.shape[axis], 0) // 2
    return b.op("Pad", [x], {"low": tuple(around), "high": tuple(around), "value": value})
