"""Layers that Keras's own layers are made of: the cell of a recurrent layer, what a wrapper wraps."""

import re
from collections.abc import Mapping
from typing import Any

Parts = list[tuple[str, Any]]

RECURRENT = frozenset({"SimpleRNN", "LSTM", "GRU"})
WRAPPERS = frozenset({"TimeDistributed", "SpectralNormalization"})
PROJECTIONS: Mapping[str, Mapping[str, str]] = {
    "MultiHeadAttention": {
        "query": "query_dense", "key": "key_dense", "value": "value_dense", "attention_output": "output_dense", "gate": "_gate_dense",
    },
    "GroupedQueryAttention": {
        "query": "_query_dense", "key": "_key_dense", "value": "_value_dense", "attention_output": "_output_dense", "gate": "_gate_dense",
    },
}  # fmt: skip
"""The dense layers inside an attention by name, and the attributes that hold them, as which they lie in files."""


def snake_case(name: str) -> str:
    """How Keras spells a class in names and in the paths of weight files."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def part_entries(class_name: str, config: Mapping[str, Any]) -> Parts:
    """The parts of a layer of Keras's own as (path of its weights below the layer's, serialised layer)."""
    if class_name in RECURRENT:
        cell = f"{class_name}Cell"
        return [("cell", {"module": "keras.layers", "class_name": cell, "config": {**config, "name": snake_case(cell)}})]
    if class_name in PROJECTIONS:
        shared = {"dtype": config.get("dtype")}
        return [
            (place, {"module": "keras.layers", "class_name": "EinsumDense", "config": {"name": name, **shared}})
            for name, place in PROJECTIONS[class_name].items()
            if name != "gate" or config.get("use_gate")
        ]
    if class_name == "RNN":
        return [("cell", config["cell"])]
    if class_name == "StackedRNNCells":
        return _numbered("cells", config["cells"])
    if class_name in WRAPPERS:
        return [("layer", config["layer"])]
    if class_name == "Bidirectional":
        forward = config["layer"]
        name = "forward_" + str(forward["config"].get("name", "layer")).removeprefix("forward_")
        ahead = {**forward, "config": {**forward["config"], "name": name}}
        return [("forward_layer", ahead), ("backward_layer", config.get("backward_layer") or _turned(forward))]
    return []


def part_layers(class_name: str, layer: Any) -> Parts:
    """The same of a layer in memory, as (path, layer)."""
    if class_name in PROJECTIONS:
        places = PROJECTIONS[class_name].values()
        return [(place, part) for place in places if (part := getattr(layer, place, None)) is not None]
    if class_name in RECURRENT or class_name == "RNN":
        return [("cell", layer.cell)]
    if class_name == "StackedRNNCells":
        return _numbered("cells", layer.cells)
    if class_name in WRAPPERS:
        return [("layer", layer.layer)]
    if class_name == "Bidirectional":
        return [("forward_layer", layer.forward_layer), ("backward_layer", layer.backward_layer)]
    return []


def step_arguments(layer: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a part of `layer`, called with symbolic `args`, is called with: the same, or one step of a sequence, and for a cell its states."""
    from keras import KerasTensor
    from keras.layers import SpectralNormalization

    if isinstance(layer, SpectralNormalization) or type(layer).__name__ in PROJECTIONS:
        return args

    sequence = args[0][0] if isinstance(args[0], list | tuple) else args[0]
    step = KerasTensor((sequence.shape[0], *sequence.shape[2:]), sequence.dtype)
    if not hasattr(layer, "cell"):
        return (sequence if hasattr(layer, "forward_layer") else step,)
    return (step, [KerasTensor((sequence.shape[0], size), sequence.dtype) for size in cell_sizes(layer.cell)["state_size"]])


def cell_sizes(cell: Any) -> dict[str, Any]:
    """The widths of a cell's states and of its output."""
    from keras import tree

    sizes = [int(size) for size in tree.flatten(cell.state_size)]
    return {"state_size": sizes, "output_size": int(getattr(cell, "output_size", None) or sizes[0])}


def _numbered(folder: str, members: list[Any]) -> Parts:
    """Members of a list lie by class, counted from the second of a class on."""
    counts: dict[str, int] = {}
    result: Parts = []
    for member in members:
        stem = snake_case(member["class_name"] if isinstance(member, Mapping) else type(member).__name__)
        counts[stem] = counts.get(stem, 0) + 1
        result.append((f"{folder}/{stem}" if counts[stem] == 1 else f"{folder}/{stem}_{counts[stem] - 1}", member))
    return result


def _turned(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The layer that goes the other way, as Bidirectional makes it."""
    config = dict(entry["config"])
    name = "backward_" + str(config.get("name", "layer")).removeprefix("forward_")
    return {**entry, "config": {**config, "name": name, "go_backwards": not config.get("go_backwards", False)}}
