"""A Keras model file, or a function that returns a model and its weights -> Keras's outputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.keras.framework import import_keras
from webkiln.frontends.keras.load import load_model, load_with_keras, read_memory
from webkiln.frontends.keras.model_functions import remake_model
from webkiln.frontends.keras.plugins import isolated
from webkiln.frontends.keras.reference import compute_reference, input_table
from webkiln.ir.types import Array
from webkiln.plugins import import_files

NO_REFERENCE = (
    "is a model in several files, which Keras does not load, so there are no reference outputs to"
    " verify it against; use webkiln build, or load the model in the program that wrote it and save"
    " it as .keras"
)


def compute(
    inputs: Mapping[str, Path], params: Mapping[str, Any], samples: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    keras = import_keras("reference outputs are what Keras computes")
    cut = subgraph_from_params(params)
    plugins = [inputs["plugins/"] / name for name in params["plugins"]]
    with isolated(inputs.get("modules/")):
        if "module" in params:
            import_files(plugins)
            model = remake_model(params, inputs["source"])
            spec, _ = read_memory(model, params["function"], cut)
        elif "external/" in inputs:
            raise SourceError(f"{inputs['source'].name}: {NO_REFERENCE}")
        else:
            spec, _ = load_model(
                inputs["source"], plugins, trust_source=params["trust_source"], cut=cut
            )
            model = load_with_keras(inputs["source"], trust_source=params["trust_source"])
        table = input_table(
            spec, params["batch_size"], params["input_shapes"], samples, params.get("dims")
        )
        return compute_reference(keras, model, spec, table)
