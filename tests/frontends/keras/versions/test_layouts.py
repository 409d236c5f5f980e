"""Files of every version, read without a framework, compute the outputs that Keras 2 computed."""

from functools import reduce
from importlib import import_module

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.frontends.keras.versions.layouts import FILES
from tests.frontends.keras.versions.model_files import Model, read, read_3
from webkiln import canonical
from webkiln.backends.compare import relative_error
from webkiln.canonical import digest
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.reader import parse_model
from webkiln.ir.graph import Graph
from webkiln.ir.serial import to_json
from webkiln.ops.evaluate import constant_values, run_graph
from webkiln.passes.pipeline import PASSES
from webkiln.recipe.values import BACKENDS

BOUNDS = {
    "TensorFlow.js, float16": 2e-3,
    "TensorFlow.js, uint16": 1e-3,
    "TensorFlow.js, uint8": 0.1,
}


def converted(name, folder) -> tuple[Model, Graph]:
    file = FILES[name]
    model = file.stated((read_3 if file.layout.startswith("3.") else read)(file.model))
    path, companion = file.write(folder, model)
    return model, KerasConverter(batch_size=2).convert(*parse_model(path, companion=companion))


def inputs(model: Model, graph: Graph) -> dict[str, np.ndarray]:
    return {
        name: value.astype(graph.type(name).dtype)
        for name, value in zip(graph.inputs, model.inputs, strict=True)
    }


def check(name, model: Model, outputs) -> None:
    bound = BOUNDS.get(FILES[name].layout, 2e-5)
    for got, expected in zip(outputs.values(), model.outputs, strict=True):
        assert got.shape == expected.shape, name
        assert relative_error(got, expected) < bound, name


@pytest.mark.parametrize("name", FILES)
@pytest.mark.sample(60)
def test_files_agree_with_recorded_outputs(name, tmp_path):
    model, graph = converted(name, tmp_path)
    check(name, model, run_graph(graph, inputs(model, graph))[0])


def job(model: Model, graph: Graph) -> Job:
    optimised = reduce(
        lambda g, name: import_module(f"webkiln.passes.{name}").run(g), PASSES, graph
    )
    return Job(optimised, inputs(model, graph), constant_values(optimised, graph.weights))


FEW = (
    "1.2, channels first, Theano: conv_2d",
    "1.2: lstm",
    "2.0: merged",
    "2.15: local_2",
    "TensorFlow.js, uint16: conv_2d",
)
"""The files whose programs run on every backend."""
RUN = [
    pytest.param("wasm", tuple(FILES), marks=pytest.mark.long, id="wasm all"),
    *(pytest.param(name, FEW, id=name) for name in BACKENDS),
]


@pytest.mark.parametrize(("backend", "names"), RUN)
@pytest.mark.sample("js")
def test_backends_agree_with_recorded_outputs(backend, names, tmp_path):
    """Most files of one model become the same program with the same weights, which runs once."""
    programs: dict[str, tuple[str, Model, Job]] = {}
    for number, name in enumerate(names):
        folder = tmp_path / f"file{number}"
        folder.mkdir()
        model, graph = converted(name, folder)
        weights = {slot: digest(value.tobytes()) for slot, value in graph.weights.items()}
        key = digest(
            canonical.dumps(
                [
                    to_json(graph),
                    weights,
                    [value.tolist() for value in model.inputs],
                    FILES[name].model,
                ]
            )
        )
        if key not in programs:
            programs[key] = name, model, job(model, graph)
    results = run([item for _, _, item in programs.values()], backend, tmp_path)
    for (name, model, _), outputs in zip(programs.values(), results, strict=True):
        check(name, model, outputs)


def test_every_version_has_files():
    """At least sixty files, some of each version, and some with channels first and the kernels of
    Theano.
    """
    assert len(FILES) >= 60
    for layout in ("1.2", "2.0", "2.2.4", "2.4", "2.15", "3.0", "3.15"):
        assert sum(name.startswith((f"{layout}:", f"{layout},")) for name in FILES) >= 8, layout
    assert any(name.startswith("1.2, channels first, Theano") for name in FILES)
