"""A TensorFlow graph -> TensorFlow's outputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.subgraph import ENTIRE_MODEL, subgraph_from_params
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.frontends.tensorflow.load import read_model
from webkiln.frontends.tensorflow.reference import compute_reference
from webkiln.ir.types import Array


def compute(
    inputs: Mapping[str, Path], params: Mapping[str, Any], samples: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    folder, signature = inputs.get("external/"), params.get("signature", "")
    (model, _), (part, _) = (
        read_model(inputs["source"], folder, signature, cut)
        for cut in (ENTIRE_MODEL, subgraph_from_params(params))
    )
    return compute_reference(
        inputs["source"], folder, signature, part, sampled_inputs(model, params, samples, part)
    )
