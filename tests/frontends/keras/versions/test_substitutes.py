"""Classes of a plugin beside layers that Keras cannot load: functions and operators of TensorFlow,
Lambda layers, and layers that Keras no longer has.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import json_format

from tests.frontends.keras.versions.bytecode import ONE, config
from tests.frontends.keras.versions.model_files import read, write_h5
from tests.frontends.keras.versions.plugin_files import (
    VERSION,
    changed,
    check,
    subclass,
    written,
)
from webkiln.backends.compare import relative_error
from webkiln.errors import UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model
from webkiln.frontends.keras.plugins import isolated
from webkiln.ops.evaluate import run_graph

pytestmark = pytest.mark.probes


def function(start):
    name = "tf.math.multiply"
    settings = {"name": name, "function": "math.multiply", "dtype": "float32"}
    node = [start, 0, 0, {"y": 0.5, "name": None}]
    return {"class_name": "TFOpLambda", "name": name, "config": settings, "inbound_nodes": [node]}


def operator(start):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder("float32", [None, 4], name="x")
        tf.multiply(x, 0.5, name="half")
    definition = next(node for node in graph.as_graph_def().node if node.name == "half")
    settings = {
        "name": "half",
        "trainable": True,
        "dtype": "float32",
        "node_def": json_format.MessageToJson(definition),
        "constants": {"1": 0.5},
    }
    return {
        "class_name": "TensorFlowOpLayer",
        "name": "tf_op_layer_half",
        "config": settings,
        "inbound_nodes": [[[start, 0, 0, {}]]],
    }


def expression(start):
    return {
        "class_name": "Lambda",
        "name": "half",
        "config": {**written(lambda x: x / 2), "name": "half"},
        "inbound_nodes": [[[start, 0, 0, {}]]],
    }


def with_layer(name, make, path):
    """A model whose first input is halved by a layer, and whose Dense layers are a plugin's."""
    model = changed(name, "Dense", path)
    layers = model.config["config"]["layers"]
    start = model.config["config"]["input_layers"][0][0]
    made = make(start)

    def moved(value):
        if isinstance(value, list) and value[:1] == [start]:
            return [made["name"], *value[1:]]
        return [moved(item) for item in value] if isinstance(value, list) else value

    for layer in layers:
        layer["inbound_nodes"] = moved(layer["inbound_nodes"])
    layers.append(made)
    write_h5(path, model.config, model.lists, VERSION)
    model.inputs[0] = model.inputs[0] * 2
    return model


@pytest.mark.parametrize("make", [function, operator, expression])
@pytest.mark.parametrize("name", ["merged", "nested", "shared"])
def test_layers_of_older_files(name, make, tmp_path):
    model = with_layer(name, make, tmp_path / "m.h5")
    check(tmp_path / "m.h5", model, subclass("Dense"), tmp_path)


def test_a_function_with_several_outputs(tmp_path):
    """The parts of a split are inputs of the class of a plugin."""
    start = read("merged").config["config"]["input_layers"][0][0]
    model = with_layer("merged", function, tmp_path / "m.h5")
    split = model.config["config"]["layers"][-1]
    split["config"]["function"] = "split"
    split["inbound_nodes"] = [[start, 0, 0, {"num_or_size_splits": 2, "axis": -1}]]
    write_h5(tmp_path / "m.h5", model.config, model.lists, VERSION)
    values = model.inputs[0]
    model.inputs[0] = np.concatenate([values / 2, values], -1)
    start_config = next(
        layer["config"] for layer in model.config["config"]["layers"] if layer["name"] == start
    )
    start_config["batch_input_shape"] = [None, *model.inputs[0].shape[1:]]
    write_h5(tmp_path / "m.h5", model.config, model.lists, VERSION)
    check(tmp_path / "m.h5", model, subclass("Dense"), tmp_path)


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_expressions_in_current_files(suffix, tmp_path):
    (tmp_path / "plugin.py").write_text(subclass("Dense"))

    class MineDense(keras.layers.Dense):
        pass

    x = keras.Input((None, 4), name="x")
    code = keras.layers.Lambda(lambda t: t * 2 - 1, name="code")
    y = MineDense(3, name="d")(code(MineDense(5, name="c")(code(x))))
    model = keras.Model(x, y)
    model.save(tmp_path / f"m.{suffix}")
    values = np.random.default_rng(0).normal(size=(1, 6, 4)).astype("float32")
    with isolated():
        spec, blobs = load_model(tmp_path / f"m.{suffix}", [tmp_path / "plugin.py"])
        graph = KerasConverter().convert(spec, blobs)
    (got,) = run_graph(graph, {"x": values})[0].values()
    assert relative_error(got, np.asarray(model(values))) < 1e-6


def test_what_has_no_substitute_is_named(tmp_path):
    """A function that is not converted, and code that is no expression."""

    def unknown(start):
        made = function(start)
        made["config"]["function"] = "audio.decode_wav"
        return made

    def statements(start):
        return {**expression(start), "config": {**config("3.7", ONE), "function": ["", None, None]}}

    for make, where in ((unknown, "tf.math.multiply"), (statements, "half")):
        with_layer("merged", make, tmp_path / "m.h5")
        (tmp_path / "plugin.py").write_text(subclass("Dense"))
        with isolated(), pytest.raises(UnsupportedError, match=where):
            load_model(tmp_path / "m.h5", [tmp_path / "plugin.py"])
