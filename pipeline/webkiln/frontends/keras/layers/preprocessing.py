"""Layers that bring inputs into the range that a network was trained on."""

from typing import TYPE_CHECKING, Any

import numpy as np

from webkiln.frontends.keras.layer import Layer
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor

if TYPE_CHECKING:
    from webkiln.frontends.keras.converter import KerasConverter

EPSILON = 1e-7
"""The least deviation that Keras divides by."""


def rescaling(converter: "KerasConverter", layer: Layer) -> None:
    """x * scale + offset, each a number or one per channel."""
    b, x = converter.builder, _real(converter, layer)
    scale, offset = (converter.convert_to_constant_variable(_array(layer.config[name], x.dtype)) for name in ("scale", "offset"))
    converter.set_variable(converter.get_output_tensor(layer)[0], b.op("Add", [b.op("Mul", [x, scale]), offset]))


def normalization(converter: "KerasConverter", layer: Layer) -> None:
    """(x - mean) / deviation, or with `invert` x * deviation + mean, where the mean and variance are kept for each place on `axis`."""
    b, x = converter.builder, _real(converter, layer)
    axis = layer.config.get("axis", -1)
    axes = [] if axis is None else [a % x.type.rank for a in (axis if isinstance(axis, list) else [axis])]
    shape = tuple(size if a in axes else 1 for a, size in enumerate(x.shape))

    def statistic(name: str) -> Tensor:
        given = layer.config.get(name)
        if given is not None:
            return converter.convert_to_constant_variable(
                np.broadcast_to(_aligned(_array(given, x.dtype), sorted(axes), len(shape)), shape)
            )
        return b.op("Reshape", [converter.convert_to_constant_variable(layer.weight(name))], {"shape": shape})

    mean = statistic("mean")
    deviation = b.op("Max", [b.op("Sqrt", [statistic("variance")]), b.constant(EPSILON, x.dtype)])
    if layer.config.get("invert", False):
        y = b.op("Add", [b.op("Mul", [x, deviation]), mean])
    else:
        y = b.op("Div", [b.op("Sub", [x, mean]), deviation])
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def _real(converter: "KerasConverter", layer: Layer) -> Tensor:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    return x if is_float(x.dtype) else converter.builder.op("Cast", [x], {"dtype": "float32"})


def _array(value: Any, dtype: str) -> Any:
    return np.asarray(value["config"]["value"] if isinstance(value, dict) else value, dtype)


def _aligned(given: Any, axes: list[int], rank: int) -> Any:
    """Values for the last of `axes`, with a size of 1 on every other axis."""
    sizes = [1] * rank
    for axis, size in zip(reversed(axes), reversed(given.shape), strict=False):
        sizes[axis] = size
    return given.reshape(sizes)
