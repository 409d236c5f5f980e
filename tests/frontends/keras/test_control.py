"""Operations of keras.ops that call functions, in layers and in functional models."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from webkiln.errors import UnsupportedError
from webkiln.frontends.keras.callables import CALLED
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.handlers import HANDLERS
from webkiln.frontends.keras.in_memory import describe_model
from webkiln.frontends.keras.operations.control import CONTROL
from webkiln.frontends.keras.spec import CALLING, from_json, to_json
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import infer

IN_LAYERS = {
    "cond": lambda layer, x: ops.cond(ops.sum(x) > 0, lambda: x * layer.scale, lambda: x - 1),
    "cond_of_tuples": lambda layer, x: ops.cond(
        ops.sum(x) > 100, lambda: (x * 2, ops.sum(x)), lambda: (x - 1, ops.mean(x))
    )[1],
    "while_loop": lambda layer, x: ops.while_loop(
        lambda i, v: i < 5, lambda i, v: (i + 1, v * 0.5 + layer.scale), (0, x)
    )[1],
    "while_loop_by_values": lambda layer, x: ops.while_loop(
        lambda v: ops.max(ops.abs(v)) > 0.1, lambda v: v * 0.5, x
    ),
    "while_loop_at_most": lambda layer, x: ops.while_loop(
        lambda v: ops.max(v) > 0.1, lambda v: v * 0.5, x, maximum_iterations=2
    ),
    "fori_loop": lambda layer, x: ops.fori_loop(
        1, 4, lambda i, v: v + ops.cast(i, "float32") * x, x
    ),
    "fori_loop_to_a_value": lambda layer, x: ops.fori_loop(
        0,
        ops.cast(ops.abs(x[0, 0, 0]) * 3, "int32") + 1,
        lambda i, v: v + ops.cast(i, "float32") * x,
        x,
    ),
    "scan": lambda layer, x: ops.scan(
        lambda carry, row: (carry + layer.dense(row), carry * row),
        ops.zeros_like(x[:, 0]),
        ops.swapaxes(x, 0, 1),
    )[1],
    "scan_backwards": lambda layer, x: ops.scan(
        lambda carry, row: (carry * 0.5 + row, carry),
        ops.zeros_like(x[:, 0]),
        ops.swapaxes(x, 0, 1),
        reverse=True,
    )[1],
    "scan_of_nothing": lambda layer, x: ops.scan(
        lambda carry, _: (carry * 0.5, carry), x, length=3
    )[1],
    "associative_scan": lambda layer, x: ops.associative_scan(lambda a, b: a + b, x, axis=1),
    "associative_scan_backwards": lambda layer, x: ops.associative_scan(
        lambda a, b: a * b, x, axis=1, reverse=True
    ),
    "associative_scan_of_pairs": lambda layer, x: ops.associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x + 1), axis=1
    )[1],
    "map": lambda layer, x: ops.map(lambda row: ops.sum(row) * layer.scale, x),
    "vectorized_map": lambda layer, x: ops.vectorized_map(
        lambda row: ops.matmul(row, ops.transpose(row)), x
    ),
    "switch": lambda layer, x: ops.switch(
        ops.cast(x[0, 0, 0] * 2, "int32"),
        [lambda v: v + 1, lambda v: v * 2, lambda v: -v * layer.scale],
        x,
    ),
    "nested": lambda layer, x: ops.fori_loop(
        0,
        3,
        lambda i, v: ops.cond(
            ops.sum(v) > ops.cast(i, "float32"), lambda: v + x, lambda: v * layer.scale
        ),
        x,
    ),
}

IN_MODELS = {
    "cond": lambda x: ops.while_loop(lambda v: ops.max(ops.abs(v)) > 0.1, lambda v: v * 0.5, x),
    "fori_loop": lambda x: ops.fori_loop(0, 4, lambda i, v: v * 0.5 + 1, x),
    "scan": lambda x: ops.scan(
        lambda carry, row: (carry + row, carry * row), ops.zeros_like(x[0]), x
    )[1],
    "associative_scan": lambda x: ops.associative_scan(ops.maximum, x, axis=1),
    "map": lambda x: ops.map(lambda row: row - ops.mean(row), x),
    "vectorized_map": lambda x: ops.vectorized_map(
        lambda pair: pair[0] * ops.sum(pair[1]), (x, x + 1)
    ),
    "switch": lambda x: ops.switch(1, [lambda v: v + 1, lambda v: v * 2], x),
}


class Custom(keras.layers.Layer):
    def __init__(self, function):
        super().__init__(name="custom")
        self.function = function
        self.dense = keras.layers.Dense(4, name="dense")

    def build(self, shape):
        self.scale = self.add_weight(shape=(4,), initializer="ones", name="scale")
        self.dense.build((None, 4))

    def call(self, x):
        return self.function(self, x)


def converted(model):
    """With a round trip through the JSON of stages."""
    spec, blobs = describe_model(model, handled=HANDLERS.handles, batch_size=2)
    graph = KerasConverter(batch_size=2).convert(
        from_json(json.loads(json.dumps(to_json(spec)))), blobs
    )
    verify(graph, infer)
    return graph


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", IN_LAYERS)
@pytest.mark.sample(14)
def test_in_layers(name, seed):
    x = keras.Input((3, 4), batch_size=2, name="x")
    layer = Custom(IN_LAYERS[name])
    model = keras.Model(x, layer(x))
    layer.scale.assign([1.0, 2.0, -1.0, 0.5])
    values = np.random.default_rng(seed).normal(size=(2, 3, 4)).astype("float32")
    got, _ = run_graph(converted(model), {"x": values})
    np.testing.assert_allclose(
        next(iter(got.values())), np.array(layer(values)), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("name", IN_MODELS)
def test_in_functional_models(name):
    x = keras.Input((3, 4), batch_size=2, name="x")
    model = keras.Model(x, IN_MODELS[name](x))
    values = np.random.default_rng(1).normal(size=(2, 3, 4)).astype("float32")
    got, _ = run_graph(converted(model), {"x": values})
    np.testing.assert_allclose(
        next(iter(got.values())), np.array(model(values)), rtol=1e-5, atol=1e-5
    )


def test_files_do_not_contain_functions(tmp_path):
    x = keras.Input((3, 4), batch_size=2, name="x")
    keras.Model(x, IN_MODELS["map"](x)).save(tmp_path / "m.keras")
    with pytest.raises(
        UnsupportedError, match="arguments are Python functions, which files do not contain"
    ):
        KerasConverter().convert(tmp_path / "m.keras")


def test_states_are_not_assigned_inside_a_function():
    def step(layer, x):
        return ops.map(lambda row: layer.scale.assign(layer.scale + 1) * row, x)

    x = keras.Input((3, 4), batch_size=2, name="x")
    layer = Custom(lambda layer, x: x)
    model = keras.Model(x, layer(x))
    layer.function = step
    with pytest.raises(UnsupportedError, match="assigned inside a function"):
        converted(model)


def test_random_numbers_are_not_drawn_inside_a_function():
    x = keras.Input((3, 4), batch_size=2, name="x")
    model = keras.Model(
        x, Custom(lambda layer, x: ops.map(lambda row: row + keras.random.normal((3, 4)), x))(x)
    )
    with pytest.raises(UnsupportedError, match="random numbers are drawn inside a function"):
        converted(model)


def test_the_tables_name_the_same_operations():
    assert set(CALLED) == set(CONTROL) == CALLING
