"""graph.json -> graph.json: one pass."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from webkiln import canonical
from webkiln.build import stage
from webkiln.ir.graph import Graph
from webkiln.ir.serial import to_json
from webkiln.ir.verify import verify
from webkiln.ops.budget import limited
from webkiln.ops.plugins import defined_by
from webkiln.ops.table import from_json, infer

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    module = import_module(f"webkiln.passes.{params['pass']}")

    def change(part: Graph) -> Graph:
        return cast("Graph", module.run(part.map_subgraphs(change)))

    # Constant folding needs fewer calls than the JSON has bytes.
    with defined_by(inputs.get("operators/")), limited(inputs["graph.json"].stat().st_size):
        changed = change(from_json(canonical.read(inputs["graph.json"])))
        verify(changed, infer)
    canonical.write(outputs["graph.json"], to_json(changed))


if __name__ == "__main__":
    stage.main()
