"""The measured networks with weights that compress to almost nothing: a short pattern, repeated."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.bench import networks
from webkiln.ir.types import Array

PERIOD = 509
"""A prime, so that neighbours along every axis differ."""
PATTERN = np.random.default_rng(3).standard_normal(PERIOD)
PATTERN = (PATTERN - PATTERN.mean()) / PATTERN.std()


def make(name: str, folder: Path) -> Any:
    """Build the network, and save it as `<name>.keras` in `folder`."""
    model = networks.make(name, folder)
    for layer in model.layers:
        layer.set_weights([repeated(weight) for weight in layer.get_weights()])
    model.save(folder / f"{name}.keras")
    return model


def repeated(weight: Array) -> Array:
    """A weight with the mean and the deviation of this one. Vectors with a mean near 1 scale others
    when a normalisation is folded, and become constant.
    """
    mean, deviation = float(np.mean(weight)), float(np.std(weight))
    if weight.ndim < 2 and abs(mean - 1) < 0.1:
        return np.full_like(weight, mean)
    return (mean + deviation * np.resize(PATTERN, weight.shape)).astype(weight.dtype)
