"""A Keras model file, or a function that returns a model and its weights -> reference.npz and layers.npz: Keras's own outputs, which bundles are verified against."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical, npz
from webkiln.build import stage
from webkiln.frontends.cut import cut_of
from webkiln.frontends.keras.framework import import_keras
from webkiln.frontends.keras.load import load_model, load_with_keras, read_memory
from webkiln.frontends.keras.made import remake_model
from webkiln.frontends.keras.plugins import isolated
from webkiln.frontends.keras.reference import compute_reference, input_table
from webkiln.inputs import SAMPLE_SIZE
from webkiln.ir.needs import fitting_sizes
from webkiln.plugins import import_files

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    stage.tell("imports Keras")
    keras = import_keras("reference outputs are what Keras computes")
    cut = cut_of(params)
    trust_source = bool(params.get("trust_source"))
    plugins = [inputs["plugins/"] / name for name in params.get("plugins") or ()]
    with isolated(inputs.get("modules/")):
        if "module" in params:
            import_files(plugins)
            model = remake_model(params, inputs["source"])
            spec, _ = read_memory(model, params["function"], cut)
        else:
            spec, _ = load_model(inputs["source"], plugins, trust_source=trust_source, cut=cut)
            model = load_with_keras(inputs["source"], trust_source=trust_source)
    stage.tell("computes Keras's outputs")
    samples = params.get("sample_sizes") or {}
    if "sizes.json" in inputs:
        samples = {**fitting_sizes(canonical.read(inputs["sizes.json"]), samples, SAMPLE_SIZE), **samples}
    table = input_table(spec, params.get("batch_size", 1), params.get("input_shapes") or {}, samples)
    reference, layers = compute_reference(keras, model, spec, table)
    for role, arrays in (("reference.npz", reference), ("layers.npz", layers)):
        npz.write(outputs[role], dict(sorted(arrays.items())), compressed=True)


if __name__ == "__main__":
    stage.main()
