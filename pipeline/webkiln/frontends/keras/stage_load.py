"""A Keras model file, or a function that returns a model and its weights -> spec and weights.

For a file, Keras is only imported if it has user-defined classes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.keras.load import load_model, read_memory
from webkiln.frontends.keras.model_functions import remake_model
from webkiln.frontends.keras.plugins import handled_by_plugins, isolated
from webkiln.frontends.keras.spec import to_json
from webkiln.plugins import import_files


def load(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> tuple[dict[str, Any], Blobs]:
    cut = subgraph_from_params(params)
    plugins = [inputs["plugins/"] / name for name in params["plugins"]]
    with isolated(inputs.get("modules/")):
        if "module" in params:
            import_files(plugins)
            model, blobs = read_memory(
                remake_model(params, inputs["source"]), params["function"], cut
            )
        else:
            companion = (
                inputs["external/"] / params.get("weights", "") if "external/" in inputs else None
            )
            model, blobs = load_model(
                inputs["source"],
                plugins,
                trust_source=params["trust_source"],
                cut=cut,
                companion=companion,
            )
        handled = handled_by_plugins(model)
    return {**to_json(model), "handled": handled}, blobs
