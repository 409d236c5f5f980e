"""graph.json -> program.json of one backend."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.backends.program import program
from webkiln.backends.table import FACTS
from webkiln.ir.serial import from_json
from webkiln.ops.table import FAMILIES

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    assert FAMILIES
    graph = from_json(canonical.read(inputs["graph.json"]))
    made = program(graph, FACTS[params["backend"]], params["encoding"], params.get("keep_layers", False))
    canonical.write(outputs["program.json"], made)
