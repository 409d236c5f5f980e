"""Weights and the constant subgraph -> shards in one encoding."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.ops.budget import limited
from webkiln.ops.evaluate import ConstantValues
from webkiln.ops.plugins import defined_by
from webkiln.ops.table import from_json
from webkiln.weights.blobs import read_slot, stored_size
from webkiln.weights.shards import pieces, stored, write

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    table = canonical.read(inputs["weights.json"])
    slots = table["slots"]
    outputs["shards/"].mkdir(parents=True, exist_ok=True)
    listed = []
    size = stored_size(table, inputs["weights/"])
    with defined_by(inputs.get("operators/")), limited(size):
        graph = from_json(canonical.read(inputs["graph.json"]))
        weights = stored(graph)
        values = ConstantValues(
            graph,
            lambda name: read_slot(inputs["weights/"], name, slots[name]),
            [weight.name for weight in weights],
        )
        for data in write(pieces(weights, params["encoding"]), values):
            digest = canonical.digest(data)
            name = f"weights-{digest[:8]}.bin"
            (outputs["shards/"] / name).write_bytes(data)
            listed.append({"file": name, "bytes": len(data), "sha256": digest})
    canonical.write(
        outputs["shards.json"],
        {"schema": "webkiln.shards/1", "encoding": params["encoding"], "shards": listed},
    )


if __name__ == "__main__":
    stage.main()
