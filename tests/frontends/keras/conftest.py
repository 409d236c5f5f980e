import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import pytest

from tests.frontends.keras.cases import randomise
from webkiln.backends.compare import relative_error
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ir.graph import Graph
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import infer

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def same_start() -> None:
    """Every test starts with unused names and the same random numbers."""
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)


@pytest.fixture(autouse=True)
def own_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KerasConverter, "handlers", {})


@pytest.fixture
def compare() -> Callable[..., Graph]:
    """Convert a model, evaluate the graph with numpy, and compare every output with Keras."""

    def check(
        model: Any,
        *,
        batch: int = 2,
        tolerance: float = 2e-5,
        source: Any = None,
        weights: bool = True,
    ) -> Graph:
        if weights:
            randomise(model)
        converter = KerasConverter(batch_size=batch)
        graph = converter.convert(model if source is None else source)
        verify(graph, infer)
        generator = np.random.default_rng(7)
        inputs = {
            name: (generator.normal(size=graph.type(name).shape) * 1.5).astype(
                graph.type(name).dtype
            )
            if graph.type(name).dtype.startswith("float")
            else generator.integers(0, 4, graph.type(name).shape).astype(graph.type(name).dtype)
            for name in graph.inputs
        }
        outputs, _ = run_graph(graph, inputs)
        arrays = list(inputs.values())
        expected = model(arrays if len(arrays) > 1 else arrays[0], training=False)
        if isinstance(expected, dict):
            assert list(expected) == list(outputs)
        flat = [np.array(value) for value in keras.tree.flatten(expected)]
        assert len(flat) == len(outputs)
        for (name, got), wanted in zip(outputs.items(), flat, strict=True):
            assert got.shape == wanted.shape, name
            assert str(got.dtype) == str(wanted.dtype), name
            assert relative_error(got, wanted) < tolerance, name
        return graph

    return check


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model as `m.keras` and `m.h5`."""
    folder = tmp_path_factory.mktemp("saved")
    x = keras.Input((6, 6, 1), name="x")
    y = keras.layers.Dense(2, name="dense")(
        keras.layers.Flatten()(keras.layers.Conv2D(2, 3, name="conv")(x))
    )
    model = keras.Model(x, y)
    model.save(folder / "m.keras")
    model.save(folder / "m.h5")
    return folder


@pytest.fixture
def stage() -> Callable[[str], ModuleType]:
    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(
            f"stage_{name}", ROOT / "stages" / f"{name}.py"
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
