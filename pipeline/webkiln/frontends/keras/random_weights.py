"""Made-up weights with which a network still behaves like one, for where the trained ones are not to be had."""

from math import prod
from typing import Any

import numpy as np

from webkiln.inputs import natural
from webkiln.ir.types import Array

SEED = 20
BATCH = 8
SPREAD = 0.2
"""How far gamma is from 1, and beta and biases from 0, at most."""


def fill_randomly(model: Any) -> None:
    """Give a built `keras.Model` of one open batch axis the same made-up weights each time.

    Kernels are drawn as He et al. (2015) propose; gamma, beta and biases deviate from 1 and 0. The statistics of batch normalisations are
    those of a forward pass over images that begin with the reference's own. Statistics drawn at random would let each layer shrink what
    depends on the input, and those of other images let it grow, until the outputs are all alike and comparing them verifies nothing.
    """
    generator = np.random.default_rng(SEED)
    layers = [layer for layer in model._flatten_layers(include_self=False) if layer.variables and not _has_layers(layer)]
    for layer in layers:
        for variable in layer.trainable_variables:
            variable.assign(_values(layer, variable, generator))
    normalisations = [layer for layer in layers if type(layer).__name__ == "BatchNormalization"]
    momenta = [layer.momentum for layer in normalisations]
    for layer in normalisations:
        layer.momentum = 0.0
    batches = [
        np.concatenate([natural(str(x.dtype), (1, *x.shape[1:]), 2 * index + image, 1.0) for image in range(BATCH)])
        for index, x in enumerate(model.inputs)
    ]
    model(batches if len(batches) > 1 else batches[0], training=True)
    for layer, momentum in zip(normalisations, momenta, strict=True):
        layer.momentum = momentum


def _has_layers(layer: Any) -> bool:
    return any(True for _ in layer._flatten_layers(include_self=False))


def _values(layer: Any, variable: Any, generator: np.random.Generator) -> Array:
    shape = tuple(variable.shape)
    if len(shape) >= 2:
        return generator.standard_normal(shape, np.float32) * np.float32(np.sqrt(2 / _fan_in(layer, variable.name, shape)))
    centre = 1.0 if variable.name == "gamma" else 0.0
    return generator.uniform(centre - SPREAD, centre + SPREAD, shape)


def _fan_in(layer: Any, name: str, shape: tuple[int, ...]) -> float:
    """How many products are summed to one element of the layer's output."""
    kind = type(layer).__name__
    if name == "depthwise_kernel" or kind.startswith("Depthwise"):
        return prod(shape[:-2])
    if kind.endswith("Transpose"):
        return prod(shape[:-2]) * shape[-1] / int(prod(layer.strides))
    return prod(shape[:-1])
