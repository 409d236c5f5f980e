"""Configs of sequential models in the formats of old versions of Keras."""

from typing import Any

import numpy as np


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([*shape, seed]).uniform(-0.9, 0.9, shape).astype("float32")


def layer(class_name: str, name: str, *shape: int | None, **config: Any) -> dict[str, Any]:
    """A layer of a chain. The first has the shape of the input."""
    start = (
        {"batch_input_shape": [None, *shape], "input_dtype": config.pop("input_dtype", "float32")}
        if shape
        else {}
    )
    return {
        "class_name": class_name,
        "config": {"name": name, "trainable": True, **start, **config},
    }


def chain(*layers: dict[str, Any]) -> dict[str, Any]:
    return {"class_name": "Sequential", "config": list(layers)}
