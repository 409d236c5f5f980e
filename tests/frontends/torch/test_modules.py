"""Modules by group of operators: what torch computes, webkiln computes, on every backend and at
other sizes.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.frontends.corpus import BACKEND_STRIDES, Sample, mismatches, reference_mismatch
from tests.frontends.torch.modules.table import MODULES
from tests.frontends.torch.running import at_other_sizes, exported, made, named, sample
from webkiln.frontends.torch.framework import quiet
from webkiln.ops.evaluate import next_states, run_graph


@cache
def program(name: str) -> torch.export.ExportedProgram:
    return exported(MODULES[name])


@cache
def as_given(name: str) -> Sample:
    with quiet():
        return sample(name, MODULES[name], program(name), MODULES[name].inputs)


def test_there_are_enough() -> None:
    assert len(MODULES) >= 60


@pytest.mark.parametrize("name", MODULES)
def test_a_module(name: str) -> None:
    assert reference_mismatch(as_given(name)) is None


@pytest.mark.parametrize("name", [name for name, case in MODULES.items() if case.sizes])
@pytest.mark.sample(6)
def test_one_bundle_is_for_all_sizes(name: str) -> None:
    with quiet():
        other = sample(name, MODULES[name], program(name), at_other_sizes(MODULES[name]))
    assert repr(other.graph) == repr(as_given(name).graph)
    assert reference_mismatch(other) is None


@pytest.mark.parametrize("name", ["states", "assigned states"])
def test_states_go_on_from_run_to_run(name: str) -> None:
    case, one = MODULES[name], as_given(name)
    module, states = made(case), None
    for _ in range(3):
        with torch.no_grad():
            wanted = named(program(name), module(*case.inputs))
        got, values = run_graph(one.graph, one.inputs, states=states)
        states = next_states(one.graph, values)
        for key, value in wanted.items():
            np.testing.assert_allclose(got[key], value, rtol=1e-5)


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_modules_on_a_backend(backend: str, every: int, tmp_path: Path) -> None:
    samples = [
        as_given(name)
        for name, case in list(MODULES.items())[::every]
        if backend in ("wasm", "js") or not case.gpu
    ]
    assert mismatches(samples, backend, tmp_path) == {}
