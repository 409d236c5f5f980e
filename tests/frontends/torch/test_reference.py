"""What torch's own noise is taken for."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.frontends.torch.modules import of
from webkiln.errors import ToolError
from webkiln.frontends.nodes.sampled import SampledInputs
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.reference import compute_reference
from webkiln.frontends.torch.source import TracedProgram, program_of


def cancelling(x: Tensor) -> Tensor:
    """What float32 rounds away, of inputs that are moved as of those that are not."""
    return (x + 3e6) - 3e6


def test_an_operator_without_code() -> None:
    """Of which torch knows the sizes alone."""
    library = torch.library.Library("described", "DEF")
    library.define("only(Tensor x) -> Tensor")
    torch.library.register_fake("described::only", torch.empty_like, lib=library)
    with quiet():
        program = torch.export.export(of(torch.ops.described.only)(), (torch.rand(2, 3),))
        with pytest.raises(ToolError, match=r"net: torch does not compute an operator of it here \(.*described::only.*reference"):
            compute_reference(TracedProgram(program), "net", SampledInputs({"args_0": ("float32", (2, 3))}, {}))


def test_noise_is_measured_against_float64(tmp_path: Path) -> None:
    with quiet():
        torch.export.save(torch.export.export(of(cancelling)(), (torch.rand(2, 3),)), tmp_path / "net.pt2")
        reference, _ = compute_reference(
            program_of(tmp_path / "net.pt2", {}, trust_source=False), "net", SampledInputs({"args_0": ("float32", (2, 3))}, {})
        )
    for name in ("natural0", "natural1"):
        x, y = (reference[f"{name}/{part}"] for part in ("in/args_0", "out/output"))
        assert np.isclose(reference[f"{name}/noise/output"], np.abs(x - y).max() / np.abs(y).max(), rtol=1e-3)
