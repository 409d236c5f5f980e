"""graph.json -> program.json of one backend."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.ir.serial import from_json
from webkiln.nest.target import Target
from webkiln.ops.plugins import check_backends, defined_by
from webkiln.program import program

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    graph = from_json(canonical.read(inputs["graph.json"]))
    target: Target = import_module(f"webkiln.backends.{params['backend']}").TARGET
    target = replace(target, winograd=target.winograd and params.get("winograd", True))
    with defined_by(inputs.get("operators/")):
        check_backends(graph, [params["backend"]])
        made = program(graph, target, params["encoding"], params.get("keep_layers", False))
    canonical.write(outputs["program.json"], made)


if __name__ == "__main__":
    stage.main()
