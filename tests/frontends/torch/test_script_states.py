"""States of TorchScript that get their shape in the first run, compared with torch run by run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.frontends.torch import streaming_scripts as scripts
from tests.frontends.torch.cases import floats
from webkiln.errors import SourceError
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.source import program_of
from webkiln.ops.evaluate import next_states, run_graph


@pytest.mark.parametrize(
    ("module", "shape", "values", "states"),
    [
        (scripts.Voice, (1, 8), {"sr": 16000}, ["_context", "_state"]),
        (scripts.Voice, (3, 10), {"sr": 8000}, ["_context", "_state"]),
        (scripts.FirstIsNone, (2, 3), {}, ["h"]),
        (scripts.OpenBatch, (2, 3), {}, ["h"]),
        (scripts.Flagged, (2, 3), {}, ["total"]),
    ],
)
def test_each_run_matches_torch(
    module: type[torch.nn.Module],
    shape: tuple[int, ...],
    values: dict[str, Any],
    states: list[str],
    tmp_path: Path,
) -> None:
    torch.manual_seed(0)
    path = tmp_path / "net.pt"
    torch.jit.script(module().eval()).save(path)
    with quiet():
        program = program_of(path, {"x": list(shape)}, values, trust_source=True)
        spec, blobs = read_program(
            program.program, "net", program.inputs, settings=program.settings
        )
        graph = TorchConverter(values=values).convert(spec, blobs)
        framework, current = torch.jit.load(path), None
        assert sorted(state.name for state in graph.states) == states
        for run in range(4):
            x = floats(*shape, seed=run)
            outputs, results = run_graph(graph, {"x": x.numpy()}, states=current)
            current = next_states(graph, results)
            np.testing.assert_allclose(
                outputs["output"], framework(x, **values).numpy(), rtol=1e-4, atol=1e-6
            )


@pytest.mark.parametrize(
    ("module", "shape", "message"),
    [
        (scripts.FirstFrame, [2, 3], "net.pt: previous: the first value depends on data"),
        (scripts.Steps, [2, 3], r"net.pt: step changes in each run \(1, 2, 3\); make it a tensor"),
        (scripts.Pile, [2, 3], r"pile changes in each run \(torch.float32\[2, 3\], .*\[4, 3\]"),
        (scripts.Appended, [2, 3], "changes a list that is an attribute"),
        (scripts.Listed, [2, 3], "items is list of tensors that changes; keep each tensor"),
        (scripts.OpenBatch, ["N", 3], "h gets its value in the first run, and it depends on the"),
    ],
)
def test_states_that_do_not_settle_are_rejected(
    module: type[torch.nn.Module], shape: list[int | str], message: str, tmp_path: Path
) -> None:
    torch.jit.script(module().eval()).save(tmp_path / "net.pt")
    with quiet(), pytest.raises(SourceError, match=message):
        program_of(tmp_path / "net.pt", {"x": shape}, trust_source=True)
