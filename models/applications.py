"""Networks of keras.applications as model files. The recipes next to this file select the network,
its size and its weights.
"""

import inspect
from pathlib import Path
from typing import Any

import keras

from webkiln.errors import RecipeError, SourceError
from webkiln.frontends.keras.random_weights import fill_randomly

WEIGHTS = {"pretrained": "imagenet", "random": None}


def export(path: Path, network: str, weights: str, size: int, **options: Any) -> None:
    """Write `network`, a function of keras.applications, for images [N,size,size,3]. `options` are
    further arguments.

    `weights` is `pretrained` (ImageNet weights are downloaded) or `random`.
    """
    if weights not in WEIGHTS:
        raise RecipeError(f"weights is {weights!r}; valid: {', '.join(WEIGHTS)}")
    make = getattr(keras.applications, network)
    parameters = inspect.signature(make).parameters
    if unknown := sorted(set(options) - set(parameters)):
        raise RecipeError(f"applications.py: {network} takes no {', '.join(map(repr, unknown))}")
    image = keras.Input((size, size, 3), name="image")
    name = (
        parameters["name"].default or network.lower()
    )  # EfficientNetV2 finds its blocks by its own name
    try:
        model = make(
            weights=WEIGHTS[weights],
            input_tensor=image,
            input_shape=image.shape[1:],
            name=name,
            **options,
        )
    except Exception as error:
        if weights == "random" or "fetch failure" not in str(error):
            raise
        raise SourceError(
            f"{network}: its weights cannot be downloaded ({error}); others are made up by"
            " --parameter weights=random of webkiln build, or weights=random of make and doit"
        ) from None
    if weights == "random":
        fill_randomly(model)
    model.save(path)
