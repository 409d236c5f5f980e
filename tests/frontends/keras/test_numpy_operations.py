"""The operations of keras.ops.numpy and keras.ops.core against Keras, in functional models in memory and from files, and the dtypes of all of them."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from tests.frontends.keras.operation_cases import CASES, MORE
from tests.frontends.keras.test_operations import build
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.operations.arguments import ABOVE, promote
from webkiln.ir.serial import to_json
from webkiln.ops.evaluate import run_graph


@pytest.mark.parametrize("name", [*CASES, *MORE])
def test_operation(compare, name, tmp_path):
    model = build((CASES | MORE)[name], batch=2)
    graph = compare(model, tolerance=1e-4)
    model.save(tmp_path / "m.keras")
    assert to_json(KerasConverter(batch_size=2).convert(tmp_path / "m.keras")) == to_json(graph)


def test_a_case_is_of_its_operation():
    used = {name: {type(operation).__name__ for operation in build(function, batch=2).operations} for name, function in CASES.items()}
    assert {name for name in CASES if name not in used[name]} <= {"Argpartition", "Conj"}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_dtypes_are_promoted_as_keras_does(count):
    weak = {"int": int, "float": float}
    for dtypes in itertools.combinations_with_replacement(ABOVE, count):
        assert promote(dtypes) == keras.backend.result_type(*(weak.get(dtype, dtype) for dtype in dtypes)), dtypes


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("bounds", [None, (-2, 3)])
def test_histogram(dtype, bounds):
    """Which no model of Keras on TensorFlow runs."""
    x = keras.Input((), batch_size=50, dtype=dtype, name="x")
    graph = KerasConverter().convert(keras.Model(x, ops.histogram(x, bins=4, range=bounds)))
    values = (np.random.default_rng(3).normal(size=50) * 3).astype(dtype)
    got, _ = run_graph(graph, {"x": values})
    for value, wanted in zip(got.values(), ops.histogram(values, bins=4, range=bounds), strict=True):
        assert value.dtype == np.array(wanted).dtype
        np.testing.assert_allclose(value, np.array(wanted), rtol=1e-6)
