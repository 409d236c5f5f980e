"""A Python function that returns a chain -> recording."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError
from webkiln.frontends.chainer.model_functions import record_function
from webkiln.frontends.chainer.recording import write
from webkiln.plugins import importable, isolated_plugins


def fetch(inputs: Mapping[str, Path], params: Mapping[str, Any], target: Path) -> None:
    if "script.py" in inputs:
        raise RecipeError(
            "chains are returned by functions, not written by scripts: source ="
            ' "package.module:function"'
        )
    with isolated_plugins(), importable(inputs.get("modules/")):
        model, blobs = record_function(params, params["input_shapes"], inputs.get("weights"))
    write(target, model, blobs)
