"""graph.json -> graph.json with codes in place of weights, and how to compute them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.ir.serial import to_json
from webkiln.ir.verify import verify
from webkiln.ops.plugins import defined_by
from webkiln.ops.table import from_json, infer
from webkiln.quantize import encode
from webkiln.quantize.choice import uniform
from webkiln.quantize.weights import quantized, weights_of

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    with defined_by(inputs.get("operators/")):
        graph = from_json(canonical.read(inputs["graph.json"]))
        weights = weights_of(graph)
        if "choice.json" in inputs:
            choice = canonical.read(inputs["choice.json"])["weights"]
        else:
            choice = uniform(weights.values(), params["encoding"], params["layers"])
        changed, encoded = quantized(graph, choice)
        verify(changed, infer)
    canonical.write(outputs["graph.json"], to_json(changed))
    canonical.write(
        outputs["slots.json"], encode.to_json(sorted(changed.slots & graph.slots), encoded)
    )


if __name__ == "__main__":
    stage.main()
