"""A program or a TorchScript file -> spec and weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.nodes.spec import to_json
from webkiln.frontends.torch.framework import quiet, require_torch


def load(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> tuple[dict[str, Any], Blobs]:
    require_torch("the source is a PyTorch model")
    from webkiln.frontends.torch.probe import check_file
    from webkiln.frontends.torch.program import read_program
    from webkiln.frontends.torch.source import program_of

    check_file(inputs["source"])
    with quiet():
        program = program_of(
            inputs["source"],
            params["input_shapes"],
            params.get("values"),
            trust_source=params["trust_source"],
        )
        model, blobs = read_program(
            program.program,
            inputs["source"].name,
            program.inputs,
            subgraph_from_params(params),
            settings=program.settings,
        )
    return to_json(model), blobs
