"""Layers in place of those that Keras cannot load, so that it loads the classes of plugins beside
them. The spec gets the layers of the file again.
"""

import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import h5py
import keras

from webkiln.frontends.keras.current_config import substitute_config
from webkiln.frontends.keras.spec import LayerCall, LayerSpec, ModelSpec, Ref, renamed
from webkiln.ir.dim import is_symbolic

BATCHES = (2, 3)
"""A size of the output that differs between these batch sizes depends on the batch size."""


class Substitute(keras.layers.Layer):  # type: ignore[misc]
    """Has the output shapes and dtypes of a layer, which is only converted. `count` is the number
    of its outputs.
    """

    def __init__(self, spec: LayerSpec, count: int) -> None:
        super().__init__(name=spec.name)
        self.replaced, self.count = spec, count

    def call(self, inputs: Any, number: int = 0) -> Any:
        """Call `number` of the layer in the file. Keras needs the signature, and infers outputs by
        `compute_output_spec`: a substitute has no values.
        """
        raise NotImplementedError(f"{self.name} has shapes and dtypes only")

    def compute_output_spec(self, inputs: Any, number: int = 0) -> Any:
        tensors = keras.tree.flatten(inputs)
        smaller, larger = (self._types(tensors, number, batch) for batch in BATCHES)
        outputs = [
            keras.KerasTensor(
                [
                    None if is_symbolic(size) or size != other else size
                    for size, other in zip(type_.shape, wider.shape, strict=True)
                ],
                type_.dtype,
            )
            for type_, wider in zip(smaller, larger, strict=True)
        ]
        return outputs if self.count > 1 else outputs[0]

    def _types(self, tensors: Sequence[Any], number: int, batch: int) -> list[Any]:
        """The types of the outputs, from the conversion of the layer alone."""
        inputs = [
            LayerSpec(
                f"input{index}",
                "InputLayer",
                {"batch_shape": list(tensor.shape), "dtype": str(tensor.dtype)},
                kind="input",
            )
            for index, tensor in enumerate(tensors)
        ]
        refs = [Ref(layer.name) for layer in inputs]
        layer = replace(self.replaced, calls=(_reading(self.replaced.calls[number], refs),))
        model = ModelSpec(
            layer.name,
            (*inputs, layer),
            tuple((ref.layer, ref) for ref in refs),
            tuple((str(index), Ref(layer.name, 0, index)) for index in range(self.count)),
        )
        # Imported by name, so that keys of stages that load models do not include the operators.
        converter = import_module("webkiln.frontends.keras.converter")
        graph = converter.KerasConverter(batch).convert(model)
        return [graph.type(variable) for variable in graph.outputs.values()]

    def restored(self, calls: Sequence[LayerCall]) -> LayerSpec:
        """The layer of the file, called with the tensors of these calls."""
        return replace(
            self.replaced,
            calls=tuple(
                _reading(self.replaced.calls[call.kwargs.get("number", 0)], call.refs())
                for call in calls
            ),
        )


def substitute_class(model: ModelSpec, replaced: Mapping[str, LayerSpec]) -> type[Substitute]:
    """The class of the substitutes for layers of a model, which configs name."""
    counts = dict.fromkeys(replaced, 1)
    for ref in _all_refs(model):
        if ref.layer in counts:
            counts[ref.layer] = max(counts[ref.layer], ref.index + 1)

    class Bound(Substitute):
        @classmethod
        def from_config(cls, config: Mapping[str, Any]) -> Substitute:
            return Substitute(replaced[config["name"]], counts[config["name"]])

    return Bound


def with_substitutes(config: Any, replaced: Mapping[str, LayerSpec]) -> Any:
    """A config of Keras 3 with substitutes for layers."""
    if isinstance(config, list):
        return [with_substitutes(item, replaced) for item in config]
    if not isinstance(config, Mapping):
        return config
    inner = config.get("config")
    name = inner.get("name") if isinstance(inner, Mapping) else None
    layer = replaced.get(name) if isinstance(name, str) else None
    if layer is None or config.get("class_name") != layer.class_name:
        return {key: with_substitutes(value, replaced) for key, value in config.items()}
    nodes = [
        {**node, "kwargs": {"number": number}}
        for number, node in enumerate(config.get("inbound_nodes", []))
    ]
    return {**substitute_config(layer.name), "inbound_nodes": nodes}


def copy_with_config(source: Path, target: Path, replaced: Mapping[str, LayerSpec]) -> None:
    """Copy a file of Keras 3 with substitutes for layers."""
    if not zipfile.is_zipfile(source):
        shutil.copyfile(source, target)
        with h5py.File(target, "r+") as file:
            config = json.loads(file.attrs["model_config"])
            file.attrs["model_config"] = json.dumps(with_substitutes(config, replaced))
        return
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for item in old.infolist():
            if item.filename == "config.json":
                config = with_substitutes(json.loads(old.read(item)), replaced)
                new.writestr(item.filename, json.dumps(config))
                continue
            with old.open(item) as data, new.open(item.filename, "w", force_zip64=True) as copy:
                shutil.copyfileobj(data, copy)


def _reading(call: LayerCall, refs: Sequence[Ref]) -> LayerCall:
    """A call with other tensors, in the order of its own."""
    mapping = dict(zip(call.refs(), refs, strict=True))
    result: LayerCall = renamed(call, mapping.__getitem__)
    return result


def _all_refs(model: ModelSpec) -> list[Ref]:
    own = [ref for layer in model.layers for call in layer.calls for ref in call.refs()]
    inner = [ref for layer in model.layers if layer.model for ref in _all_refs(layer.model)]
    return [*own, *inner, *(ref for _, ref in model.outputs)]
