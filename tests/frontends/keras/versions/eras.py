"""Rewrite models of Keras 2.15 in the configs and weight lists of earlier versions, according to
the documented formats.
"""

import copy
from dataclasses import replace

import numpy as np

from tests.frontends.keras.versions import keras_1
from tests.frontends.keras.versions.model_files import (
    CONTAINERS,
    Config,
    Lists,
    Model,
    every_layer,
    layers_of,
)


def tf_keras_2_4(model: Model) -> Model:
    """Remove the config values that later versions of tf.keras added."""
    config = copy.deepcopy(model.config)
    for layer in every_layer(config):
        layer["config"].pop("optional", None)
    return replace(model, config=config)


def keras_2_2(model: Model) -> Model:
    """Standalone Keras 2.2.3 and later: models have the class Model, Sequentials no InputLayer, and
    weight names no cell.
    """
    model = tf_keras_2_4(model)
    config = model.config
    for part in [config, *every_layer(config)]:
        if part["class_name"] == "Functional":
            part["class_name"] = "Model"
        if part["class_name"] == "Sequential":
            start, *rest = part["config"]["layers"]
            if start["class_name"] == "InputLayer":
                rest[0]["config"] = {
                    **rest[0]["config"],
                    "batch_input_shape": start["config"]["batch_input_shape"],
                }
                part["config"]["layers"] = rest
    for layer in every_layer(config):
        inner = layer["config"]
        for key in ("ragged", "dtype", "time_major", "groups", "implementation", "keepdims"):
            inner.pop(key, None)
        if isinstance(inner.get("axis"), list):
            inner["axis"] = inner["axis"][0]
    lists = {
        layer: [
            (
                name.replace("/lstm_cell", "")
                .replace("/gru_cell", "")
                .replace("/simple_rnn_cell", ""),
                array,
            )
            for name, array in arrays
        ]
        for layer, arrays in model.lists.items()
        if layer != "top_level_model_weights"
    }
    return replace(model, config=config, lists=lists)


def keras_2_0(model: Model) -> Model:
    """Up to 2.2.2 the config of a Sequential is the list of its layers; before 2.1 GRU had no
    `reset_after`.
    """
    model = keras_2_2(model)
    for layer in [*every_layer(model.config)]:
        layer["config"].pop("reset_after", None) if isinstance(layer["config"], dict) else None
    return replace(model, config=bare(model.config))


def bare(config: Config) -> Config:
    """Replace the config of every Sequential by the list of its layers."""
    config = copy.deepcopy(config)
    for part in [*every_layer(config), config]:
        if part["class_name"] == "Sequential" and isinstance(part["config"], dict):
            part["config"] = part["config"]["layers"]
    return config


def keras_1_2(model: Model, *, first: bool = False, theano: bool = False) -> Model:
    """Keras 1.2. `first`: channels first, Theano's order; `theano`: with the kernels of Theano."""
    model = keras_2_2(model)
    lists: Lists = {}
    for layer in layers_of(model.config):
        arrays = model.lists.get(layer["config"]["name"], [])
        lists[layer["config"]["name"]] = _weights_1(
            layer, [array for _, array in arrays], first=first, theano=theano
        )
    config = _config_1(model.config, first=first)
    inputs = [
        np.moveaxis(x, -1, 2 if _over_time(model.config) else 1) if first else x
        for x in model.inputs
    ]
    return replace(model, config=bare(config), lists=lists, inputs=inputs)


def _over_time(config: Config) -> bool:
    return any(layer["class_name"] == "ConvLSTM2D" for layer in layers_of(config))


def _weights_1(
    layer: Config, arrays: list[np.ndarray], *, first: bool, theano: bool
) -> list[tuple[str, np.ndarray]]:
    name = layer["config"]["name"]
    if layer["class_name"] not in CONTAINERS:
        made = (
            keras_1.weights(
                layer["class_name"], layer["config"], arrays, first=first, theano=theano
            )
            if arrays
            else []
        )
        return _numbered([(f"{name}_{end}", array) for end, array in made])
    moving, fixed, rest = [], [], list(arrays)
    leaves = [
        leaf for leaf in every_layer(layer) if leaf["class_name"] not in (*CONTAINERS, "InputLayer")
    ]
    sizes = [_sizes(leaf) for leaf in leaves]
    for leaf, (count, _) in zip(leaves, sizes, strict=True):
        moving += [(f"{leaf['config']['name']}_W", rest.pop(0)) for _ in range(count)]
    for leaf, (_, count) in zip(leaves, sizes, strict=True):
        fixed += [(f"{leaf['config']['name']}_m", rest.pop(0)) for _ in range(count)]
    return _numbered([*moving, *fixed])


def _sizes(leaf: Config) -> tuple[int, int]:
    moving, fixed = {"Dense": (2, 0), "BatchNormalization": (2, 2)}.get(leaf["class_name"], (0, 0))
    return (moving, fixed) if leaf["config"].get("trainable", True) else (0, moving + fixed)


def _numbered(arrays: list[tuple[str, np.ndarray]]) -> list[tuple[str, np.ndarray]]:
    """Make the names of weights unique, as in HDF5 files."""
    by_name: Lists = {}
    for name, array in arrays:
        by_name.setdefault(name, []).append((name, array))
    return [
        (
            (
                f"{name}_{[id(a) for _, a in by_name[name]].index(id(array))}"
                if len(by_name[name]) > 1
                else name
            ),
            array,
        )
        for name, array in arrays
    ]


def _config_1(config: Config, *, first: bool) -> Config:
    layers = []
    for layer in config["config"]["layers"]:
        if layer["class_name"] in CONTAINERS:
            made = _config_1(layer, first=first)
        else:
            made = keras_1.entry(layer["class_name"], layer["config"], first=first)
            made["config"] = (
                _moved(made["config"], time=_over_time(config)) if first else made["config"]
            )
        if "inbound_nodes" in layer:
            nodes = [[item[:3] for item in node] for node in layer["inbound_nodes"]]
            made = {**made, "name": layer["name"], "inbound_nodes": nodes}
        layers.append(made)
    return {"class_name": config["class_name"], "config": {**config["config"], "layers": layers}}


def _moved(config: Config, *, time: bool) -> Config:
    shape = config.get("batch_input_shape")
    if shape is not None:
        at = 2 if time else 1
        config = {**config, "batch_input_shape": [*shape[:at], shape[-1], *shape[at:-1]]}
    return {**config, "axis": 1} if config.get("axis") in (3, 4) else config
