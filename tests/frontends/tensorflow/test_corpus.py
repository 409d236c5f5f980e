"""Graphs over raw operators, as SavedModels and as frozen graphs, compared with TensorFlow on every
backend.
"""

from pathlib import Path

import pytest

from tests.frontends.corpus import BACKEND_STRIDES, mismatches, reference_mismatch
from tests.frontends.tensorflow.samples import FOLDER, arrays, converted, sample, saved
from tests.sampling import representative

NAMES = sorted(path.stem for path in FOLDER.glob("*.npz"))
UNSUPPORTED: dict[tuple[str, str], str] = {}
"""Graphs that a backend cannot compute -> the reason."""


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_matches(name: str, tmp_path: Path) -> None:
    path = saved(name, tmp_path)
    shapes = {
        key.partition("/")[2]: value.shape
        for key, value in arrays(name).items()
        if key.startswith("in/")
    }
    assert reference_mismatch(sample(name, converted(path, input_shapes=shapes))) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_with_dynamic_sizes_matches(name: str, tmp_path: Path) -> None:
    """The graph for all sizes, run at those of the sample."""
    graph = converted(saved(name, tmp_path))
    assert reference_mismatch(sample(name, graph)) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_graph_matches(name: str) -> None:
    assert reference_mismatch(sample(name, converted(FOLDER / f"{name}.pb"), frozen=True)) is None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.v1.pb")), ids=lambda path: path.name)
def test_control_flow_of_tensorflow_1_matches(path: Path) -> None:
    name = path.name.removesuffix(".v1.pb")
    assert reference_mismatch(sample(name, converted(path), frozen=True)) is None


@pytest.mark.parametrize("every", representative([6, 1], 6))
def test_graphs_with_dynamic_sizes_match_on_js(every: int, tmp_path: Path) -> None:
    samples = [sample(name, converted(saved(name, tmp_path / name))) for name in NAMES[::every]]
    assert mismatches(samples, "js", tmp_path / "programs") == {}


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_graphs_match_on_a_backend(backend: str, every: int, tmp_path: Path) -> None:
    samples = []
    for name in NAMES[::every]:
        shapes = {
            key.partition("/")[2]: value.shape
            for key, value in arrays(name).items()
            if key.startswith("in/")
        }
        samples.append(sample(name, converted(saved(name, tmp_path / name), input_shapes=shapes)))
    wrong = mismatches(samples, backend, tmp_path / "programs")
    assert {
        name: message for name, message in wrong.items() if (name, backend) not in UNSUPPORTED
    } == {}
