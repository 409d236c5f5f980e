"""Reference outputs of torch, and their rounding errors."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.frontends.torch.cases import module_of
from webkiln.errors import ToolError
from webkiln.frontends.nodes.sample_inputs import SampledInputs
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.reference import compute_reference
from webkiln.frontends.torch.source import TracedProgram, program_of
from webkiln.ir.types import Array


def computed(source: TracedProgram) -> Mapping[str, Array]:
    """reference.npz of a program of one input, float32[2,3]."""
    model, _ = read_program(source.program, "net")
    (variable,) = model.graph.inputs
    return compute_reference(
        source, model, "net", SampledInputs({variable.name: ("float32", (2, 3))}, {})
    )[0]


def cancelling(x: Tensor) -> Tensor:
    """float32 rounds away most of the input."""
    return (x + 3e6) - 3e6


def test_an_operator_without_implementation_is_reported() -> None:
    """torch only has its shape function."""
    library = torch.library.Library("described", "DEF")
    library.define("only(Tensor x) -> Tensor")
    torch.library.register_fake("described::only", torch.empty_like, lib=library)
    with quiet():
        program = torch.export.export(module_of(torch.ops.described.only)(), (torch.rand(2, 3),))
        with pytest.raises(
            ToolError,
            match=(r"net: torch cannot run an operator of it \(.*described::only.*reference"),
        ):
            computed(TracedProgram(program))


def test_noise_is_measured_against_float64(tmp_path: Path) -> None:
    with quiet():
        torch.export.save(
            torch.export.export(module_of(cancelling)(), (torch.rand(2, 3),)), tmp_path / "net.pt2"
        )
        reference = computed(program_of(tmp_path / "net.pt2", {}, trust_source=False))
    for name in ("natural0", "natural1"):
        x, y = (reference[f"{name}/{part}"] for part in ("in/args_0", "out/output"))
        assert np.isclose(
            reference[f"{name}/noise/output"], np.abs(x - y).max() / np.abs(y).max(), rtol=1e-3
        )
