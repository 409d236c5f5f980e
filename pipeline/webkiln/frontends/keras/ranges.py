"""The input range that a model expects, if its first layers show it."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from webkiln.random_inputs import SCALES

RANGED = ("Rescaling", "Normalization")


def natural_scales(layers: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[float, ...]:
    """The scales of natural inputs for a model with these layers (class, config), the smallest
    first.

    A model that starts with `Rescaling(1 / 255)`, or with a `Normalization` for bytes, hardly
    distinguishes images in 0..1: its outputs for them are mostly float32 noise.
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
