"""The range of numbers that a model is made for, where its first layers say so."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from webkiln.random_inputs import SCALES

RANGED = ("Rescaling", "Normalization")


def natural_scales(layers: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[float, ...]:
    """The scales of natural inputs that suit a model of such layers (class, config), smallest
    first.

    A model that begins with `Rescaling(1 / 255)`, or with a `Normalization` of bytes, hardly sees
    the difference between images in 0..1: what it computes of them is mostly the noise of float32.
    """
    expected = next(
        (reach for name, config in layers if (reach := _reach(name, config)) is not None), 1.0
    )
    return tuple(scale for scale in SCALES if 2 * scale >= expected) or SCALES[-1:]


def _reach(name: str, config: Mapping[str, Any]) -> float | None:
    if name == "Rescaling":
        factor = float(np.abs(config["scale"]).max())
        return 1 / factor if factor > 0 else None
    if name == "Normalization" and config.get("mean") is not None and not config.get("invert"):
        return float(np.abs(config["mean"]).max())
    return None
