"""Specs are equal for both file formats, contain no dates or ids, and survive a JSON round trip."""

import subprocess
import sys
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from keras import layers as L
from keras import ops

from webkiln import canonical
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.handlers import HANDLERS
from webkiln.frontends.keras.in_memory import describe_model
from webkiln.frontends.keras.probe import read_model
from webkiln.frontends.keras.spec import from_json, to_json
from webkiln.ops.evaluate import run_graph

ROOT = Path(__file__).parents[3]


def make():
    x = keras.Input((8, 8, 2), name="x")
    y = L.Conv2D(3, 3, padding="same", activation="relu")(x)
    y = L.BatchNormalization()(y)
    y = keras.Sequential([L.DepthwiseConv2D(3), L.LeakyReLU()], name="inner")(y)
    y = ops.relu(y[:, 1:, ..., ::2]) + np.float32(0.5)
    z = L.Dense(4, name="z")
    return keras.Model(x, [z(y), L.GlobalMaxPooling2D()(z(y))])


def text(spec):
    return canonical.dumps(to_json(spec))


def test_formats_and_memory_agree(tmp_path):
    model = make()
    model.save(tmp_path / "m.keras")
    model.save(tmp_path / "m.h5")
    (zipped, blobs), (hdf5, other) = read_model(tmp_path / "m.keras"), read_model(tmp_path / "m.h5")
    assert text(zipped) == text(hdf5)
    assert blobs.keys() == other.keys()
    live, _ = describe_model(model, handled=HANDLERS.handles)
    assert KerasConverter().convert(live) == KerasConverter().convert(zipped)


def test_saving_twice_gives_the_same_facts(tmp_path):
    model = make()
    model.save(tmp_path / "a.keras")
    keras.utils.clear_session(free_memory=False)
    keras.saving.load_model(tmp_path / "a.keras").save(tmp_path / "b.keras")
    assert (tmp_path / "a.keras").read_bytes() != (tmp_path / "b.keras").read_bytes()
    assert text(read_model(tmp_path / "a.keras")[0]) == text(read_model(tmp_path / "b.keras")[0])


def test_json_round_trip(tmp_path):
    model = make()
    model.save(tmp_path / "m.keras")
    spec, _ = read_model(tmp_path / "m.keras")
    assert text(from_json(canonical.loads(text(spec)))) == text(spec)
    assert KerasConverter().convert(
        from_json(canonical.loads(text(spec)))
    ) == KerasConverter().convert(spec)


def test_traced_facts_need_no_framework_to_convert(tmp_path):
    class Twice(L.Layer):
        def build(self, shape):
            self.seen = self.add_weight(name="seen", shape=(), initializer="zeros", trainable=False)

        def call(self, x):
            self.seen.assign_add(ops.sum(x))
            return x * np.array([1.0, np.inf], "float32") + self.seen

    x = keras.Input((2,), name="x")
    spec, _ = describe_model(keras.Model(x, Twice(name="twice")(x)), handled=HANDLERS.handles)
    (tmp_path / "spec.json").write_bytes(text(spec))
    script = (
        "import sys\n"
        "from webkiln import canonical\n"
        "from webkiln.frontends.keras.converter import KerasConverter\n"
        "from webkiln.frontends.keras.spec import from_json\n"
        "graph = KerasConverter().convert(from_json(canonical.loads(open(sys.argv[1]).read())))\n"
        "assert not {'keras', 'tensorflow'} & set(sys.modules)\n"
        "assert graph.states[0].name == 'twice/seen'\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, tmp_path / "spec.json"],
        check=True,
        env={"PYTHONPATH": str(ROOT / "pipeline")},
    )


def test_digits_needs_no_framework_to_load():
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from webkiln.frontends.keras.load import load_model\n"
        "from webkiln.frontends.keras.converter import KerasConverter\n"
        "model, blobs = load_model(Path(sys.argv[1]))\n"
        "graph = KerasConverter().convert(model, blobs)\n"
        "assert not {'keras', 'tensorflow'} & set(sys.modules)\n"
        "assert graph.weights.keys() == graph.slots\n"
    )
    path = ROOT / "models" / "digits" / "digits.keras"
    subprocess.run(
        [sys.executable, "-c", script, path], check=True, env={"PYTHONPATH": str(ROOT / "pipeline")}
    )


def keras_2(path):
    """Write a file like tf.keras 2."""
    layers = [
        {
            "class_name": "InputLayer",
            "name": "x",
            "inbound_nodes": [],
            "config": {"batch_input_shape": [None, 4], "dtype": "float32", "name": "x"},
        },
        {
            "class_name": "Dense",
            "name": "d",
            "inbound_nodes": [[["x", 0, 0, {}]]],
            "config": {
                "name": "d",
                "trainable": True,
                "dtype": "float32",
                "units": 4,
                "activation": "hard_sigmoid",
                "use_bias": True,
            },
        },
        {
            "class_name": "LeakyReLU",
            "name": "leaky",
            "inbound_nodes": [[["x", 0, 0, {}]]],
            "config": {"name": "leaky", "trainable": True, "dtype": "float32", "alpha": 0.5},
        },
        {
            "class_name": "Add",
            "name": "sum",
            "inbound_nodes": [[["d", 0, 0, {}], ["leaky", 0, 0, {}]]],
            "config": {"name": "sum", "trainable": True, "dtype": "float32"},
        },
    ]
    config = {
        "name": "old",
        "layers": layers,
        "input_layers": [["x", 0, 0]],
        "output_layers": [["sum", 0, 0]],
    }
    kernel, bias = np.eye(4, dtype="float32") * 2, np.ones(4, "float32")
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = "2.11.0"
        file.attrs["model_config"] = canonical.dumps(
            {"class_name": "Functional", "config": config}
        ).decode()
        group = file.create_group("model_weights/d")
        group.attrs["weight_names"] = [b"d/kernel:0", b"d/bias:0"]
        group["d/kernel:0"], group["d/bias:0"] = kernel, bias


def test_keras_2_files(tmp_path):
    keras_2(tmp_path / "old.h5")
    graph = KerasConverter().convert(tmp_path / "old.h5")
    x = np.array([[-3, -0.5, 0.25, 2]], "float32")
    outputs, _ = run_graph(graph, {"x": x})
    assert np.allclose(
        outputs["sum"], np.clip((2 * x + 1) * 0.2 + 0.5, 0, 1) + np.where(x > 0, x, x / 2)
    )


def test_layers_with_the_same_name_in_two_nested_models(tmp_path):
    x = keras.Input((4,), name="x")
    parts = [
        keras.Sequential([keras.Input((4,)), L.Dense(4, name="same")], name=name)
        for name in ("one", "two")
    ]
    outer = keras.Sequential([keras.Input((4,)), *parts], name="outer")
    keras.Model(x, outer(x)).save(tmp_path / "m.h5")
    keras.Model(x, outer(x)).save(tmp_path / "m.keras")
    (zipped, _), (hdf5, _) = read_model(tmp_path / "m.keras"), read_model(tmp_path / "m.h5")
    weights = [
        [part.model.layers[1].weights["kernel"].digest for part in model.layers[1].model.layers[1:]]
        for model in (zipped, hdf5)
    ]
    assert weights[0] == weights[1]
    assert weights[0][0] != weights[0][1]


@pytest.mark.parametrize("policy", ["float32", "float16"])
def test_dtype_policies_become_names(tmp_path, policy):
    model = keras.Sequential([keras.Input((3,), dtype=policy), L.Dense(2, dtype=policy, name="d")])
    model.save(tmp_path / "m.keras")
    spec, _ = read_model(tmp_path / "m.keras")
    assert spec.layers[1].config["dtype"] == policy
    assert spec.layers[1].weights["kernel"].dtype == policy


def test_retraining_does_not_change_the_graph(tmp_path):
    graphs = []
    for seed in (1, 2):
        keras.utils.clear_session(free_memory=False)
        keras.utils.set_random_seed(seed)
        make().save(tmp_path / "m.keras")
        graphs.append(KerasConverter().convert(tmp_path / "m.keras"))
    assert graphs[0] == graphs[1]
    assert not np.array_equal(graphs[0].weights["z/kernel"], graphs[1].weights["z/kernel"])
