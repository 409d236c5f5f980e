"""Files of every era, read without a framework and run, against what Keras 2 computed for the same models."""

import numpy as np
import pytest

from tests.backends.harness import error
from tests.frontends.keras.eras.layouts import FILES, Model, read
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.reader import parse_model
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph

BOUNDS = {"TensorFlow.js, float16": 2e-3, "TensorFlow.js, uint16": 1e-3, "TensorFlow.js, uint8": 0.1}


def converted(name, folder) -> tuple[Model, Graph]:
    file = FILES[name]
    model = file.stated(read(file.model))
    path, companion = file.write(folder, model)
    return model, KerasConverter(batch_size=2).convert(*parse_model(path, companion))


def given(model: Model, graph: Graph) -> dict[str, np.ndarray]:
    return {name: value.astype(graph.type(name).dtype) for name, value in zip(graph.inputs, model.given, strict=True)}


def check(name, model: Model, outputs) -> None:
    bound = BOUNDS.get(FILES[name].layout, 2e-5)
    for got, wanted in zip(outputs.values(), model.wanted, strict=True):
        assert got.shape == wanted.shape, name
        assert error(got, wanted) < bound, name


@pytest.mark.parametrize("name", FILES)
def test_files_compute_what_keras_computed(name, tmp_path):
    model, graph = converted(name, tmp_path)
    check(name, model, run_graph(graph, given(model, graph))[0])
