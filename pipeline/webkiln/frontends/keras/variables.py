"""The variables of a Keras model in memory: slots, and the names and paths of their owners."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Blobs, Weight, add_blob
from webkiln.frontends.keras.parts import part_layers
from webkiln.frontends.keras.settings import config_of
from webkiln.frontends.keras.spec import LayerCall, LayerSpec
from webkiln.frontends.keras.weight_names import weight_names
from webkiln.ir.types import DTYPES


class Variables:
    """The slots of a model's variables, and the names and paths of its layers."""

    def __init__(self) -> None:
        self.blobs: Blobs = {}
        self.weights: dict[int, Weight] = {}
        self.names: dict[int, str] = {}
        self._paths: dict[int, str] = {}
        self._noises: dict[str, tuple[str, int]] = {}

    def register(self, layer: Any, path: str) -> None:
        """Assign slots to all variables below `layer`, named by the path of their first owner. A
        wrapper does not own the variables of its wrapped layer.
        """
        for owner_path, owner in layers_by_path(layer, path).items():
            self._paths[id(owner)] = owner_path
            if owner_path:
                self.names.setdefault(id(owner), owner_path.rpartition("/")[2])
            known = {*self.weights, *_borrowed(owner)}
            own = [
                v
                for v in (*owner._trainable_variables, *owner._non_trainable_variables)
                if id(v) not in known
            ]
            names = _variable_names(owner)
            for variable in own:
                self.weights[id(variable)] = self._weight(
                    f"{owner_path}/{names[id(variable)]}", variable, owner
                )

    def noise(self, layer: Any, draw: int, config: Mapping[str, Any]) -> LayerSpec:
        """The random numbers of draw number `draw` in a layer's call, as the name of an input."""
        path = self._paths[id(layer)]
        stem = f"{path.rpartition('/')[2]}_noise"
        name, count = stem, 1
        while self._noises.setdefault(name, (path, draw)) != (path, draw):
            count += 1
            name = f"{stem}_{count}"
        return LayerSpec(
            name,
            "Noise",
            {**config, "layer": path, "draw": draw},
            kind="noise",
            calls=(LayerCall(),),
        )

    def name_of(self, layer: Any) -> str:
        return self.names.get(id(layer), str(layer.name))

    def weight_of(self, variable: Any) -> Weight | None:
        return self.weights.get(id(variable))

    def own_weights(self, layer: Any) -> dict[str, Weight]:
        """The weights of one layer by name."""
        names = _variable_names(layer)
        variables = (*layer._trainable_variables, *layer._non_trainable_variables)
        return {names[id(variable)]: self.weights[id(variable)] for variable in variables}

    def _weight(self, slot: str, variable: Any, layer: Any) -> Weight:
        array = keras.ops.convert_to_numpy(variable)
        where = f"{slot} ({type(layer).__name__})"
        if array.dtype.name == "bfloat16":
            array = array.astype("float32")
        if str(array.dtype) not in DTYPES:
            raise SourceError(
                f"{where}: dtype {array.dtype} is not supported; use one of {', '.join(DTYPES)}"
            )
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise SourceError(
                f"{where} holds {int(np.isnan(array).sum())} NaN of {array.size}; train the model"
                " again"
            )
        return Weight(slot, add_blob(self.blobs, array), str(array.dtype), array.shape)


def _borrowed(layer: Any) -> set[int]:
    """The variables of a Keras layer that belong to its inner layers."""
    parts = (
        part_layers(type(layer).__name__, layer)
        if type(layer).__module__.split(".")[0] == "keras"
        else []
    )
    return {id(variable) for _, part in parts for variable in part.weights}


def layers_by_path(layer: Any, path: str = "") -> dict[str, Any]:
    """`layer` and every layer below it by path. A layer with several owners has the path of the
    first.
    """
    layers: dict[str, Any] = {path: layer}
    visited = {id(layer)}

    def enter(owner: Any, scope: str) -> None:
        names: set[str] = set()
        for child in owner._layers:
            name, count = child.name, 1
            while name in names:
                count += 1
                name = f"{child.name}_{count}"
            names.add(name)
            if id(child) not in visited:
                visited.add(id(child))
                child_path = f"{scope}/{name}" if scope else name
                layers[child_path] = child
                enter(child, child_path)

    enter(layer, path)
    return layers


def _variable_names(layer: Any) -> Mapping[int, str]:
    variables = (*layer._trainable_variables, *layer._non_trainable_variables)
    built_in = (
        type(layer).__module__.split(".")[0] == "keras"
        and getattr(layer, "quantization_mode", None) is None
    )
    known = weight_names(type(layer).__name__, config_of(layer)) if built_in else ()
    attributes = {id(value): name for name, value in vars(layer).items()}
    names: dict[int, str] = {}
    for index, variable in enumerate(variables):
        name = attributes.get(id(variable), "_")
        adapter = name.startswith("lora_")
        stem = (
            known[index]
            if index < len(known) and not adapter
            else variable.name
            if name.startswith("_")
            else name
        )
        name, count = stem, 1
        while name in names.values():
            count += 1
            name = f"{stem}_{count}"
        names[id(variable)] = name
    return names
