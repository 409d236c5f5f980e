"""graph.json -> graph.json of an encoding, and its slots. Without an encoding: the graph that
simulates rounded activations.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.ir.graph import Graph
from webkiln.ir.serial import to_json
from webkiln.ir.verify import verify
from webkiln.ops.plugins import defined_by
from webkiln.ops.table import from_json, infer
from webkiln.quantize.choice import uniform
from webkiln.quantize.encode import Slots
from webkiln.quantize.rewriting import rewritten, simulation
from webkiln.quantize.weights import weights_of

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    with defined_by(inputs.get("operators/")):
        graph = from_json(canonical.read(inputs["graph.json"]))
        changed, slots = changed_graph(graph, inputs, params)
        verify(changed, infer)
    canonical.write(outputs["graph.json"], to_json(changed))
    canonical.write(outputs["slots.json"], slots.to_json())


def changed_graph(
    graph: Graph, inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> tuple[Graph, Slots]:
    if "choice.json" in inputs:
        choice = canonical.read(inputs["choice.json"])["weights"]
    elif "encoding" in params:
        choice = uniform(weights_of(graph).values(), params["encoding"], params["layers"])
    else:
        return simulation(graph)
    return rewritten(graph, choice, corrects=params["corrects"])


if __name__ == "__main__":
    stage.main()
