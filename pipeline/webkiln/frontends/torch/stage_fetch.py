"""The program that an export script writes, or that is exported from a function's module."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.model_functions import export
from webkiln.frontends.torch.framework import quiet, require_torch
from webkiln.plugins import importable, isolated_plugins


def fetch(inputs: Mapping[str, Path], params: Mapping[str, Any], target: Path) -> None:
    require_torch("the source makes a PyTorch model")
    with isolated_plugins(), importable(inputs.get("modules/")), quiet():
        if "script.py" in inputs:
            export(inputs["script.py"], params, target)
            return
        import torch

        from webkiln.frontends.torch.factory import factory_program

        program = factory_program(
            params, params["input_shapes"], inputs.get("weights"), inputs.get("weights.json")
        )
        path = target.with_name("made.pt2")
        torch.export.save(program, path)
        path.replace(target)
