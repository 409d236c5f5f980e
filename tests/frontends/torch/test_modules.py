"""Modules by group of operators: what torch computes, webkiln computes, on every backend and at other sizes."""

from functools import cache
from pathlib import Path

import pytest
import torch

from tests.frontends.corpus import EVERY_BACKEND, Sample, interpreted, objections
from tests.frontends.torch.modules import MODULES
from tests.frontends.torch.running import at_other_sizes, exported, sample
from webkiln.frontends.torch.framework import quiet


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
    assert interpreted(as_given(name)) is None


@pytest.mark.parametrize("name", [name for name, case in MODULES.items() if case.sizes])
def test_one_bundle_is_for_all_sizes(name: str) -> None:
    with quiet():
        other = sample(name, MODULES[name], program(name), at_other_sizes(MODULES[name]))
    assert repr(other.graph) == repr(as_given(name).graph)
    assert interpreted(other) is None


@pytest.mark.parametrize("backend", EVERY_BACKEND)
def test_modules_on_a_backend(backend: str, tmp_path: Path) -> None:
    samples = [as_given(name) for name, case in MODULES.items() if backend in ("wasm", "js") or not case.gpu]
    assert objections(samples, backend, tmp_path) == {}
