"""Weights and how a quantized graph needs them -> the weights of the quantized graph."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import canonical
from webkiln.build import stage
from webkiln.ir.types import Array
from webkiln.ops.budget import limited
from webkiln.ops.plugins import defined_by
from webkiln.ops.table import from_json
from webkiln.quantize.encode import Calibration, Slots, slot_values
from webkiln.weights.blobs import read_slot, stored_size

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    table = canonical.read(inputs["weights.json"])
    needed = Slots.from_json(canonical.read(inputs["slots.json"]))
    slots, folder = table["slots"], outputs["weights/"]
    folder.mkdir(parents=True, exist_ok=True)
    size = stored_size(table, inputs["weights/"])
    calibration = (
        Calibration.from_json(canonical.read(inputs["calibration.json"]))
        if "calibration.json" in inputs
        else None
    )

    def load_slot(name: str) -> Array:
        return read_slot(inputs["weights/"], name, slots[name])

    def values() -> Iterator[tuple[str, Array]]:
        graph = from_json(canonical.read(inputs["graph.json"]))
        for name in needed.kept:
            yield name, load_slot(name)
        yield from slot_values(graph, needed, load_slot, calibration)

    written = {}
    with defined_by(inputs.get("operators/")), limited(size):
        for name, value in values():
            data = np.ascontiguousarray(value, value.dtype.newbyteorder("<")).tobytes()
            digest = canonical.digest(data)
            (folder / digest).write_bytes(data)
            shape = list(value.shape)
            written[name] = {"digest": digest, "dtype": value.dtype.name, "shape": shape}
    canonical.write(
        outputs["weights.json"],
        {"schema": table["schema"], "slots": written, "stored_bytes": table["stored_bytes"]},
    )


if __name__ == "__main__":
    stage.main()
