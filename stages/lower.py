"""graph.json -> program.json of one backend."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.ops.plugins import check_backends, defined_by
from webkiln.ops.table import from_json
from webkiln.plan.tuning import UNTUNED, Tuning, read_file
from webkiln.program_builder.backend import Backend, Options

DATA = ()


def tuning(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> Tuning:
    """The tuned choices, or the default ones."""
    if "trial" in params:
        way, tile = params["trial"]
        return Tuning(trial=(way, tile))
    file = inputs.get("tuned.json")
    return UNTUNED if file is None else read_file(file, params["backend"])


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    backend: Backend = import_module(f"webkiln.backends.{params['backend']}.backend").BACKEND
    options = Options(
        params["encoding"],
        params.get("keep_layers", False),
        tuning(inputs, params),
        params.get("winograd", True),
        params.get("precision", "float32"),
        params.get("float16") == "rounded",
        params.get("products", "exact"),
        params.get("caches", "float32"),
        params.get("matrices", False),
    )
    with defined_by(inputs.get("operators/")):
        graph = from_json(canonical.read(inputs["graph.json"]))
        check_backends(graph, [params["backend"]])
        program = backend.compile(graph, options)
    canonical.write(outputs["program.json"], program)


if __name__ == "__main__":
    stage.main()
