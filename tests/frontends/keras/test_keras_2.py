"""Files of tf.keras 2 keep their meaning: names, call counts, masks, activations."""

import zipfile

import h5py
import keras
import numpy as np
import pytest
from keras import layers as L

from tests.frontends.keras.cases import randomise
from webkiln import canonical
from webkiln.backends.compare import relative_error
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph

GATED = {"units": 3, "activation": "tanh", "recurrent_activation": "sigmoid"}
ZEROS = [[0, 2], [0, 1]]


def entry(class_name, name, *calls, **config):
    """A layer of a Functional model; each call is a list of [layer, call]."""
    nodes = [[[before, number, 0, {}] for before, number in call] for call in calls]
    return {
        "class_name": class_name,
        "name": name,
        "config": {"name": name, "trainable": True, **config},
        "inbound_nodes": nodes,
    }


def source(name, *shape, dtype="float32"):
    return {
        "class_name": "InputLayer", "name": name, "inbound_nodes": [],
        "config": {"batch_input_shape": [None, *shape], "dtype": dtype, "name": name},
    }  # fmt: skip


def functional(name, entries, inputs, output):
    config = {
        "name": name,
        "layers": entries,
        "input_layers": [[item, 0, 0] for item in inputs],
        "output_layers": [output],
    }
    return {"class_name": "Functional", "config": config}


def write(path, model, weights):
    """`weights`: layer -> the names in the file with their arrays."""
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["model_config"] = canonical.dumps(model).decode()
        for layer, arrays in weights.items():
            group = file.require_group(f"model_weights/{layer}")
            group.attrs["weight_names"] = [f"{name}:0".encode() for name in arrays]
            for name, array in arrays.items():
                group[f"{name}:0"] = array


def outputs_of(path, *inputs):
    graph = KerasConverter(batch_size=2).convert(path)
    return list(run_graph(graph, dict(zip(graph.inputs, inputs, strict=True)))[0].values())


def named(prefix, layer):
    return {
        f"{prefix}/{name}": np.asarray(value)
        for name, value in zip(("kernel", "recurrent_kernel", "bias"), layer.weights, strict=True)
    }


def sequences(*seeds):
    made = [np.random.default_rng(seed).normal(size=(2, 5, 4)).astype(np.float32) for seed in seeds]
    for position, values in enumerate(made):
        values[0, ZEROS[position]] = 0
    return made


def built(layer, width=4):
    layer.build((None, None, width))
    randomise(layer)
    return layer


def gate_2(x):
    return keras.ops.clip(0.2 * x + 0.5, 0, 1)


@pytest.mark.parametrize("kind", ["h5", "keras"])
def test_gates_of_hard_sigmoid(tmp_path, kind):
    (x,) = sequences(1)
    model = keras.Sequential([keras.Input((5, 4)), L.LSTM(3, recurrent_activation="hard_sigmoid")])
    randomise(model)
    model.save(tmp_path / f"new.{kind}")
    path = tmp_path / f"old.{kind}"
    if kind == "h5":
        path = tmp_path / "new.h5"
        with h5py.File(path, "a") as file:
            file.attrs["keras_version"] = "2.15.0"
    else:
        with zipfile.ZipFile(tmp_path / "new.keras") as new, zipfile.ZipFile(path, "w") as old:
            for name in new.namelist():
                old.writestr(
                    name,
                    b'{"keras_version": "2.15.0"}' if name == "metadata.json" else new.read(name),
                )
    layer = built(L.LSTM(3, recurrent_activation=gate_2))
    layer.set_weights(model.get_weights())
    assert relative_error(outputs_of(path, x)[0], np.asarray(layer(x))) < 1e-5


MERGES = {
    "Add": lambda a, b: (a + b, [True, True]),
    "Multiply": lambda a, b: (a * b, [True, False]),
    "Concatenate": lambda a, b: (np.concatenate([a, b], -1), [False, True]),
    "Concatenate, both": lambda a, b: (np.concatenate([a, b], -1), [True, True]),
}


@pytest.mark.parametrize("name", MERGES)
def test_merged_masks_contain_the_steps_of_all_operands(tmp_path, name):
    a, b = sequences(1, 2)
    merged, masked = MERGES[name](a, b)
    layer = built(L.LSTM(3), merged.shape[-1])
    masks = [
        entry("Masking", f"mask_{item}", [[item, 0]], mask_value=0.0)
        for item, has in zip("ab", masked, strict=True)
        if has
    ]
    operands = [
        [f"mask_{item}" if has else item, 0] for item, has in zip("ab", masked, strict=True)
    ]
    model = [
        source("a", 5, 4),
        source("b", 5, 4),
        *masks,
        entry(name.partition(",")[0], "merge", operands),
        entry("LSTM", "lstm", [["merge", 0]], **GATED),
    ]
    write(
        tmp_path / "m.h5",
        functional("m", model, "ab", ["lstm", 0, 0]),
        {"lstm": named("lstm/lstm_cell", layer)},
    )
    shown = np.logical_and.reduce(
        [np.any(item != 0, -1) for item, has in zip((a, b), masked, strict=True) if has]
    )
    assert (
        relative_error(
            outputs_of(tmp_path / "m.h5", a, b)[0], np.asarray(layer(merged, mask=shown))
        )
        < 1e-5
    )


def test_concatenated_sequences_keep_their_masks(tmp_path):
    a, b = sequences(1, 2)
    layer = built(L.LSTM(3))
    masks = [entry("Masking", f"mask_{item}", [[item, 0]], mask_value=0.0) for item in "ab"]
    joined = entry("Concatenate", "joined", [["mask_a", 0], ["mask_b", 0]], axis=1)
    model = [
        source("a", 5, 4),
        source("b", 5, 4),
        *masks,
        joined,
        entry("LSTM", "lstm", [["joined", 0]], **GATED),
    ]
    write(
        tmp_path / "m.h5",
        functional("m", model, "ab", ["lstm", 0, 0]),
        {"lstm": named("lstm/lstm_cell", layer)},
    )
    whole = np.concatenate([a, b], 1)
    assert (
        relative_error(
            outputs_of(tmp_path / "m.h5", a, b)[0],
            np.asarray(layer(whole, mask=np.any(whole != 0, -1))),
        )
        < 1e-5
    )


def test_weights_of_both_directions_are_distinguished(tmp_path):
    (x,) = sequences(1)
    both = built(L.Bidirectional(L.LSTM(3, name="lstm"), name="both"))
    inner = {"class_name": "LSTM", "config": {"name": "lstm", "trainable": True, **GATED}}
    weights = named("both/forward_lstm/lstm_cell", both.forward_layer) | named(
        "both/backward_lstm/lstm_cell", both.backward_layer
    )
    model = functional(
        "m",
        [source("x", 5, 4), entry("Bidirectional", "both", [["x", 0]], layer=inner)],
        "x",
        ["both", 0, 0],
    )
    write(tmp_path / "m.h5", model, {"both": weights})
    assert relative_error(outputs_of(tmp_path / "m.h5", x)[0], np.asarray(both(x))) < 1e-5


def test_weights_of_cells_of_one_class_are_distinguished(tmp_path):
    (x,) = sequences(1)
    cells = [
        L.SimpleRNNCell(4, name="simple_rnn_cell"),
        L.SimpleRNNCell(4, name="simple_rnn_cell_1"),
    ]
    layer = built(L.RNN(cells))
    inner = [
        {
            "class_name": "SimpleRNNCell",
            "config": {"name": cell.name, "trainable": True, "units": 4, "activation": "tanh"},
        }
        for cell in cells
    ]
    stack = {
        "class_name": "StackedRNNCells",
        "config": {"name": "cells", "trainable": True, "cells": inner},
    }
    weights = named("rnn/cells/simple_rnn_cell", cells[0]) | named(
        "rnn/cells/simple_rnn_cell_1", cells[1]
    )
    model = functional(
        "m", [source("x", 5, 4), entry("RNN", "rnn", [["x", 0]], cell=stack)], "x", ["rnn", 0, 0]
    )
    write(tmp_path / "m.h5", model, {"rnn": weights})
    assert relative_error(outputs_of(tmp_path / "m.h5", x)[0], np.asarray(layer(x))) < 1e-5


def test_calls_of_nested_models_are_counted_from_one(tmp_path):
    (x,) = sequences(1)
    layer = built(L.Dense(4))
    dense = entry("Dense", "dense", [["inner_x", 0]], units=4, activation="linear", use_bias=True)
    inner = functional("inner", [source("inner_x", 5, 4), dense], ["inner_x"], ["dense", 0, 0])
    nested = {**inner, "name": "inner", "inbound_nodes": [[["x", 0, 0, {}]], [["inner", 1, 0, {}]]]}
    model = functional("m", [source("x", 5, 4), nested], "x", ["inner", 2, 0])
    kernel, bias = layer.get_weights()
    write(tmp_path / "m.h5", model, {"inner": {"dense/kernel": kernel, "dense/bias": bias}})
    assert relative_error(outputs_of(tmp_path / "m.h5", x)[0], np.asarray(layer(layer(x)))) < 1e-5


def test_a_nested_sequential_is_not_an_operation(tmp_path):
    (x,) = sequences(1)
    layer = built(L.Dense(4))
    dense = {
        "class_name": "Dense",
        "config": {
            "name": "dense",
            "trainable": True,
            "units": 4,
            "activation": "linear",
            "use_bias": True,
        },
    }
    first = {
        "class_name": "InputLayer",
        "config": {"batch_input_shape": [None, 5, 4], "dtype": "float32", "name": "dense_input"},
    }
    chain = {"class_name": "Sequential", "config": {"name": "chain", "layers": [first, dense]}}
    outer = {
        "class_name": "Sequential",
        "config": {"name": "outer", "layers": [source("x", 5, 4), chain]},
    }
    kernel, bias = layer.get_weights()
    write(tmp_path / "m.h5", outer, {"chain": {"dense/kernel": kernel, "dense/bias": bias}})
    assert relative_error(outputs_of(tmp_path / "m.h5", x)[0], np.asarray(layer(x))) < 1e-5


@pytest.mark.parametrize("nested", [False, True])
def test_sequential_configs_that_are_lists_and_unnamed_cells(tmp_path, nested):
    """A file of Keras before 2.2.3: the config of a Sequential is the list of its layers, and the
    weight names of an LSTM contain no cell.
    """
    reference = built(L.Bidirectional(L.LSTM(**GATED, return_sequences=True)))
    half = built(L.Dense(2), 6)
    wrapped = {
        "class_name": "LSTM",
        "config": {"name": "lstm_4", "trainable": True, **GATED, "return_sequences": True},
    }
    chain = [
        {
            "class_name": "Bidirectional",
            "config": {
                "trainable": True,
                "name": "both",
                "layer": wrapped,
                "batch_input_shape": [None, 5, 4],
            },
        },
        {"class_name": "Dense", "config": {"trainable": True, "name": "d", "units": 2}},
    ]
    both = named("both/forward_lstm_4", reference.forward_layer) | named(
        "both/backward_lstm_4", reference.backward_layer
    )
    dense = dict(zip(("d/kernel", "d/bias"), map(np.asarray, half.weights), strict=True))
    if nested:
        inner = {
            "class_name": "Sequential",
            "name": "inner",
            "config": chain,
            "inbound_nodes": [[["x", 0, 0, {}]]],
        }
        model = functional("outer", [source("x", 5, 4), inner], ["x"], ["inner", 1, 0])
        write(tmp_path / "m.h5", model, {"inner": both | dense})
    else:
        write(
            tmp_path / "m.h5",
            {"class_name": "Sequential", "config": chain},
            {"both": both, "d": dense},
        )
    (x,) = sequences(1)
    assert (
        relative_error(outputs_of(tmp_path / "m.h5", x)[0], np.asarray(half(reference(x)))) < 1e-5
    )
