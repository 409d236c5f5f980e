"""The spec of a Keras model in memory. Layers without a handler are traced on the way."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any

import keras
import numpy as np
from keras.src.models.functional import Functional, make_node_key

from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.arrays import Blobs, Weight
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.masks import with_masks
from webkiln.frontends.keras.parts import cell_sizes, part_layers, step_arguments
from webkiln.frontends.keras.reader import add_blob, weight_names
from webkiln.frontends.keras.spec import LayerCall, LayerSpec, ModelSpec, Ref
from webkiln.frontends.keras.trace import trace_layer
from webkiln.ir.types import DTYPES

Handled = Callable[[LayerSpec], bool]


def describe_model(model: Any, *, handled: Handled, batch_size: int = 1) -> tuple[ModelSpec, Blobs]:
    """The spec of a built `keras.Model`, and its weights by digest.

    `handled` says which layers have a handler; `batch_size` is what a layer is traced with whose call fails for an open batch size.
    UnsupportedError lists all layers that can be neither handled nor traced.
    """
    if not isinstance(model, keras.Model):
        raise SourceError(f"expected a keras.Model or the path of a .keras or .h5 file, got {type(model).__name__}")
    walker = Walker(handled, batch_size)
    spec = walker.top(model)
    if walker.unsupported:
        raise UnsupportedError(model.name, walker.unsupported)
    return spec, walker.blobs


class Walker:
    """Collects specs, blobs and what cannot be traced, over a model and the models and layers in it."""

    def __init__(self, handled: Handled, batch_size: int) -> None:
        self.handled = handled
        self.batch_size = batch_size
        self.blobs: Blobs = {}
        self.unsupported: list[tuple[str, str, str]] = []
        self._weights: dict[int, Weight] = {}
        self._names: dict[int, str] = {}
        self._paths: dict[int, str] = {}
        self._noises: dict[str, tuple[str, int]] = {}

    def top(self, model: Any) -> ModelSpec:
        self.register(model, "")
        if _graph_of(model) is not None:
            return self.model(model, "")
        self._names[id(model)] = model.name
        self._weights.clear()
        self.register(model, model.name)
        inputs = _opaque_inputs(model)
        tensors = [keras.KerasTensor(shape, dtype) for _, shape, dtype in inputs]
        layers = [
            LayerSpec(name, "InputLayer", {"batch_shape": list(shape), "dtype": dtype}, kind="input")
            for name, shape, dtype in inputs
        ]  # fmt: skip
        refs = [Ref(name) for name, _, _ in inputs]
        layer = self.layer(model, model.name, [LayerCall(tuple(refs))], [(tuple(tensors), {})])
        count = len(layer.model.outputs) if layer.model is not None else 1
        outputs = [(f"output_{index}" if count > 1 else "output", Ref(model.name, 0, index)) for index in range(count)]
        named = tuple((name, ref) for (name, _, _), ref in zip(inputs, refs, strict=True))
        return ModelSpec(model.name, (*layers, layer), named, tuple(outputs))

    def model(self, model: Any, scope: str) -> ModelSpec:
        """The spec of a Functional or Sequential model."""
        graph = _graph_of(model)
        calls = {
            id(operation): [i for i in range(len(operation._inbound_nodes)) if make_node_key(operation, i) in graph._nodes]
            for operation in graph.operations
        }  # fmt: skip

        def ref(tensor: Any) -> Ref:
            operation, node, index = tensor._keras_history
            return Ref(operation.name, calls[id(operation)].index(node), index)

        layers = []
        for operation in graph.operations:
            nodes = [operation._inbound_nodes[index] for index in calls[id(operation)]]
            if isinstance(operation, keras.layers.InputLayer):
                layers.append(LayerSpec(operation.name, "InputLayer", _config(operation), kind="input"))
                continue
            arguments = [(node.arguments.args, node.arguments.kwargs) for node in nodes]
            converted = [LayerCall(tuple(_map(list(a), ref)), _map(dict(k), ref)) for a, k in arguments]
            layers.append(self.layer(operation, scope + operation.name, converted, arguments))
        outputs = configs.named_refs(_structure(graph._outputs_struct, ref))
        inputs = configs.named_refs(_structure(graph._inputs_struct, ref))
        return ModelSpec(model.name, tuple(with_masks(layers)), tuple(inputs), tuple(outputs))

    def layer(self, layer: Any, path: str, calls: list[LayerCall], arguments: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> LayerSpec:
        """The spec of a layer or operation; `arguments` are those of its calls, as Keras has them."""
        kind = "layer" if isinstance(layer, keras.layers.Layer) else "operation"
        own = type(layer).__module__.split(".")[0] == "keras"
        name, class_name = path.rsplit("/", 1)[-1], type(layer).__name__
        policy = {} if kind == "operation" else _policy(layer, own=own)
        spec = LayerSpec(name, class_name, {} if own else policy, kind=kind, own=own, calls=tuple(calls))
        if kind == "operation":
            return replace(spec, config=_config(layer))
        if self.handled(spec):
            parts = self.parts(layer, path, arguments) if own else {}
            return replace(spec, config=_config(layer) | policy, weights=self.own_weights(layer), parts=parts)
        if _graph_of(layer) is not None:
            return replace(spec, model=self.model(layer, f"{path}/"))
        try:
            model, weights = trace_layer(self, layer, path, arguments)
        except UnsupportedError as error:
            self.unsupported += error.items
            return spec
        return replace(spec, model=model, weights=weights, traced=True)

    def parts(self, layer: Any, path: str, arguments: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> dict[str, LayerSpec]:
        """The layers that one of Keras's own is made of, called as it would call them."""
        given: list[tuple[tuple[Any, ...], dict[str, Any]]] = [(step_arguments(layer, args), {}) for args, _ in arguments[:1]]
        calls = [LayerCall(tuple(Ref(f"input_{n}") for n, _ in enumerate(keras.tree.flatten(args)))) for args, _ in given]
        entries = part_layers(type(layer).__name__, layer)
        parts = {place: self.layer(part, f"{path}/{self.name_of(part)}", calls, given) for place, part in entries}
        sizes = {place: cell_sizes(part) for place, part in entries if place == "cell"}
        return {place: replace(part, config={**part.config, **sizes.get(place, {})}) for place, part in parts.items()}

    def register(self, layer: Any, path: str) -> None:
        """Give every variable below `layer` its slot, by the path of the first layer that owns it; a wrapper only borrows what it wraps."""
        for place, owner in layers_by_path(layer, path).items():
            self._paths[id(owner)] = place
            if place:
                self._names.setdefault(id(owner), place.rpartition("/")[2])
            known = {*self._weights, *_borrowed(owner)}
            own = [v for v in (*owner._trainable_variables, *owner._non_trainable_variables) if id(v) not in known]
            names = _variable_names(owner)
            for variable in own:
                self._weights[id(variable)] = self._weight(f"{place}/{names[id(variable)]}", variable, owner)

    def noise(self, layer: Any, draw: int, config: Mapping[str, Any]) -> LayerSpec:
        """What a call of a layer draws as its random numbers number `draw`, by the name of the input that has them."""
        path = self._paths[id(layer)]
        stem = f"{path.rpartition('/')[2]}_noise"
        name, count = stem, 1
        while self._noises.setdefault(name, (path, draw)) != (path, draw):
            count += 1
            name = f"{stem}_{count}"
        return LayerSpec(name, "Noise", {**config, "layer": path, "draw": draw}, kind="noise", calls=(LayerCall(),))

    def name_of(self, layer: Any) -> str:
        return self._names.get(id(layer), str(layer.name))

    def weight_of(self, variable: Any) -> Weight | None:
        return self._weights.get(id(variable))

    def own_weights(self, layer: Any) -> dict[str, Weight]:
        """The weights of one layer by name."""
        names = _variable_names(layer)
        variables = (*layer._trainable_variables, *layer._non_trainable_variables)
        return {names[id(variable)]: self._weights[id(variable)] for variable in variables}

    def _weight(self, slot: str, variable: Any, layer: Any) -> Weight:
        array = keras.ops.convert_to_numpy(variable)
        where = f"{slot} ({type(layer).__name__})"
        if array.dtype.name == "bfloat16":
            array = array.astype("float32")
        if str(array.dtype) not in DTYPES:
            raise SourceError(f"{where}: dtype {array.dtype} is not supported; there are {', '.join(DTYPES)}")
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise SourceError(f"{where} holds {int(np.isnan(array).sum())} NaN of {array.size}; train the model again")
        return Weight(slot, add_blob(self.blobs, array), str(array.dtype), array.shape)


def _borrowed(layer: Any) -> set[int]:
    """The variables that a layer of Keras's own holds of the layers that it is made of."""
    parts = part_layers(type(layer).__name__, layer) if type(layer).__module__.split(".")[0] == "keras" else []
    return {id(variable) for _, part in parts for variable in part.weights}


def root_of(model: Any) -> str:
    """Where paths in a model start: at its layers where it is a graph of them, else at the model itself."""
    return "" if _graph_of(model) is not None else str(model.name)


def layers_by_path(layer: Any, path: str = "") -> dict[str, Any]:
    """`layer` and every layer below it by its path; one with several owners has the path by the first."""
    found: dict[str, Any] = {path: layer}
    seen = {id(layer)}

    def enter(owner: Any, above: str) -> None:
        taken: set[str] = set()
        for child in owner._layers:
            name, count = child.name, 1
            while name in taken:
                count += 1
                name = f"{child.name}_{count}"
            taken.add(name)
            if id(child) not in seen:
                seen.add(id(child))
                place = f"{above}/{name}" if above else name
                found[place] = child
                enter(child, place)

    enter(layer, path)
    return found


def _graph_of(layer: Any) -> Any:
    """The Functional graph of a model whose call is that of Keras, else None."""
    if isinstance(layer, keras.Sequential) and type(layer).call is keras.Sequential.call:
        return layer._functional
    return layer if isinstance(layer, Functional) and type(layer).call is Functional.call else None


def _opaque_inputs(model: Any) -> list[tuple[str, tuple[int | None, ...], str]]:
    """Name, shape and dtype of the inputs of a model that has only been called; the batch of that call does not bind it."""
    shapes = getattr(model, "_build_shapes_dict", None)
    if not model.built or not shapes:
        raise SourceError(f"{model.name}: the shapes of its inputs are not known; call the model once, or model.build(input_shape)")
    single = len(shapes) == 1
    return [("input" if single else name.removesuffix("_shape"), (None, *shape[1:]), "float32") for name, shape in shapes.items()]


def _variable_names(layer: Any) -> Mapping[int, str]:
    variables = (*layer._trainable_variables, *layer._non_trainable_variables)
    known = weight_names(type(layer).__name__, _config(layer)) if type(layer).__module__.split(".")[0] == "keras" else ()
    held = {id(value): name for name, value in vars(layer).items()}
    names: dict[int, str] = {}
    for index, variable in enumerate(variables):
        name = held.get(id(variable), "_")
        adapter = name.startswith("lora_")
        stem = known[index] if index < len(known) and not adapter else variable.name if name.startswith("_") else name
        name, count = stem, 1
        while name in names.values():
            count += 1
            name = f"{stem}_{count}"
        names[id(variable)] = name
    return names


def _policy(layer: Any, *, own: bool) -> dict[str, Any]:
    """What a layer casts its inputs to, where that is not to float32, whether its `get_config` says it or not."""
    policy = layer.dtype_policy.name
    return ({} if policy == "float32" else {"dtype": policy}) | ({} if own or layer.autocast else {"autocast": False})


def _config(operation: Any) -> dict[str, Any]:
    """What JSON can say of a config; a class of the user without get_config has none."""
    try:
        config = keras.saving.serialize_keras_object(operation)["config"]
    except (NotImplementedError, TypeError, ValueError, AttributeError):
        return _attributes(operation) if type(operation).__module__.startswith("keras.src.ops.") else {}
    result = {}
    for key, value in configs.clean(config).items():
        try:
            result[key] = json.loads(json.dumps(value))
        except (TypeError, ValueError):
            continue
    return result


def _attributes(operation: Any) -> dict[str, Any]:
    """What an operation was made with that keeps no config because there is an array among it; nothing unless JSON can say all of it."""
    names = [name for name in signature(type(operation).__init__).parameters if name in vars(operation) and name != "name"]
    held = {name: vars(operation)[name] for name in names}
    try:
        result: dict[str, Any] = json.loads(json.dumps(held, default=_listed))
    except (TypeError, ValueError):
        return {}
    return result


def _listed(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        raise TypeError(value)
    return value.tolist()


def _map(value: Any, ref: Callable[[Any], Ref]) -> Any:
    if isinstance(value, keras.KerasTensor):
        return ref(value)
    if isinstance(value, list | tuple):
        return [_map(item, ref) for item in value]
    if isinstance(value, dict):
        return {key: _map(item, ref) for key, item in value.items()}
    return value


def _structure(value: Any, ref: Callable[[Any], Ref]) -> Any:
    if isinstance(value, keras.KerasTensor):
        found = ref(value)
        return [found.layer, found.call, found.index]
    if isinstance(value, dict):
        return {key: _structure(item, ref) for key, item in value.items()}
    return [_structure(item, ref) for item in value]
