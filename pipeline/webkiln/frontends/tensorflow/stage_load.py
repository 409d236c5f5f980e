"""A TensorFlow graph -> spec and weights. `external/` has the variables of a SavedModel, or the
shards of a TensorFlow.js model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.nodes.spec import to_json
from webkiln.frontends.tensorflow.load import read_model


def load(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> tuple[dict[str, Any], Blobs]:
    model, blobs = read_model(
        inputs["source"],
        inputs.get("external/"),
        params.get("signature", ""),
        subgraph_from_params(params),
    )
    return to_json(model), blobs
