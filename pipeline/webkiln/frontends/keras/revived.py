"""Make Keras models from configs of older versions, and set their weights.

Keras reads the files of tf.keras and of its own versions 1 and 2 only if their configs happen to
fit its current classes. Here, configs are translated first, and weights are set by their paths.
"""

from collections.abc import Collection, Sequence
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Blobs, stored_array
from webkiln.frontends.core.subgraph import ENTIRE_MODEL
from webkiln.frontends.keras.archive import ModelFile
from webkiln.frontends.keras.current_config import HARD_SIGMOID, SUBSTITUTE, CurrentConfig
from webkiln.frontends.keras.executed import by_class
from webkiln.frontends.keras.reader import Reader
from webkiln.frontends.keras.spec import LayerSpec, ModelSpec
from webkiln.frontends.keras.versions.weight_lists import has_lists, read_lists
from webkiln.ir.types import Array, Type


def revived(
    keras: Any,
    file: ModelFile,
    *,
    trust_source: bool = False,
    substitute: Any = None,
    replaced: Collection[str] = (),
) -> Any:
    """The Keras model of a file whose config is already translated. Its weights are those of the
    file. The class `substitute` stands for the layers `replaced`.

    Raises SourceError if a layer and its weights do not fit.
    """
    reader = Reader(file, ENTIRE_MODEL)
    spec = reader.model(file.config, file.weights, "", 0)
    known = {HARD_SIGMOID: _hard_sigmoid(keras), SUBSTITUTE: substitute, **by_class(keras)}
    config = CurrentConfig(keras, known, replaced).model(file.config)
    with keras.saving.custom_object_scope(known):
        model = keras.saving.deserialize_keras_object(config, safe_mode=not trust_source)
    _Weights(keras, file, model, reader.blobs).put(spec)
    return model


def _hard_sigmoid(keras: Any) -> Any:
    """The activation of Keras 1 and 2, as a function of Keras."""

    def hard_sigmoid_2(x: Any) -> Any:
        return keras.ops.clip(0.2 * x + 0.5, 0.0, 1.0)

    hard_sigmoid_2.__module__ = keras.activations.hard_sigmoid.__module__
    return hard_sigmoid_2


class _Weights:
    """Sets the weights of a model in memory to those of a file."""

    def __init__(self, keras: Any, file: ModelFile, model: Any, blobs: Blobs) -> None:
        from webkiln.frontends.keras.model_graph import root_of
        from webkiln.frontends.keras.variables import Variables, layers_by_path

        self.file, self.model, self.blobs = file, model, blobs
        memory = Variables()
        memory.register(model, root_of(model))
        self.layers = layers_by_path(model, root_of(model))
        self.by_slot = {
            memory.weights[id(variable)].slot: variable
            for layer in self.layers.values()
            for variable in layer.weights
            if id(variable) in memory.weights
        }
        self.rest = {id(variable): path for path, variable in self.by_slot.items()}

    def put(self, spec: ModelSpec) -> None:
        self._model(spec, "")
        if self.rest and has_lists(self.file.weights):
            self._by_order()
        unset = sorted(set(self.rest.values()))
        if unset and any(layer.weights for layer in self.model.layers):
            raise SourceError(
                f"{self.file.path}: the file has no weights for {', '.join(unset[:6])}"
                + (", ..." if len(unset) > 6 else "")
                + "; the classes that the plugin registers are not those of the file"
            )
        for layer in self.layers.values():
            if hasattr(layer, "finalize_state"):
                layer.finalize_state()

    def _model(self, spec: ModelSpec, scope: str) -> None:
        for layer in spec.layers:
            self._layer(layer, scope + layer.name)

    def _layer(self, spec: LayerSpec, path: str) -> None:
        if spec.model is not None:
            self._model(spec.model, f"{path}/")
        for part in spec.parts.values():
            self._layer(part, f"{path}/{part.name}")
        arrays = {
            name: array
            for name, weight in spec.weights.items()
            if not isinstance(
                array := stored_array(self.blobs, weight.digest, Type(weight.dtype, weight.shape)),
                Type,
            )
        }
        if spec.own:
            for name, array in arrays.items():
                variable = self.by_slot.get(f"{path}/{name}")
                if variable is not None and variable.shape == array.shape:
                    self._assign(variable, array)
        elif path in self.layers:
            self._in_order(path, list(arrays.values()))

    def _in_order(self, path: str, arrays: Sequence[Array]) -> bool:
        """Set the weights of a layer, trainable ones first, if all shapes fit."""
        layer = self.layers[path]
        variables = [*layer.trainable_weights, *layer.non_trainable_weights]
        if [tuple(variable.shape) for variable in variables] != [array.shape for array in arrays]:
            return False
        for variable, array in zip(variables, arrays, strict=True):
            self._assign(variable, array)
        return True

    def _by_order(self) -> None:
        """Lists of the layers of the model whose weights' names do not tell their owners."""
        lists = read_lists(self.file.path, self.file.weights)
        owners = {path.partition("/")[0] for path in self.rest.values()}
        for name in sorted(owners & lists.keys() & self.layers.keys()):
            stored = [item.read() for item in lists[name]]
            if not self._in_order(name, stored):
                layer = self.layers[name]
                wanted = [list(variable.shape) for variable in layer.weights]
                raise SourceError(
                    f"{self.file.path}: {name} ({type(layer).__name__}): its weights in the file"
                    f" are {[list(array.shape) for array in stored]}, those of the class that the"
                    f" plugin registers are {wanted}"
                )

    def _assign(self, variable: Any, array: Array) -> None:
        variable.assign(array)
        self.rest.pop(id(variable), None)
