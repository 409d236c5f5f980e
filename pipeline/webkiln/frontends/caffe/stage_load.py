"""A definition and its weights -> spec and weights. `external/` has the companion, if any."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.caffe.load import read_model
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.nodes.spec import to_json


def load(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> tuple[dict[str, Any], Blobs]:
    model, blobs = read_model(
        inputs["source"], companion(inputs), params["input_shapes"], subgraph_from_params(params)
    )
    return to_json(model), blobs


def companion(inputs: Mapping[str, Path]) -> Path | None:
    return (
        next(iter(sorted(inputs["external/"].iterdir())), None) if "external/" in inputs else None
    )
