"""A state that starts with one number is filled when the model is loaded."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.commands.conftest import Command, cache, webkiln  # noqa: F401 - fixtures
from tests.frontends.torch import filled_state
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.factory import factory_program
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.weights.shards import stored

TORCH = ("--source-format", "torch")
SOURCE = {"module": "tests.frontends.torch.filled_state", "function": "make", "parameters": {}}


def test_nothing_is_stored() -> None:
    with quiet():
        program = factory_program(SOURCE, {})
    graph = TorchConverter().convert(*read_program(program, "made.pt2"))
    assert graph.states
    assert stored(graph) == ()


@pytest.mark.parametrize("backend", ["wasm", "js"])
def test_a_bundle_starts_with_the_number(webkiln: Command, backend: str, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "filled.py").write_text(Path(filled_state.__file__).read_text())
    done = webkiln("build", "filled:make", "-o", "out", "--backend", backend, *TORCH)
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "out").glob("*.bin"))
    x = np.random.default_rng(0).random((40, 50), np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    done = webkiln("run", "out", "--backend", backend, "--inputs", "in.npz", "--outputs", "y.npz")
    assert done.returncode == 0, done.stderr
    module, _ = filled_state.make()
    with np.load(tmp_path / "y.npz") as arrays:
        np.testing.assert_allclose(arrays["output"], module(torch.from_numpy(x)), rtol=1e-6)
