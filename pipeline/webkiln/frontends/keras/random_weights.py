"""Made-up weights with which a network still behaves like one, for where the trained ones are not
to be had.
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
"""How far gamma, beta and biases are from their usual value, at most."""
CENTRES = {"gamma": 0.5, "beta": 1.0}
"""Of batch normalisations: most of what they give lies in the linear part of an activation. Where a
sum follows, beta is about 0: the offsets of many branches would add up, and what is left of a
number after subtracting them is mostly rounding.
"""


def fill_randomly(model: Any) -> None:
    """Give a built `keras.Model` of one open batch axis the same made-up weights each time.

    Kernels are drawn as He et al. (2015) propose, those of a softmax without the gain that makes up
    for a ReLU; gamma, beta and biases deviate from their usual values. The statistics of batch
    normalisations are those of a forward pass over images that begin with the reference's own.
    Statistics drawn at random would let each layer shrink what depends on the input, and those of
    other images let it grow, until the outputs are all alike and comparing them verifies nothing.
    Nor may rounding errors grow from layer to layer, as they do where a network is chaotic
    (Schoenholz et al., 2017): hence `CENTRES`, and no variance below the average of its layer.
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
    """The call of a batch normalisation that takes the statistics of its inputs for its own first."""

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
    """Whether what a layer gives goes into a sum, of which dropout is no part at inference."""
    readers = [node.operation for node in layer._outbound_nodes]
    return any(
        type(reader).__name__ == "Add" or (type(reader).__name__ == "Dropout" and _is_added(reader))
        for reader in readers
    )


def _fan_in(layer: Any, name: str, shape: tuple[int, ...]) -> float:
    """How many products are summed to one element of the layer's output."""
    kind = type(layer).__name__
    if name == "depthwise_kernel" or kind.startswith("Depthwise"):
        return prod(shape[:-2])
    if kind.endswith("Transpose"):
        return prod(shape[:-2]) * shape[-1] / int(prod(layer.strides))
    return prod(shape[:-1])
