"""Older files with classes of a plugin: their configs are translated before Keras reads them."""

import json

import keras
import numpy as np
import pytest

from tests.frontends.keras.versions.model_files import (
    WRITTEN,
    every_layer,
    read,
    write_h5,
)
from tests.frontends.keras.versions.plugin_files import VERSION, changed, check, subclass
from tests.frontends.keras.without_keras import unsupported_parts
from webkiln.backends.compare import relative_error
from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model, load_with_keras
from webkiln.frontends.keras.plugins import isolated
from webkiln.ops.evaluate import run_graph

pytestmark = pytest.mark.probes
RETIRED = {"local", "local_2", "local_2d"}
NAMES = sorted({path.stem for path in WRITTEN.glob("*.h5")} - RETIRED)


@pytest.mark.parametrize("name", NAMES)
def test_keras_computes_the_outputs_of_the_older_version(name):
    model = read(name)
    with isolated():  # other tests register classes with the names of Keras's own
        revived = load_with_keras(WRITTEN / f"{name}.h5")
    inputs = model.inputs if len(model.inputs) > 1 else model.inputs[0]
    outputs = keras.tree.flatten(revived(inputs, training=False))
    assert len(outputs) == len(model.outputs)
    for got, expected in zip(outputs, model.outputs, strict=True):
        assert relative_error(np.asarray(got), expected) < 1e-5


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("conv_2d", "Conv2D"),
        ("conv_2d", "BatchNormalization"),
        ("merged", "Dense"),
        ("nested", "Dense"),
        ("frozen", "Dense"),
        ("shared", "Dense"),
        ("separable", "SeparableConv2D"),
        ("transposed", "Conv2DTranspose"),
        ("words", "Embedding"),
        ("local_2d", "Dense"),
    ],
)
def test_classes_of_plugins(name, base, tmp_path):
    model = changed(name, base, tmp_path / "m.h5")
    assert any(layer["class_name"] == f"Mine{base}" for layer in every_layer(model.config))
    check(tmp_path / "m.h5", model, subclass(base), tmp_path)


def test_layers_inside_a_class_of_a_plugin_are_translated(tmp_path):
    """Its config has a layer in the arguments of Keras 2.4, which Keras 3 does not accept."""
    kernel = np.random.default_rng(0).normal(size=(3, 3, 2, 1)).astype("float32")
    inner = {
        "class_name": "DepthwiseConv2D",
        "config": {
            "name": "inner",
            "kernel_size": [3, 3],
            "groups": 1,
            "use_bias": False,
            "depthwise_initializer": {"class_name": "OnlyForTraining", "config": {}},
        },
    }
    twice = {
        "class_name": "Twice",
        "name": "twice",
        "config": {"name": "twice", "layer": inner, "length": 2, "bias": 1},
        "inbound_nodes": [[["x", 0, 0, {}]]],
    }
    start = {
        "class_name": "InputLayer",
        "name": "x",
        "config": {"name": "x", "batch_input_shape": [None, 5, 5, 2], "dtype": "float32"},
        "inbound_nodes": [],
    }
    config = {
        "class_name": "Model",
        "config": {
            "name": "model",
            "layers": [start, twice],
            "input_layers": [["x", 0, 0]],
            "output_layers": [["twice", 0, 0]],
        },
    }
    lists = {"x": [], "twice": [("twice/inner/depthwise_kernel:0", kernel)]}
    write_h5(tmp_path / "m.h5", config, lists, VERSION)
    (tmp_path / "plugin.py").write_text(
        "import keras\n\n\n@keras.saving.register_keras_serializable()\n"
        "class Twice(keras.layers.Layer):\n"
        "    def __init__(self, layer, length, bias, **options):\n"
        "        super().__init__(**options)\n"
        "        self.layer = keras.saving.deserialize_keras_object(layer)\n"
        "        self.length, self.bias = length, bias\n\n"
        "    def build(self, shape):\n        self.layer.build(shape)\n\n"
        "    def call(self, x):\n        return self.layer(x) * self.length + self.bias\n"
    )
    x = np.random.default_rng(1).normal(size=(1, 5, 5, 2)).astype("float32")
    with isolated():
        spec, blobs = load_model(tmp_path / "m.h5", [tmp_path / "plugin.py"])
        graph = KerasConverter().convert(spec, blobs)
    (got,) = run_graph(graph, {"x": x})[0].values()
    layer = keras.layers.DepthwiseConv2D(3, use_bias=False)
    layer.build((None, 5, 5, 2))
    layer.set_weights([kernel])
    assert relative_error(got, 2 * np.asarray(layer(x)) + 1) < 1e-6


def test_weights_that_do_not_fit_a_class_are_named(tmp_path):
    changed("merged", "Dense", tmp_path / "m.h5")
    build = "def build(self, shape):\n        self.add_weight(shape=(7,), name='more')\n"
    (tmp_path / "plugin.py").write_text(subclass("Dense", f"{build}        super().build(shape)"))
    with (
        isolated(),
        pytest.raises(SourceError, match=r"\(MineDense\): its weights in the file are"),
    ):
        load_model(tmp_path / "m.h5", [tmp_path / "plugin.py"])


@pytest.mark.parametrize("name", ["conv_2d", "nested"])
def test_what_no_plugin_defines_is_refused_without_keras(name, tmp_path):
    changed(name, "Dense" if name == "nested" else "Conv2D", tmp_path / "m.h5")
    items = unsupported_parts(tmp_path / "m.h5")
    assert any("(Mine" in where for where, _, _ in items)
    assert any("Pass --plugin FILE.py" in hint for _, _, hint in items)


def test_training_code_of_current_files_is_not_needed(tmp_path):
    """Initialisers, regularisers, constraints, losses and metrics of unknown modules."""
    (tmp_path / "plugin.py").write_text(subclass("Dense"))
    x = keras.Input((4,), name="x")

    class MineDense(keras.layers.Dense):
        pass

    class OnlyForTraining(keras.initializers.Ones):
        pass

    def penalty(weight):
        return keras.ops.sum(weight)

    def loss(truth, y):
        return keras.ops.mean(truth - y)

    layer = MineDense(3, name="d", kernel_initializer=OnlyForTraining(), bias_regularizer=penalty)
    model = keras.Model(x, layer(x))
    model.compile("sgd", loss)
    values = np.random.default_rng(0).normal(size=(1, 4)).astype("float32")
    for suffix in ("keras", "h5"):
        model.save(tmp_path / f"m.{suffix}")
        with isolated():
            spec, blobs = load_model(tmp_path / f"m.{suffix}", [tmp_path / "plugin.py"])
            graph = KerasConverter().convert(spec, blobs)
        (got,) = run_graph(graph, {"x": values})[0].values()
        assert relative_error(got, np.asarray(model(values))) < 1e-6


def test_a_function_for_training_is_never_imported(tmp_path):
    """Where Keras might import the module of an initialiser, the file is refused."""
    (tmp_path / "plugin.py").write_text(subclass("Dense"))
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w').close()\n")
    model = read("merged")
    for registered in ("function", "first", None, 3):
        for kind, config in (("function", "first"), ("first", {})):
            evil = {
                "module": "evil",
                "class_name": kind,
                "config": config,
                "registered_name": registered,
            }
            text = json.dumps(model.config).replace('"Dense"', '"MineDense"')
            tree = json.loads(text)
            for layer in every_layer(tree):
                if layer["class_name"] == "MineDense":
                    layer["config"] |= {"kernel_initializer": evil, "other": {"a_constraint": evil}}
            write_h5(tmp_path / "m.h5", tree, model.lists, "3.0.0")
            with isolated(), pytest.MonkeyPatch.context() as patch:
                patch.syspath_prepend(tmp_path)
                with pytest.raises((SourceError, UnsupportedError)):
                    load_model(tmp_path / "m.h5", [tmp_path / "plugin.py"])
    assert not (tmp_path / "executed").exists()
