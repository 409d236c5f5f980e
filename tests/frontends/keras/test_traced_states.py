"""Weights that a traced call assigns become states of the graph."""

import keras
import numpy as np
from keras import layers as L
from keras import ops

from tests.frontends.keras.custom_layers import layer_of, model_of
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import next_states, run_graph


def test_states_persist_between_runs():
    def build(layer, shape):
        layer.total = layer.add_weight(name="total", shape=(), initializer="zeros", trainable=False)

    def call(layer, x):
        layer.total.assign_add(ops.sum(x))
        return x * 0 + layer.total

    graph = KerasConverter().convert(model_of(layer_of(call, build), (2,)))
    (state,) = graph.states
    assert (state.name, state.initial) == ("custom/total", "custom/total")
    ones = {"x": np.ones((1, 2), "float32")}
    outputs, values = run_graph(graph, ones)
    assert outputs["custom"].tolist() == [[2, 2]]
    outputs, _ = run_graph(graph, ones, states=next_states(graph, values))
    assert outputs["custom"].tolist() == [[4, 4]]


def test_reads_before_an_assignment_see_the_old_value():
    def build(layer, shape):
        layer.last = layer.add_weight(name="last", shape=(2,), initializer="zeros", trainable=False)

    def call(layer, x):
        alias = layer.last
        before = alias + 0
        alias.assign(x[0])
        alias.assign(alias * 10)
        return ops.stack([before, alias + 0])

    graph = KerasConverter().convert(model_of(layer_of(call, build), (2,)))
    outputs, values = run_graph(graph, {"x": np.array([[1, 2]], "float32")})
    assert outputs["custom"].tolist() == [[0, 0], [10, 20]]
    assert next_states(graph, values)["custom/last"].tolist() == [10, 20]


def test_a_stateful_layer_called_twice_updates_its_state_twice():
    def build(layer, shape):
        layer.count = layer.add_weight(name="count", shape=(), initializer="zeros", trainable=False)

    def call(layer, x):
        layer.count.assign_add(1.0)
        return x + layer.count

    layer = layer_of(call, build)
    x = keras.Input((1,), name="x")
    graph = KerasConverter().convert(keras.Model(x, layer(layer(x))))
    outputs, values = run_graph(graph, {"x": np.zeros((1, 1), "float32")})
    assert outputs["custom"].item() == 3
    assert next_states(graph, values)["custom/count"] == 2


class Named(L.Layer):
    """Its keyword arguments are not in alphabetical order."""

    def call(self, x, scale=None, offset=None):
        return x["second"] * scale + x["first"] - 2 * offset


def test_keyword_arguments_are_passed_by_name(compare):
    second, first, scale, offset = (
        keras.Input((6,), name=name) for name in ("second", "first", "scale", "offset")
    )
    y = Named()({"second": second, "first": first}, scale=scale, offset=offset)
    compare(keras.Model([second, first, scale, offset], y))


class Stateful(L.Layer):
    """Calls an inner layer with a state, as decoders call attention with the position of the next
    token.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.inner = Named()

    def build(self, _):
        self.total = self.add_weight(name="total", shape=(6,), initializer="ones", trainable=False)

    def call(self, x):
        y = self.inner({"second": x, "first": x}, scale=self.total, offset=self.total.value)
        self.total.assign_add(x[0])
        return y


def test_states_may_be_arguments_of_layers(compare):
    graph = compare(model_of(Stateful(name="outer")))
    assert len(graph.states) == 1
