"""Layers that change the size of images."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.conv import dims
from webkiln.frontends.keras.windows import sizes
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


def up_sampling(converter: Converter, layer: Layer) -> None:
    """UpSampling1D, 2D, 3D."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    spatial = dims(layer, x.type.rank)[2:]
    factors = sizes(layer.config["size"], len(spatial))
    interpolation = layer.config.get("interpolation", "nearest")
    if interpolation == "nearest":
        y = _repeated(converter.builder, x, spatial, factors)
    else:
        target = [x.shape[axis] * factor for axis, factor in zip(spatial, factors, strict=True)]
        y = resized_to(converter.builder, x, spatial, target, interpolation)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def resizing(converter: Converter, layer: Layer) -> None:
    x = images_of(converter, layer)
    config = layer.config
    options = {
        name: config[name]
        for name in ("antialias", "crop_to_aspect_ratio", "pad_to_aspect_ratio", "fill_value")
        if name in config
    }
    target = (config["height"], config["width"])
    y = resized_to(
        converter.builder, x, spatial_axes(layer, x), target, config["interpolation"], **options
    )
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def resized_to(
    b: GraphBuilder,
    x: Tensor,
    axes: Sequence[int],
    target: Sequence[int],
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


def images_of(converter: Converter, layer: Layer) -> Tensor:
    """The argument of a layer that is called with images alone."""
    args, kwargs = layer.arguments.args, layer.arguments.kwargs
    if isinstance(args[0] if args else next(iter(kwargs.values())), dict):
        raise layer.unsupported(
            "a call on a dict of images, boxes and labels", "Call it on the images alone"
        )
    return converter.get_variable(converter.get_input_tensor(layer)[0])


def spatial_axes(layer: Layer, x: Tensor) -> tuple[int, int]:
    """The axes of height and width in [N, H, W, C] or [H, W, C], or with channels first."""
    last = x.type.rank - (1 if layer.config.get("data_format") == "channels_first" else 2)
    return last - 1, last


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
    target: Sequence[int],
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


def _repeated(b: GraphBuilder, x: Tensor, axes: Sequence[int], factors: Sequence[int]) -> Tensor:
    times = dict(zip(axes, factors, strict=True))
    split = [
        part
        for axis, size in enumerate(x.shape)
        for part in ((size, 1) if axis in times else (size,))
    ]
    wide = [
        part
        for axis, size in enumerate(x.shape)
        for part in ((size, times[axis]) if axis in times else (size,))
    ]
    y = b.op("Broadcast", [b.op("Reshape", [x], {"shape": tuple(split)})], {"shape": tuple(wide)})
    return b.op(
        "Reshape",
        [y],
        {"shape": tuple(size * times.get(axis, 1) for axis, size in enumerate(x.shape))},
        x.order,
    )


def _fitting(x: Tensor, axes: Sequence[int], target: Sequence[int]) -> list[int]:
    """For each axis, the size that matches the other one at the target's aspect ratio, in
    TensorFlow's float32.
    """
    height, width = (x.shape[axis] for axis in axes)
    scaled = (
        np.float32(width * target[0]) / np.float32(target[1]),
        np.float32(height * target[1]) / np.float32(target[0]),
    )
    return [int(size) for size in scaled]


def _cropped(b: GraphBuilder, x: Tensor, axes: Sequence[int], target: Sequence[int]) -> Tensor:
    starts, extents = [0] * x.type.rank, list(x.shape)
    for axis, fitting in zip(axes, _fitting(x, axes, target), strict=True):
        extents[axis] = max(min(x.shape[axis], fitting), 1)
        starts[axis] = (x.shape[axis] - extents[axis]) // 2
    return b.op(
        "Slice",
        [x],
        {"starts": tuple(starts), "sizes": tuple(extents), "steps": (1,) * x.type.rank},
    )


def _padded(
    b: GraphBuilder, x: Tensor, axes: Sequence[int], target: Sequence[int], value: float
) -> Tensor:
    around = [0] * x.type.rank
    for axis, fitting in zip(axes, _fitting(x, axes, target), strict=True):
        around[axis] = max(fitting - x.shape[axis], 0) // 2
    return b.op("Pad", [x], {"low": tuple(around), "high": tuple(around), "value": value})
