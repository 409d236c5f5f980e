"""A definition and its weights -> OpenCV's outputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.caffe.load import described, read_net
from webkiln.frontends.caffe.reference import compute_reference
from webkiln.frontends.caffe.stage_load import companion
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.ir.types import Array


def compute(
    inputs: Mapping[str, Path], params: Mapping[str, Any], samples: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    path = inputs["source"]
    net = read_net(path, companion(inputs), params["input_shapes"], subgraph_from_params(params))
    model, _ = described(net, path.stem)
    return compute_reference(net, sampled_inputs(model, params, samples), path.name)
