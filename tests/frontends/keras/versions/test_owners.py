"""Weights in lists are assigned to layers by name, even if layers are frozen; tensors of nested
models are numbered by their sorted keys.
"""

import json

import h5py
import keras
import numpy as np
import pytest
from keras import layers as L

from tests.frontends.keras.archives import rewritten
from webkiln.errors import SourceError
from webkiln.frontends.core.stored_weight import StoredWeight
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.reader import parse_model
from webkiln.frontends.keras.spec import Ref
from webkiln.frontends.keras.versions.assign import assigned
from webkiln.frontends.keras.versions.layouts import Era
from webkiln.ops.evaluate import run_graph


def inside(inner, *shape):
    x = keras.Input(shape)
    return keras.Model(x, inner(x))


def frozen_around():
    """A frozen model with a layer that is not."""
    inner = keras.Sequential([keras.Input((4,)), L.Dense(4), L.Dense(4)], name="inner")
    inner.trainable = False
    inner.layers[-1].trainable = True
    return inside(inner, 4)


def one_way():
    layers = [L.Bidirectional(L.LSTM(4, return_sequences=True), merge_mode="sum") for _ in range(2)]
    model = inside(keras.Sequential([keras.Input((5, 4)), *layers], name="inner"), 5, 4)
    layers[0].forward_layer.trainable = False
    return model


def over_time():
    inner = keras.Sequential([keras.Input((4,)), L.Dense(4), L.BatchNormalization(), L.Dense(4)])
    inner.layers[0].trainable = False
    return inside(L.TimeDistributed(inner), 5, 4)


def spectral():
    return inside(
        keras.Sequential([keras.Input((4,)), L.Dense(4), L.SpectralNormalization(L.Dense(4))]), 4
    )


def heads():
    x = keras.Input((5, 4))
    first, second = (
        L.MultiHeadAttention(2, 2, use_bias=False, name=name) for name in ("first", "second")
    )
    inner = keras.Model(x, second(first(x, x), x), name="inner")
    first.trainable = False
    return inside(inner, 5, 4)


def keyed():
    """Keras numbers the tensors of a nested model by the sorted keys, and passes them by key."""
    inputs = {"z": keras.Input((4,), name="z"), "a": keras.Input((4,), name="a")}
    inner = keras.Model(
        inputs, {"q": L.Dense(3)(inputs["z"]), "b": L.Dense(3)(inputs["a"])}, name="inner"
    )
    p, q = keras.Input((4,), name="p"), keras.Input((4,), name="q")
    found = inner({"a": p, "z": q})
    return keras.Model([p, q], [found["q"], found["b"]])


@pytest.mark.parametrize("kind", ["keras", "h5", "memory"])
@pytest.mark.parametrize("make", [frozen_around, one_way, over_time, spectral, heads, keyed])
@pytest.mark.sample(8)
def test_every_layer_has_its_own_weights(make, kind, compare, tmp_path):
    model = make()
    compare(model)
    path = tmp_path / f"m.{kind}"
    if kind != "memory":
        model.save(path)
        compare(model, source=path, weights=False)


def test_names_identify_the_frozen_direction():
    """tf.keras writes the arguments of a Bidirectional, without the state of frozen layers."""
    entry = keras.Sequential(
        [keras.Input((5, 4)), L.Bidirectional(L.LSTM(2, name="lstm"), name="both")]
    ).get_config()["layers"][1]
    del entry["config"]["backward_layer"]
    ends = ("kernel", "recurrent_kernel", "bias")
    stored = [
        StoredWeight(f"both/{way}_lstm/lstm_cell/{end}:0", (1,), lambda: np.zeros(1))
        for way in ("backward", "forward")
        for end in ends
    ]
    found = assigned(entry, "both", stored, Era((2, 15, 0)))
    assert {path: [item.name for item in weights.values()] for path, weights in found.items()} == {
        f"both/{way}_lstm/lstm_cell": [f"both/{way}_lstm/lstm_cell/{end}:0" for end in ends]
        for way in ("forward", "backward")
    }


def test_keras_2_passes_tensors_by_input_name():
    (call,) = configs.read_calls([{"a": ["p", 0, 0, {}], "z": ["q", 1, 0, {}]}])
    assert call.args == ({"a": Ref("p", 0, 0), "z": Ref("q", 1, 0)},)


def test_lists_that_name_a_weight_twice(tmp_path):
    """Keras 2 writes such a file if two layers inside a model have the same name."""
    inside(keras.Sequential([keras.Input((4,)), L.Dense(4), L.Dense(4)], name="inner"), 4).save(
        tmp_path / "m.h5"
    )
    with h5py.File(tmp_path / "m.h5", "a") as file:
        group = file["model_weights/inner"]
        names = list(group.attrs["weight_names"])
        group.attrs["weight_names"] = [*names[:2], *names[:2]]
    with pytest.raises(
        SourceError,
        match=(
            r"inner lists 'inner/dense/kernel' twice but contains it once: the file is incomplete"
        ),
    ):
        parse_model(tmp_path / "m.h5")


def test_normalization_with_constant_statistics_has_no_weights(tmp_path):
    model = keras.Sequential(
        [
            keras.Input((3,)),
            L.Normalization(mean=[1.0, 2.0, 3.0], variance=[4.0, 5.0, 6.0]),
            L.Dense(2),
        ]
    )
    model.save(tmp_path / "m.h5")
    (tmp_path / "m.json").write_text(model.to_json())
    graph = KerasConverter().convert(*parse_model(tmp_path / "m.json", companion=tmp_path / "m.h5"))
    assert sorted(graph.slots) == ["dense/bias", "dense/kernel"]


def test_inner_layers_of_attention_in_archives_of_keras_2(compare, tmp_path):
    x = keras.Input((5, 4))
    model = keras.Model(x, L.MultiHeadAttention(2, 3, name="heads")(x, x))
    compare(model)
    model.save(tmp_path / "m.keras")

    def move(file):
        heads = file["layers/multi_head_attention"]
        for name in ("query_dense", "key_dense", "value_dense", "output_dense"):
            heads.move(name, f"_{name}")

    compare(
        model,
        source=rewritten(tmp_path / "m.keras", tmp_path / "n.keras", weights=move),
        weights=False,
    )


def test_layers_of_keras_2_do_not_cast_to_integers(tmp_path):
    """A Discretization of Keras 2 states the dtype of its output."""
    layers = [
        {
            "class_name": "InputLayer",
            "config": {"name": "x", "batch_input_shape": [None, 4], "dtype": "float32"},
        },
        {
            "class_name": "Discretization",
            "config": {
                "name": "bins",
                "dtype": "int64",
                "bin_boundaries": [-0.5, 0, 0.5],
                "output_mode": "int",
            },
        },
    ]
    architecture = {
        "class_name": "Sequential",
        "config": {"name": "m", "layers": layers},
        "keras_version": "2.15.0",
    }
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["model_config"], file.attrs["keras_version"] = json.dumps(architecture), "2.15.0"
        file.create_group("model_weights/bins").attrs["weight_names"] = []
        file["model_weights"].attrs["layer_names"] = ["bins"]
    graph = KerasConverter().convert(*parse_model(tmp_path / "m.h5"))
    (result,) = run_graph(graph, {"x": np.array([[-0.9, -0.2, 0.2, 0.9]], "float32")})[0].values()
    assert result.tolist() == [[0, 1, 2, 3]]


def test_idf_weights_are_not_in_h5(tmp_path):
    x = keras.Input((1,), dtype="string", name="text")
    layer = L.StringLookup(
        vocabulary=["a", "b"], output_mode="tf_idf", idf_weights=[0.5, 1.5], name="words"
    )
    keras.Model(x, layer(x)).save(tmp_path / "m.h5")
    with pytest.raises(
        SourceError,
        match=r"words \(StringLookup\): the file has no idf_weights; save the model as .keras",
    ):
        parse_model(tmp_path / "m.h5")
