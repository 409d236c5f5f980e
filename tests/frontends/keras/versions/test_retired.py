"""Layers and options of Keras 1 and 2 that later versions removed agree with numpy."""

from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.frontends.keras.versions.merged_models import Old
from tests.frontends.keras.versions.model_files import write_h5
from tests.frontends.keras.versions.retired_cases import CASES
from webkiln.backends.compare import relative_error
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.reader import parse_model
from webkiln.ops.evaluate import constant_values, run_graph
from webkiln.passes.pipeline import PASSES


def written(old: Old, path: Any) -> Any:
    lists = {
        name: [
            (f"{name}_{end}" if old.version < "2" else f"{name}/{end}", array)
            for end, array in arrays.items()
        ]
        for name, arrays in old.weights.items()
    }
    write_h5(path, old.config, lists, old.version, old.backend)
    return path


def job(old: Old, path: Any) -> Job:
    graph = KerasConverter(batch_size=len(old.inputs[0])).convert(*parse_model(written(old, path)))
    optimised = reduce(
        lambda g, name: import_module(f"webkiln.passes.{name}").run(g), PASSES, graph
    )
    inputs = {
        name: value.astype(graph.type(name).dtype)
        for name, value in zip(graph.inputs, old.inputs, strict=True)
    }
    return Job(optimised, inputs, constant_values(optimised, graph.weights))


def check(old: Old, outputs: dict[str, np.ndarray]) -> None:
    (got,) = outputs.values()
    expected = old.outputs(*old.inputs)
    assert got.shape == expected.shape
    assert relative_error(got, expected) < 2e-5


@pytest.mark.parametrize("name", CASES)
def test_old_layers_agree_with_numpy(name: str, tmp_path: Any) -> None:
    graph = KerasConverter(batch_size=len(CASES[name].inputs[0])).convert(
        *parse_model(written(CASES[name], tmp_path / "m.h5"))
    )
    check(
        CASES[name], run_graph(graph, dict(zip(graph.inputs, CASES[name].inputs, strict=True)))[0]
    )


@pytest.mark.parametrize("backend", ["wasm", "js", "webgpu", "webgl"])
@pytest.mark.sample("js")
def test_backends_agree_with_numpy(backend: str, tmp_path: Any) -> None:
    jobs = [job(old, tmp_path / f"{number}.h5") for number, old in enumerate(CASES.values())]
    for old, outputs in zip(CASES.values(), run(jobs, backend, tmp_path), strict=True):
        check(old, outputs)
