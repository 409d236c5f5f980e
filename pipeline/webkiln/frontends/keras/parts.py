"""Inner layers of Keras's layers: the cell of a recurrent layer, the wrapped layer of a wrapper."""

import re
from collections.abc import Mapping
from typing import Any

Parts = list[tuple[str, Any]]

RECURRENT = frozenset({"SimpleRNN", "LSTM", "GRU"})
CONV_RECURRENT = frozenset({"ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"})
CELLS = frozenset({"SimpleRNNCell", "LSTMCell", "GRUCell", "StackedRNNCells", "ConvLSTMCell"})
"""Keras's cells."""
WRAPPERS = frozenset({"TimeDistributed", "SpectralNormalization"})
PROJECTIONS: Mapping[str, Mapping[str, str]] = {
    "MultiHeadAttention": {
        "query": "query_dense",
        "key": "key_dense",
        "value": "value_dense",
        "attention_output": "output_dense",
        "gate": "_gate_dense",
    },
    "GroupedQueryAttention": {
        "query": "_query_dense",
        "key": "_key_dense",
        "value": "_value_dense",
        "attention_output": "_output_dense",
        "gate": "_gate_dense",
    },
}
"""The dense layers of attention layers by name, and the attributes under which files store them."""


def snake_case(name: str) -> str:
    """A class name as in layer names and paths of weights (snake case)."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def part_entries(class_name: str, config: Mapping[str, Any]) -> Parts:
    """The inner layers of a Keras layer: (relative path of weights, serialized layer)."""
    if class_name in RECURRENT or class_name in CONV_RECURRENT:
        cell = f"{class_name}Cell" if class_name in RECURRENT else "ConvLSTMCell"
        return [
            (
                "cell",
                {
                    "module": "keras.layers",
                    "class_name": cell,
                    "config": {**config, "name": snake_case(cell)},
                },
            )
        ]
    if class_name in PROJECTIONS:
        shared = {
            "dtype": config.get("dtype"),
            **({} if config.get("use_bias", True) else {"bias_axes": None}),
        }
        return [
            (
                place,
                {
                    "module": "keras.layers",
                    "class_name": "EinsumDense",
                    "config": {"name": name, **shared},
                },
            )
            for name, place in PROJECTIONS[class_name].items()
            if name != "gate" or config.get("use_gate")
        ]
    if class_name == "RNN":
        return [("cell", config["cell"])]
    if class_name == "Pipeline":
        return _numbered("layers", config["layers"])
    if class_name == "StackedRNNCells":
        return _numbered("cells", config["cells"])
    if class_name in WRAPPERS:
        return [("layer", config["layer"])]
    if class_name == "Bidirectional":
        forward = config["layer"]
        name = "forward_" + str(forward["config"].get("name", "layer")).removeprefix("forward_")
        ahead = {**forward, "config": {**forward["config"], "name": name}}
        return [
            ("forward_layer", ahead),
            ("backward_layer", config.get("backward_layer") or _backwards(forward)),
        ]
    return []


def part_layers(class_name: str, layer: Any) -> Parts:
    """The inner layers of a layer in memory: (path, layer)."""
    if class_name in PROJECTIONS:
        names = PROJECTIONS[class_name].values()
        return [
            (place, part) for place in names if (part := getattr(layer, place, None)) is not None
        ]
    if class_name in RECURRENT or class_name in CONV_RECURRENT or class_name == "RNN":
        return [("cell", layer.cell)]
    if class_name == "StackedRNNCells":
        return _numbered("cells", layer.cells)
    if class_name == "Pipeline":
        return _numbered("layers", layer.layers)
    if class_name in WRAPPERS:
        return [("layer", layer.layer)]
    if class_name == "Bidirectional":
        return [("forward_layer", layer.forward_layer), ("backward_layer", layer.backward_layer)]
    return []


def part_arguments(layer: Any, args: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The arguments of inner layers if `layer` is called with symbolic `args`: the same, or one
    step of a sequence, with states for cells.
    """
    from keras import KerasTensor

    kind = type(layer).__name__
    entries = part_layers(kind, layer)
    if kind in {"SpectralNormalization", "Pipeline"} or kind in PROJECTIONS:
        return [args] * len(entries)
    first = args[0][0] if isinstance(args[0], list | tuple) else args[0]
    if kind == "Bidirectional":
        return [(first,)] * len(entries)
    if kind == "StackedRNNCells":
        outputs = [
            (first.shape[0], *cell_shapes(cell)["output_shape"]) for cell in layer.cells[:-1]
        ]
        inputs = [first, *(KerasTensor(shape, first.dtype) for shape in outputs)]
        return [_cell_arguments(cell, x) for cell, x in zip(layer.cells, inputs, strict=True)]
    step = KerasTensor((first.shape[0], *first.shape[2:]), first.dtype)
    return [_cell_arguments(layer.cell, step)] if hasattr(layer, "cell") else [(step,)]


def _cell_arguments(cell: Any, x: Any) -> tuple[Any, ...]:
    from keras import KerasTensor

    if type(cell).__name__ in CELLS:
        return (x,)
    return (
        x,
        [KerasTensor((x.shape[0], *shape), x.dtype) for shape in cell_shapes(cell)["state_shapes"]],
    )


def cell_shapes(cell: Any) -> dict[str, Any]:
    """The shapes of a cell's states and output, without the batch."""
    from keras import tree

    sizes = [(int(size),) for size in tree.flatten(cell.state_size)]
    output = getattr(cell, "output_size", None)
    return {"state_shapes": sizes, "output_shape": sizes[0] if output is None else (int(output),)}


def _numbered(folder: str, members: list[Any]) -> Parts:
    """Members of a list are stored by class name, with a number from the second of a class on."""
    counts: dict[str, int] = {}
    result: Parts = []
    for member in members:
        stem = snake_case(
            member["class_name"] if isinstance(member, Mapping) else type(member).__name__
        )
        counts[stem] = counts.get(stem, 0) + 1
        result.append(
            (
                f"{folder}/{stem}" if counts[stem] == 1 else f"{folder}/{stem}_{counts[stem] - 1}",
                member,
            )
        )
    return result


def _backwards(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The backward layer, as Bidirectional creates it."""
    config = dict(entry["config"])
    name = "backward_" + str(config.get("name", "layer")).removeprefix("forward_")
    return {
        **entry,
        "config": {**config, "name": name, "go_backwards": not config.get("go_backwards", False)},
    }
