"""A Keras model file, or a function that returns a model and its weights -> spec.json and weight blobs.

For a file, Keras itself is only imported for classes that are not its own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.build.structure import write_blobs
from webkiln.foreign import refuse_foreign
from webkiln.frontends.cut import cut_of
from webkiln.frontends.keras.load import load_model, read_memory
from webkiln.frontends.keras.made import remake_model
from webkiln.frontends.keras.plugins import handled_by_plugins, isolated
from webkiln.frontends.keras.spec import to_json
from webkiln.plugins import import_files

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    cut = cut_of(params)
    plugins = [inputs["plugins/"] / name for name in params.get("plugins") or ()]
    with isolated(inputs.get("modules/")):
        if "module" in params:
            import_files(plugins)
            model, blobs = read_memory(remake_model(params, inputs["source"]), params["function"], cut)
        else:
            refuse_foreign(inputs["source"], as_onnx=False)
            model, blobs = load_model(inputs["source"], plugins, trust_source=bool(params.get("trust_source")), cut=cut)
        handled = handled_by_plugins(model)
    canonical.write(outputs["spec.json"], {**to_json(model), "handled": handled})
    write_blobs(blobs, outputs["weights/"])


if __name__ == "__main__":
    stage.main()
