"""A LiteRT (TensorFlow Lite) file -> spec and weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.nodes.spec import to_json
from webkiln.frontends.tflite.load import read_model
from webkiln.frontends.tflite.metadata import output_labels


def load(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> tuple[dict[str, Any], Blobs]:
    signature = params.get("signature", "")
    model, blobs = read_model(inputs["source"], signature, subgraph_from_params(params))
    return {**to_json(model), "labels": output_labels(inputs["source"], signature)}, blobs
