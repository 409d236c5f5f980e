"""A program or a TorchScript file -> torch's outputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.subgraph import ENTIRE_MODEL, subgraph_from_params
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.frontends.torch.framework import quiet, require_torch
from webkiln.ir.types import Array


def compute(
    inputs: Mapping[str, Path], params: Mapping[str, Any], samples: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    require_torch("reference outputs are what torch computes")
    from webkiln.frontends.torch.program import read_program
    from webkiln.frontends.torch.reference import compute_reference
    from webkiln.frontends.torch.source import program_of

    with quiet():
        program = program_of(
            inputs["source"],
            params["input_shapes"],
            params.get("values"),
            trust_source=params["trust_source"],
        )
        name = inputs["source"].name
        (model, _), (part, _) = (
            read_program(program.program, name, program.inputs, cut, settings=program.settings)
            for cut in (ENTIRE_MODEL, subgraph_from_params(params))
        )
        return compute_reference(program, part, name, sampled_inputs(model, params, samples, part))
