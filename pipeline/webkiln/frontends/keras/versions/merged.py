"""Convert Sequential models of Keras 1 that start with a Merge of other models to graphs."""

from collections.abc import Mapping
from typing import Any

Ends = list[list[Any]]


def begins_with_merge(entry: Mapping[str, Any]) -> bool:
    if entry.get("class_name") != "Sequential":
        return False
    first = entry["config"]["layers"][:1]
    return (
        bool(first) and first[0]["class_name"] == "Merge" and bool(first[0]["config"].get("layers"))
    )


def functional(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The model as a Functional one. Keras stores the weights of all branches in one list, so the
    layers are in one list too; layers with equal names in several branches are one.
    """
    graph = _Graph()
    (output,) = graph.add(entry, [])
    inputs = [[name, 0, 0] for name in graph.inputs]
    config = {"name": entry["config"].get("name", "model"), "layers": list(graph.layers.values())}
    return {
        **entry,
        "class_name": "Model",
        "config": {**config, "input_layers": inputs, "output_layers": [output]},
    }


class _Graph:
    def __init__(self) -> None:
        self.layers: dict[str, dict[str, Any]] = {}
        self.inputs: list[str] = []

    def add(self, entry: Mapping[str, Any], given: Ends) -> Ends:
        """Add a branch to the graph. Returns its output."""
        if entry["class_name"] == "Sequential":
            for layer in entry["config"]["layers"]:
                given = (
                    self.add(layer, given)
                    if not given and layer["class_name"] == "Sequential"
                    else self._layer(layer, given)
                )
            return given
        if entry["class_name"] in {"Model", "Functional"} and not given:
            config = entry["config"]
            self.layers |= {layer["name"]: dict(layer) for layer in config["layers"]}
            self.inputs += [name for name, *_ in config["input_layers"] if name not in self.inputs]
            return [list(end) for end in config["output_layers"]]
        return self._layer(entry, given)

    def _layer(self, entry: Mapping[str, Any], given: Ends) -> Ends:
        config = dict(entry["config"])
        if entry["class_name"] == "Merge" and config.get("layers"):
            given = [end for branch in config.pop("layers") for end in self.add(branch, [])]
        name = str(config.get("name") or entry.get("name"))
        if not given:
            given = [self._input(name, config)]
        known = self.layers.setdefault(
            name, {**entry, "name": name, "config": config, "inbound_nodes": []}
        )
        known["inbound_nodes"] = [*known["inbound_nodes"], given]
        return [[name, len(known["inbound_nodes"]) - 1, 0]]

    def _input(self, name: str, config: dict[str, Any]) -> list[Any]:
        start = f"{name}_input"
        if start not in self.inputs:
            self.inputs.append(start)
            options = {
                "name": start,
                "batch_input_shape": config.get("batch_input_shape"),
                "dtype": config.get("input_dtype", "float32"),
            }
            self.layers[start] = {
                "class_name": "InputLayer",
                "name": start,
                "config": options,
                "inbound_nodes": [],
            }
        return [start, 0, 0]
