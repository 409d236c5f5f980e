"""Test cases of layers: options, shapes of inputs, and the source of Keras's result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

from webkiln.frontends.keras.framework import put_weights

Shape = tuple[int, ...]
VECTOR, SEQUENCE, IMAGE, VOLUME = (6,), (11, 4), (9, 8, 4), (6, 5, 7, 2)
FIRST, VOLUME_FIRST = (4, 9, 8), (2, 6, 5, 7)


@dataclass(frozen=True)
class LayerCase:
    """Options of a layer, and the shapes of its inputs without the batch. If TensorFlow has no
    kernel for them, `oracle` names the layer that computes the result: `channels_last` with
    transposed inputs, or `spread` with explicit zeros in a dilated kernel.
    """

    options: Mapping[str, Any]
    shapes: tuple[Shape, ...]
    dtype: str = "float32"
    oracle: str = ""
    call: Mapping[str, Any] = field(default_factory=dict)


def on(
    *shapes: Shape,
    dtype: str = "float32",
    oracle: str = "",
    call: Mapping[str, Any] | None = None,
    **options: Any,
) -> LayerCase:
    return LayerCase(options, shapes, dtype, oracle, call or {})


def randomise(model: Any, seed: int = 1) -> None:
    """Set random values in every float weight; variances stay positive."""
    generator = np.random.default_rng(seed)
    for variable in model.weights:
        if keras.backend.is_float_dtype(variable.dtype) and "seed" not in variable.name:
            low = 0.5 if "variance" in variable.name else -0.7
            variable.assign(generator.uniform(low, 0.9 + low * 0.2, size=variable.shape))
    put_weights(model, model.get_weights())
