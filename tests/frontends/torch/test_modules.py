"""Modules by group of operators, compared with torch on every backend and at several sizes."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.frontends.corpus import BACKEND_STRIDES, Sample, mismatches, reference_mismatch
from tests.frontends.torch.modules.table import MODULES
from tests.frontends.torch.running import at_other_sizes, build, exported, output_arrays, sample
from webkiln.frontends.torch.framework import quiet
from webkiln.ops.evaluate import next_states, run_graph


@cache
def program(name: str) -> torch.export.ExportedProgram:
    return exported(MODULES[name])


@cache
def case_sample(name: str) -> Sample:
    with quiet():
        return sample(name, MODULES[name], program(name), MODULES[name].inputs)


def test_there_are_many_modules() -> None:
    assert len(MODULES) >= 60


@pytest.mark.parametrize("name", MODULES)
def test_a_module_matches_torch(name: str) -> None:
    assert reference_mismatch(case_sample(name)) is None


@pytest.mark.parametrize("name", [name for name, case in MODULES.items() if case.sizes])
@pytest.mark.sample(6)
def test_one_graph_serves_all_sizes(name: str) -> None:
    with quiet():
        other = sample(name, MODULES[name], program(name), at_other_sizes(MODULES[name]))
    assert repr(other.graph) == repr(case_sample(name).graph)
    assert reference_mismatch(other) is None


@pytest.mark.parametrize("name", ["states", "assigned states", "batch statistics"])
def test_states_persist_between_runs(name: str) -> None:
    case, converted = MODULES[name], case_sample(name)
    module, states = build(case), None
    for _ in range(3):
        with torch.no_grad():
            expected = output_arrays(program(name), module(*case.inputs))
        outputs, values = run_graph(converted.graph, converted.inputs, states=states)
        states = next_states(converted.graph, values)
        for key, value in expected.items():
            np.testing.assert_allclose(outputs[key], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_backends_match_torch(backend: str, every: int, tmp_path: Path) -> None:
    samples = [
        case_sample(name)
        for name, case in list(MODULES.items())[::every]
        if backend in ("wasm", "js") or not case.gpu
    ]
    assert mismatches(samples, backend, tmp_path) == {}
