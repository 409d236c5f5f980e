"""A LiteRT file -> the interpreter's outputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.subgraph import ENTIRE_MODEL, subgraph_from_params
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.frontends.tflite.load import read_model
from webkiln.frontends.tflite.reference import compute_reference
from webkiln.ir.types import Array


def compute(
    inputs: Mapping[str, Path], params: Mapping[str, Any], samples: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    signature = params.get("signature", "")
    (model, _), (part, _) = (
        read_model(inputs["source"], signature, cut)
        for cut in (ENTIRE_MODEL, subgraph_from_params(params))
    )
    return compute_reference(
        inputs["source"], part, sampled_inputs(model, params, samples, part), signature
    )
