"""Compute the reference of an ONNX file with onnxruntime."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.frontends.onnx.probe import read_model
from webkiln.frontends.onnx.reference import compute_reference
from webkiln.ir.types import Array


def compute(
    inputs: Mapping[str, Path], params: Mapping[str, Any], samples: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    folder, subgraph = inputs.get("external/"), subgraph_from_params(params)
    model, _ = read_model(inputs["source"], folder, subgraph)
    return compute_reference(
        inputs["source"],
        sampled_inputs(model, params, samples),
        folder,
        subgraph,
        model.texts,
        model.labels,
    )
