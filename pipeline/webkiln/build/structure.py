"""Write the outputs of the stages load and convert: the graph, the table slot -> digest of its
weights, and the blobs.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from webkiln import canonical
from webkiln.frontends.core.arrays import Weight
from webkiln.ir.graph import Graph
from webkiln.ir.serial import to_json
from webkiln.ir.types import Array


def write_structure(
    graph: Graph,
    weights: Mapping[str, Weight],
    graph_file: Path,
    weights_file: Path,
    stored_bytes: int,
) -> None:
    """Write graph.json and weights.json. `weights` are by slot; `stored_bytes` is the size of the
    model's files.
    """
    slots = {
        name: {"digest": weight.digest, "dtype": weight.dtype, "shape": list(weight.shape)}
        for name, weight in weights.items()
    }
    canonical.write(graph_file, to_json(graph))
    canonical.write(
        weights_file, {"schema": "webkiln.weights/2", "slots": slots, "stored_bytes": stored_bytes}
    )


def write_blobs(blobs: Mapping[str, Array], folder: Path) -> None:
    """Write arrays by digest, little-endian and row-major."""
    folder.mkdir(parents=True, exist_ok=True)
    for digest, array in sorted(blobs.items()):
        (folder / digest).write_bytes(
            np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        )
