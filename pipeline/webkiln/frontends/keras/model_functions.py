"""Models that a Python function returns. Each stage that needs one calls the function again, and
restores the weights that were saved once.
"""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import RecipeError, SourceError, WebkilnError
from webkiln.frontends.core.model_functions import check_parameters
from webkiln.frontends.keras.framework import first_sentence, import_keras, put_weights


def make_model(recipe: Mapping[str, Any]) -> Any:
    """The result of `function` of `module` for its `parameters`: a built `keras.Model`. The module
    must be importable.
    """
    module, function, parameters = recipe["module"], recipe["function"], recipe["parameters"]
    where = f"{module}:{function}"
    keras = import_keras(f"{where} makes a Keras model")
    try:
        make = getattr(importlib.import_module(module), function, None)
    except WebkilnError:
        raise
    except Exception as error:
        raise SourceError(f"{where}: {type(error).__name__}: {error}") from error
    if not callable(make):
        raise RecipeError(
            f"{where}: the module has no function {function!r}; it returns a keras.Model"
        )
    check_parameters(where, make, **parameters)
    try:
        model = make(**parameters)
    except WebkilnError:
        raise
    except Exception as error:
        raise SourceError(f"{where}: {type(error).__name__}: {first_sentence(error)}") from error
    if not isinstance(model, keras.Model):
        raise SourceError(f"{where}: returned {type(model).__name__}, expected a keras.Model")
    if not model.built:
        raise SourceError(
            f"{where}: the weights of the model that it returned do not exist yet; call the model"
            " once, or model.build(input_shape)"
        )
    return model


def save_weights(model: Any, path: Path) -> None:
    with path.open("wb") as file:
        np.savez(
            file,
            allow_pickle=False,
            **{str(index): array for index, array in enumerate(model.get_weights())},
        )


def remake_model(recipe: Mapping[str, Any], path: Path) -> Any:
    """The model of `make_model` with saved weights. Raises SourceError if they do not match."""
    model = make_model(recipe)
    with np.load(path, allow_pickle=False) as archive:
        arrays = [archive[str(index)] for index in range(len(archive.files))]
    saved, own = (
        [array.shape for array in arrays],
        [tuple(weight.shape) for weight in model.weights],
    )
    if saved != own:
        raise SourceError(
            f"{model.name}: its function returns a different model each time: weights of shapes"
            f" {saved} before, {own} now"
        )
    put_weights(model, arrays)
    return model
