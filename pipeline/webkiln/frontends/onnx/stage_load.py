"""Load an ONNX file into a spec and weights. `external/` contains its external data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.nodes.spec import to_json
from webkiln.frontends.onnx.probe import read_model


def load(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> tuple[dict[str, Any], Blobs]:
    model, blobs = read_model(
        inputs["source"], inputs.get("external/"), subgraph_from_params(params)
    )
    return to_json(model), blobs
