"""Python operators in a traced call."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.frontends.keras.custom_layers import layer_of, model_of


def test_integers_stay_integers_in_a_call(compare):
    x = keras.Input((6,), dtype="int32", name="x")
    graph = compare(
        keras.Model(x, layer_of(lambda layer, x: ops.floor_divide(x, 2) + (1 << 24) + 1)(x))
    )
    assert {graph.type(name).dtype for name in graph.outputs.values()} == {"int32"}


OPERATORS = {
    "&": (lambda x: x & 6, "int32"),
    "|": (lambda x: 6 | x, "uint8"),
    "^": (lambda x: x ^ x[:, ::-1], "int64"),
    "~": (lambda x: ~x, "int8"),
    "~ of bools": (lambda x: ~x & True, "bool"),
    "/": (lambda x: x / 2, "int32"),
    "/ from the left": (lambda x: 7 / (x + 1), "uint8"),
    "/ of a size": (lambda x: x / ops.shape(x)[1], "int64"),
    "//": (lambda x: x // -2, "int32"),
    "%": (lambda x: x % 3, "uint8"),
    "* of bools": (lambda x: x * 3, "bool"),
    "* by wide numbers": (lambda x: x * np.arange(6.0), "float32"),
    "* from the left": (lambda x: np.arange(6.0) * x, "float32"),
    "+ a number of numpy": (lambda x: x + np.float64(1.5), "float32"),
    "number of numpy +": (lambda x: np.float64(1.5) + x, "float32"),
    "+ narrower": (lambda x: x + np.arange(6), "int32"),
    "@": (lambda x: x @ np.ones((6, 2)), "float32"),
    "@ from the left": (lambda x: np.ones((4, 2)) @ x, "float32"),
    "== in where": (lambda x: ops.where(x == 0, 5, x), "int32"),
    "!=": (lambda x: (x != 1) & (x != 2), "int64"),
    "== None": (lambda x: x * (2 if x == None else 3), "int32"),  # noqa: E711
    "== another": (lambda x: x[:, ::-1] == x, "uint8"),
    "[:1]": (lambda x: x[:1] + x[1:], "float32"),
    "[-1]": (lambda x: x[-1], "float32"),
    "[numpy]": (lambda x: x[:, np.int64(2) : np.int32(5)], "float32"),
    "[...]": (lambda x: x[...] + x[None][0], "float32"),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_inputs_are_those_of_tensors(name, compare):
    compute, dtype = OPERATORS[name]
    x = keras.Input((6,), dtype=dtype, name="x")
    compare(keras.Model(x, layer_of(lambda layer, x: compute(x))(x)))


def test_operators_of_weights_are_those_of_keras(compare):
    def build(layer, _):
        layer.table = layer.add_weight(
            name="table", shape=(3, 6), dtype="int32", initializer="ones"
        )
        layer.gain = layer.add_weight(name="gain", shape=(6,))

    def call(layer, x):
        chosen = ops.where(layer.gain == layer.gain[0], 2.0, 3.0)
        return x[:, :3] * layer.gain[:3] * layer.gain[3:] + ops.sum(layer.table / 2) + chosen[:3]

    compare(model_of(layer_of(call, build)))
