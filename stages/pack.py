"""Weights and the constant subgraph -> shards in one encoding."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import canonical
from webkiln.build import stage
from webkiln.errors import SourceError
from webkiln.ir.types import Array
from webkiln.ops.budget import limited
from webkiln.ops.evaluate import ConstantValues
from webkiln.ops.plugins import defined_by
from webkiln.ops.table import from_json
from webkiln.weights.shards import pieces, stored, write

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    table = canonical.read(inputs["weights.json"])
    slots, blobs = table["slots"], inputs["weights/"].iterdir()
    outputs["shards/"].mkdir(parents=True, exist_ok=True)
    listed = []
    stored_bytes = min(table["stored_bytes"], sum(blob.stat().st_size for blob in blobs))
    with defined_by(inputs.get("operators/")), limited(stored_bytes):
        graph = from_json(canonical.read(inputs["graph.json"]))
        weights = stored(graph)
        values = ConstantValues(
            graph,
            lambda name: _blob(inputs["weights/"], name, slots[name]),
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


def _blob(folder: Path, name: str, slot: Mapping[str, Any]) -> Array:
    data = (folder / slot["digest"]).read_bytes()
    value = np.frombuffer(data, dtype=slot["dtype"])
    if value.size != int(np.prod(slot["shape"], dtype=np.int64)):
        raise SourceError(
            f"{name}: the weight blob has {value.size} elements, its shape is {slot['shape']}"
        )
    return value.reshape(slot["shape"])


if __name__ == "__main__":
    stage.main()
