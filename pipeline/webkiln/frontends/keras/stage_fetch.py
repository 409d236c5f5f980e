"""A model from user code: the file that an export script writes, or the weights of a `keras.Model`
that a function returns.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.model_functions import export
from webkiln.frontends.keras.model_functions import make_model, save_weights
from webkiln.frontends.keras.plugins import isolated


def fetch(inputs: Mapping[str, Path], params: Mapping[str, Any], target: Path) -> None:
    with isolated(inputs.get("modules/")):
        if "script.py" in inputs:
            export(inputs["script.py"], params, target)
        else:
            save_weights(make_model(params), target)
