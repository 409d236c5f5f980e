"""Files of older versions of torch, compared with the outputs of those versions."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.corpus import (
    BACKEND_STRIDES,
    Sample,
    mismatches,
    read_sample,
    reference_mismatch,
)
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.factory import factory_program
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.probe import check_file
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.source import program_of
from webkiln.ir.graph import Graph

OLD = Path(__file__).parent / "old"
VERSIONS = sorted(path.name for path in OLD.iterdir() if (path / "stacked.npz").exists())
SCRIPTS = sorted(path.relative_to(OLD).as_posix() for path in OLD.glob("*/*.pt"))
STATES = ("state.pth", "state_legacy.pth", "training_legacy.pth", "parameters.pth")
STACKED = {"module": "tests.frontends.torch.old.nets", "function": "Stacked", "parameters": {}}


@cache
def script(name: str) -> Sample:
    path = OLD / name
    with np.load(path.with_suffix(".npz")) as arrays:
        shapes = {
            key.removeprefix("in/"): list(arrays[key].shape)
            for key in arrays.files
            if key.startswith("in/")
        }

    def converted(path: Path) -> Graph:
        with quiet():
            program = program_of(path, shapes, trust_source=True)
            return TorchConverter().convert(
                *read_program(program.program, path.name, program.inputs)
            )

    return read_sample(path, converted)


@cache
def stacked(version: str, state: str) -> Sample:
    def converted(path: Path) -> Graph:
        with quiet():
            program = factory_program(STACKED, {"x": [2, 3, 9]}, path.with_name(state))
            return TorchConverter().convert(*read_program(program, "stacked"))

    return read_sample(OLD / version / "stacked", converted)


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.sample(4)
def test_a_script_matches_its_version(name: str) -> None:
    check_file(OLD / name)
    assert reference_mismatch(script(name)) is None


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.sample(4)
def test_a_state_dict_matches_its_version(version: str, state: str) -> None:
    assert reference_mismatch(stacked(version, state)) is None


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_backends_match_old_versions(backend: str, every: int, tmp_path: Path) -> None:
    stacks = [(version, state) for version in VERSIONS for state in STATES]
    samples = [
        *map(script, list(SCRIPTS)[::every]),
        *(stacked(*names) for names in stacks[::every]),
    ]
    assert VERSIONS == ["1.12.1", "1.7.1", "2.0.1"]
    assert mismatches(samples, backend, tmp_path) == {}
