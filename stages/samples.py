"""A file of samples, or what a function returns -> samples.npz: the inputs of each sample."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical, npz
from webkiln.build import stage
from webkiln.errors import RecipeError
from webkiln.frontends.core.model_interface import ModelInterface
from webkiln.frontends.core.untrusted_arrays import read_all
from webkiln.ir.attributes import unchecked
from webkiln.ir.serial import from_json
from webkiln.plugins import import_file
from webkiln.quantize.samples import from_arrays, from_function

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    texts = canonical.read(inputs["texts.json"])["texts"] if "texts.json" in inputs else ()
    graph = from_json(canonical.read(inputs["graph.json"]), unchecked)
    signature = ModelInterface(graph, texts).of("inputs")
    where = params["source"]
    if "script.py" in inputs:
        function = getattr(import_file(inputs["script.py"]), params["function"], None)
        if not callable(function):
            raise RecipeError(f"{where}: there is no function {params['function']!r}")
        samples = from_function(function(), signature, where)
    else:
        samples = from_arrays(read_all(inputs["samples.npz"], where), signature, where)
    arrays = {
        f"{number:04}/in/{name}": value
        for number, sample in enumerate(samples)
        for name, value in sorted(sample.items())
    }
    npz.write(outputs["samples.npz"], arrays, compressed=True)


if __name__ == "__main__":
    stage.main()
