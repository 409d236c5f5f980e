"""Random weights for networks whose trained ones are not available. The networks remain numerically
well-behaved.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from webkiln.frontends.keras.ranges import RANGED, natural_scales
from webkiln.ir.types import Array
from webkiln.random_inputs import natural

SEED = 20
BATCH = 8
SPREAD = 0.2
"""The maximum deviation of gamma, beta and biases from their usual values."""
CENTRES = {"gamma": 0.5, "beta": 1.0}
"""For batch normalization: most outputs are in the linear range of an activation. Before a sum,
beta is about 0: otherwise the offsets of many branches would add up, and subtracting them would
leave mostly rounding errors.
"""


def fill_randomly(model: Any) -> None:
    """Set random weights of a built `keras.Model` with a dynamic batch axis; equal on every call.

    Kernels follow He et al. (2015); those of a softmax omit the gain for ReLU. Gamma, beta and
    biases deviate from their usual values. The statistics of batch normalizations are those of a
    forward pass over images that include the reference inputs. With random statistics, each layer
    would shrink the part that depends on the input, and with those of other images this part would
    grow, until all outputs are alike and a comparison verifies nothing. Rounding errors must not
    grow from layer to layer either, as in chaotic networks (Schoenholz et al., 2017): hence
    `CENTRES`, and no variance below the average of its layer.
    """
    generator = np.random.default_rng(SEED)
    layers = [
        layer
        for layer in model._flatten_layers(include_self=False)
        if layer.variables and not _has_layers(layer)
    ]
    normalisations = [layer for layer in layers if type(layer).__name__ == "BatchNormalization"]
    for layer in layers:
        for variable in layer.trainable_variables:
            variable.assign(_values(layer, variable, generator))
    scale = natural_scales(
        (type(layer).__name__, layer.get_config())
        for layer in model.layers
        if type(layer).__name__ in RANGED
    )[0]
    batches = [
        np.concatenate(
            [
                natural(str(x.dtype), (1, *x.shape[1:]), 2 * index + image, scale)
                for image in range(BATCH)
            ]
        )
        for index, x in enumerate(model.inputs)
    ]
    for layer in normalisations:
        layer.call = _taking_statistics(layer)
    model(batches if len(batches) > 1 else batches[0], training=False)
    for layer in normalisations:
        del layer.call


def _taking_statistics(layer: Any) -> Callable[..., Any]:
    """A batch normalization's call that first stores the statistics of its inputs."""

    def call(inputs: Any, training: bool = False, mask: Any = None) -> Any:
        values = np.asarray(inputs, np.float64)
        others = tuple(axis for axis in range(values.ndim) if axis != layer.axis % values.ndim)
        variance = values.var(others)
        layer.moving_mean.assign(values.mean(others))
        layer.moving_variance.assign(np.maximum(variance, variance.mean()))
        return type(layer).call(layer, inputs, training=False)

    return call


def _has_layers(layer: Any) -> bool:
    return any(True for _ in layer._flatten_layers(include_self=False))


def _values(layer: Any, variable: Any, generator: np.random.Generator) -> Array:
    shape = tuple(variable.shape)
    if len(shape) >= 2:
        gain = 1 if getattr(getattr(layer, "activation", None), "__name__", "") == "softmax" else 2
        return generator.standard_normal(shape, np.float32) * np.float32(
            np.sqrt(gain / _fan_in(layer, variable.name, shape))
        )
    usual = CENTRES if type(layer).__name__ == "BatchNormalization" else {"gamma": 1.0}
    centre = (
        usual.get(variable.name, 0.0) if variable.name != "beta" or not _is_added(layer) else 0.0
    )
    return generator.uniform(centre - SPREAD, centre + SPREAD, shape)


def _is_added(layer: Any) -> bool:
    """Whether a layer's output is an operand of a sum. Dropout is skipped, as at inference."""
    readers = [node.operation for node in layer._outbound_nodes]
    return any(
        type(reader).__name__ == "Add" or (type(reader).__name__ == "Dropout" and _is_added(reader))
        for reader in readers
    )


def _fan_in(layer: Any, name: str, shape: tuple[int, ...]) -> float:
    """The number of products that are summed for one element of the layer's output."""
    kind = type(layer).__name__
    if name == "depthwise_kernel" or kind.startswith("Depthwise"):
        return prod(shape[:-2])
    if kind.endswith("Transpose"):
        return prod(shape[:-2]) * shape[-1] / int(prod(layer.strides))
    return prod(shape[:-1])
