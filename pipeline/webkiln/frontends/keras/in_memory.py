"""The spec of a Keras model in memory. Layers without a handler are traced."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import keras
import numpy as np
from keras.src import backend
from keras.src.models.functional import Functional, make_node_key
from keras.src.utils.python_utils import is_default

from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.core.arrays import Blobs, Weight, add_blob
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.callables import takes_functions
from webkiln.frontends.keras.literals import Refused, literal
from webkiln.frontends.keras.masks import ENDING, with_masks
from webkiln.frontends.keras.parts import cell_shapes, part_arguments, part_layers
from webkiln.frontends.keras.policies import UNTRACED_MODES
from webkiln.frontends.keras.settings import (
    config_of,
    has_foreign_activation,
    policy_config,
    setting,
    tables_of,
)
from webkiln.frontends.keras.spec import INITIAL, LayerCall, LayerSpec, ModelSpec, Ref
from webkiln.frontends.keras.subgraph import cut_model
from webkiln.frontends.keras.trace import Arguments, state_call, trace_layer
from webkiln.frontends.keras.weight_names import weight_names
from webkiln.ir.types import DTYPES

Handled = Callable[[LayerSpec], bool]


def describe_model(
    model: Any, *, handled: Handled, batch_size: int = 1, cut: Subgraph = ENTIRE_MODEL
) -> tuple[ModelSpec, Blobs]:
    """The spec of a built `keras.Model` or of a subgraph, and its weights by digest.

    `handled` tells which layers have a handler. `batch_size` is used to trace a layer whose call
    fails for a dynamic batch size. Raises UnsupportedError, listing all layers without a handler
    that cannot be traced.
    """
    if not isinstance(model, keras.Model):
        raise SourceError(
            "expected a keras.Model or the path of a .keras or .h5 file, got"
            f" {type(model).__name__}"
        )
    walker = Walker(handled, batch_size)
    spec = walker.top(model, cut)
    if walker.unsupported:
        raise UnsupportedError(model.name, walker.unsupported)
    return spec, walker.blobs


class Walker:
    """Collects specs, blobs and errors of a model and its nested models and layers."""

    def __init__(self, handled: Handled, batch_size: int) -> None:
        self.handled = handled
        self.batch_size = batch_size
        self.blobs: Blobs = {}
        self.unsupported: list[tuple[str, str, str]] = []
        self._weights: dict[int, Weight] = {}
        self._names: dict[int, str] = {}
        self._paths: dict[int, str] = {}
        self._noises: dict[str, tuple[str, int]] = {}

    def top(self, model: Any, cut: Subgraph) -> ModelSpec:
        self.register(model, "")
        if _graph_of(model) is not None:
            return self.model(model, "") if not cut else self.part(model, cut)
        self._names[id(model)] = model.name
        self._weights.clear()
        self.register(model, model.name)
        inputs = _opaque_inputs(model)
        tensors = [keras.KerasTensor(shape, dtype) for _, shape, dtype in inputs]
        layers = [
            LayerSpec(
                name, "InputLayer", {"batch_shape": list(shape), "dtype": dtype}, kind="input"
            )
            for name, shape, dtype in inputs
        ]
        refs = [Ref(name) for name, _, _ in inputs]
        layer = self.layer(model, model.name, [LayerCall(tuple(refs))], [(tuple(tensors), {})])
        given = layer.model.outputs if layer.model is not None else [("output", None)]
        names = _output_names(model, tensors, sum(not name.endswith(ENDING) for name, _ in given))
        outputs = [(name, Ref(model.name, 0, index)) for index, name in enumerate(names)]
        named = tuple((name, ref) for (name, _, _), ref in zip(inputs, refs, strict=True))
        whole = ModelSpec(model.name, (*layers, layer), named, tuple(outputs))
        return cut_model(whole, cut, {layer.name for layer in whole.layers}, {}) if cut else whole

    def part(self, model: Any, cut: Subgraph) -> ModelSpec:
        """A subgraph of a Functional or Sequential model. Layers outside of it need not be
        traceable.
        """
        whole, operations = self.model(model, ""), _graph_of(model).operations
        nodes = [
            (operation.name, number, node)
            for operation in operations
            for number, node in enumerate(_nodes(model, operation))
        ]
        tensors = [
            (Ref(name, number, index), tensor)
            for name, number, node in nodes
            for index, tensor in enumerate(node.outputs)
        ]
        declared = {ref: (list(tensor.shape), str(tensor.dtype)) for ref, tensor in tensors}
        spec = cut_model(whole, cut, {operation.name for operation in operations}, declared)
        kept = {layer.name for layer in spec.layers if layer.kind != "input"}
        self.unsupported = [
            item
            for item in self.unsupported
            if item[0].partition(" (")[0].partition("/")[0] in kept
        ]
        return spec

    def model(self, model: Any, scope: str) -> ModelSpec:
        """The spec of a Functional or Sequential model."""
        graph = _graph_of(model)
        calls = {
            id(operation): [
                i
                for i in range(len(operation._inbound_nodes))
                if make_node_key(operation, i) in graph._nodes
            ]
            for operation in graph.operations
        }

        def ref(tensor: Any) -> Ref:
            operation, node, index = tensor._keras_history
            return Ref(operation.name, calls[id(operation)].index(node), index)

        layers = []
        for operation in graph.operations:
            nodes = [operation._inbound_nodes[index] for index in calls[id(operation)]]
            if isinstance(operation, keras.layers.InputLayer):
                layers.append(
                    LayerSpec(operation.name, "InputLayer", config_of(operation), kind="input")
                )
                continue
            arguments = [(node.arguments.args, node.arguments.kwargs) for node in nodes]
            if takes_functions(operation):
                converted = self.function_calls(operation, scope + operation.name, arguments, ref)
            else:
                converted = [
                    LayerCall(tuple(_map(list(a), ref)), _map(dict(k), ref)) for a, k in arguments
                ]
            layers.append(self.layer(operation, scope + operation.name, converted, arguments))
        outputs = configs.named_refs(_structure(graph._outputs_struct, ref), counted=bool(scope))
        inputs = configs.named_refs(_structure(graph._inputs_struct, ref), counted=bool(scope))
        return ModelSpec(model.name, tuple(with_masks(layers)), tuple(inputs), tuple(outputs))

    def layer(
        self, layer: Any, path: str, calls: list[LayerCall], arguments: list[Arguments]
    ) -> LayerSpec:
        """The spec of a layer or operation. `arguments` are those of its calls, as Keras objects."""
        kind = "layer" if isinstance(layer, keras.layers.Layer) else "operation"
        own = type(layer).__module__.split(".")[0] == "keras"
        name, class_name = path.rsplit("/", 1)[-1], type(layer).__name__
        policy = {} if kind == "operation" else policy_config(layer, own=own)
        spec = LayerSpec(
            name, class_name, {} if own else policy, kind=kind, own=own, calls=tuple(calls)
        )
        if kind == "operation":
            return (
                spec
                if takes_functions(layer)
                else replace(spec, config=self.settings(layer, path, arguments))
            )
        quantized = getattr(layer, "quantization_mode", None) is not None
        if own and not quantized and has_foreign_activation(layer):
            with suppress(UnsupportedError):
                return self._traced(
                    replace(spec, config=policy_config(layer, own=False), own=False),
                    layer,
                    path,
                    arguments,
                )
        if quantized:
            spec = replace(spec, config=policy)
            if layer.quantization_mode in UNTRACED_MODES:
                return spec
        elif self.handled(spec):
            parts = self.parts(layer, path, arguments) if own else {}
            return replace(
                spec,
                config=config_of(layer) | policy | tables_of(layer),
                weights=self.own_weights(layer),
                parts=parts,
            )
        if _graph_of(layer) is not None and not quantized:
            return replace(spec, model=self.model(layer, f"{path}/"))
        try:
            return self._traced(spec, layer, path, arguments)
        except UnsupportedError as error:
            self.unsupported += error.items
            return spec

    def _traced(
        self, spec: LayerSpec, layer: Any, path: str, arguments: list[Arguments]
    ) -> LayerSpec:
        model, weights = trace_layer(self, layer, path, arguments)
        return replace(
            spec,
            config={**spec.config, **_masking(layer, arguments[0])},
            model=model,
            weights=weights,
            traced=True,
        )

    def settings(
        self, operation: Any, path: str, arguments: list[tuple[tuple[Any, ...], dict[str, Any]]]
    ) -> dict[str, Any]:
        """The constructor arguments of a keras.ops operation. Arrays become literals."""
        names = [
            name
            for name in inspect.signature(type(operation).__init__).parameters
            if name not in {"self", "name"} and hasattr(operation, name)
        ]
        values = {name: getattr(operation, name) for name in names}
        tensors = [
            name
            for name, value in values.items()
            if any(isinstance(item, keras.KerasTensor) for item in keras.tree.flatten(value))
        ]
        kind = type(operation).__name__
        if tensors:
            what = (
                f"its {tensors[0]} is a tensor, which is no operand of {kind} but one of its"
                " settings"
            )
            self.unsupported.append(
                (
                    f"{path} ({kind})",
                    what,
                    f"Give {tensors[0]} as numbers, or write the operation with others",
                )
            )
        config = config_of(operation) | (
            {"given": arguments[0][0][0].dtype} if kind == "View" else {}
        )
        lost = {
            name: value
            for name, value in values.items()
            if name not in config and name not in tensors
        }
        return config | {
            name: keras.tree.map_structure(setting, value) for name, value in lost.items()
        }

    def function_calls(
        self,
        operation: Any,
        path: str,
        arguments: list[tuple[tuple[Any, ...], dict[str, Any]]],
        ref: Callable[[Any], Ref],
    ) -> list[LayerCall]:
        """The calls of an operation that takes functions."""
        try:
            return [
                state_call(self, operation, path, args, kwargs, ref) for args, kwargs in arguments
            ]
        except UnsupportedError as error:
            self.unsupported += error.items
            return [LayerCall() for _ in arguments]

    def parts(self, layer: Any, path: str, arguments: list[Arguments]) -> dict[str, LayerSpec]:
        """The inner layers of a Keras layer, called as it calls them."""
        entries = part_layers(type(layer).__name__, layer)
        if not entries:
            return {}
        given = [
            part_arguments(layer, args or tuple(kwargs.values())) for args, kwargs in arguments[:1]
        ]
        parts = {}
        for number, (place, part) in enumerate(entries):
            own: list[Arguments] = [(args[number], {}) for args in given]
            calls = [
                LayerCall(tuple(Ref(f"input_{n}") for n, _ in enumerate(keras.tree.flatten(args))))
                for args, _ in own
            ]
            spec = self.layer(part, f"{path}/{self.name_of(part)}", calls, own)
            if spec.traced and hasattr(part, "state_size"):
                first = self.initial_states(part, f"{path}/{spec.name}")
                spec = replace(spec, config={**spec.config, **cell_shapes(part)}, parts=first)
            parts[place] = spec
        return parts

    def initial_states(self, cell: Any, path: str) -> dict[str, LayerSpec]:
        """The function of a user-defined cell that creates its initial states, as an inner layer."""
        if not hasattr(cell, "get_initial_state"):
            return {}

        def states(rows: Any) -> list[Any]:
            pair = keras.tree.flatten(cell.get_initial_state(batch_size=2))
            if any(isinstance(state, keras.KerasTensor) for state in pair):
                return list(keras.tree.flatten(cell.get_initial_state(batch_size=rows.shape[0])))
            arrays = [keras.ops.convert_to_numpy(state) for state in pair]
            if any((array[:1] != array[1:]).any() for array in arrays):
                raise Refused("the rows of its first states differ")
            zeros = [keras.ops.reshape(rows * 0, (-1, *[1] * (array.ndim - 1))) for array in arrays]
            return [
                zero + array[:1].astype(rows.dtype)
                for zero, array in zip(zeros, arrays, strict=True)
            ]

        rows: Arguments = ((keras.KerasTensor((None, 1), cell.compute_dtype),), {})
        try:
            model, weights = trace_layer(self, cell, f"{path}/{INITIAL}", [rows], states)
        except UnsupportedError as error:
            self.unsupported += error.items
            return {}
        return {
            INITIAL: LayerSpec(
                INITIAL,
                type(cell).__name__,
                {},
                own=False,
                model=model,
                weights=weights,
                traced=True,
            )
        }

    def register(self, layer: Any, path: str) -> None:
        """Assign slots to all variables below `layer`, named by the path of their first owner. A
        wrapper does not own the variables of its wrapped layer.
        """
        for place, owner in layers_by_path(layer, path).items():
            self._paths[id(owner)] = place
            if place:
                self._names.setdefault(id(owner), place.rpartition("/")[2])
            known = {*self._weights, *_borrowed(owner)}
            own = [
                v
                for v in (*owner._trainable_variables, *owner._non_trainable_variables)
                if id(v) not in known
            ]
            names = _variable_names(owner)
            for variable in own:
                self._weights[id(variable)] = self._weight(
                    f"{place}/{names[id(variable)]}", variable, owner
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
            raise SourceError(
                f"{where}: dtype {array.dtype} is not supported; there are {', '.join(DTYPES)}"
            )
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise SourceError(
                f"{where} holds {int(np.isnan(array).sum())} NaN of {array.size}; train the model"
                " again"
            )
        return Weight(slot, add_blob(self.blobs, array), str(array.dtype), array.shape)


def _masking(layer: Any, arguments: Arguments) -> dict[str, Any]:
    """The masks of a traced call's inputs that are absent in memory but may exist at run time."""
    function = getattr(layer, "function", None) if isinstance(layer, keras.layers.Lambda) else None
    names = inspect.signature(function if inspect.isfunction(function) else layer.call).parameters
    if any(name == "mask" or name.endswith(ENDING) for name in names) or (
        layer.supports_masking and not is_default(layer.compute_mask)
    ):
        tensors = [
            value for value in keras.tree.flatten(arguments) if isinstance(value, keras.KerasTensor)
        ]
        bare = [
            f"input_{number}"
            for number, tensor in enumerate(tensors)
            if backend.get_keras_mask(tensor) is None
        ]
        return {"unmasked": bare} if bare else {}
    return {"keeps_mask": True} if layer.supports_masking else {}


def _borrowed(layer: Any) -> set[int]:
    """The variables of a Keras layer that belong to its inner layers."""
    parts = (
        part_layers(type(layer).__name__, layer)
        if type(layer).__module__.split(".")[0] == "keras"
        else []
    )
    return {id(variable) for _, part in parts for variable in part.weights}


def _nodes(model: Any, operation: Any) -> list[Any]:
    """The calls of an operation in a Functional or Sequential model."""
    graph = _graph_of(model)
    return [
        node
        for index, node in enumerate(operation._inbound_nodes)
        if make_node_key(operation, index) in graph._nodes
    ]


def tensors_at(model: Any, refs: Sequence[Ref]) -> list[Any]:
    """Find these symbolic tensors of a Functional or Sequential model."""
    operations = {operation.name: operation for operation in _graph_of(model).operations}
    return [_nodes(model, operations[ref.layer])[ref.call].outputs[ref.index] for ref in refs]


def root_of(model: Any) -> str:
    """The roots of paths in a model: its layers if it is a graph of layers; otherwise the model."""
    return "" if _graph_of(model) is not None else str(model.name)


def layers_by_path(layer: Any, path: str = "") -> dict[str, Any]:
    """`layer` and every layer below it by path. A layer with several owners has the path of the
    first.
    """
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
    """The Functional graph of a model that does not override `call`, or None."""
    if isinstance(layer, keras.Sequential) and type(layer).call is keras.Sequential.call:
        return layer._functional
    return layer if isinstance(layer, Functional) and type(layer).call is Functional.call else None


def _output_names(model: Any, tensors: Sequence[Any], count: int) -> list[str]:
    """The keys of a dict that a subclassed model returns, in Keras's order of flattening; otherwise
    numbers.
    """
    with suppress(Exception):
        found = model.compute_output_spec(*tensors)
        if (
            isinstance(found, dict)
            and len(found) == count
            and all(isinstance(value, keras.KerasTensor) for value in found.values())
        ):
            return [str(key) for key, _ in sorted(found.items())]
    return [f"output_{index}" for index in range(count)] if count > 1 else ["output"]


def _opaque_inputs(model: Any) -> list[tuple[str, tuple[int | None, ...], str]]:
    """The names, shapes and dtypes of the inputs of a model that was built by a call. The call's
    batch size is ignored.
    """
    shapes = getattr(model, "_build_shapes_dict", None)
    if not model.built or not shapes:
        raise SourceError(
            f"{model.name}: the shapes of its inputs are not known; call the model once, or"
            " model.build(input_shape)"
        )
    if not all(
        isinstance(shape, list | tuple)
        and all(size is None or isinstance(size, int) for size in shape)
        for shape in shapes.values()
    ):
        what = "its call was given something else than tensors as arguments, such as a list of them"
        raise SourceError(
            f"{model.name}: {what}; give each tensor as an argument of its own, or build a model of"
            " keras.Input that calls it"
        )
    single = len(shapes) == 1
    return [
        ("input" if single else name.removesuffix("_shape"), (None, *shape[1:]), "float32")
        for name, shape in shapes.items()
    ]


def _variable_names(layer: Any) -> Mapping[int, str]:
    variables = (*layer._trainable_variables, *layer._non_trainable_variables)
    built_in = (
        type(layer).__module__.split(".")[0] == "keras"
        and getattr(layer, "quantization_mode", None) is None
    )
    known = weight_names(type(layer).__name__, config_of(layer)) if built_in else ()
    held = {id(value): name for name, value in vars(layer).items()}
    names: dict[int, str] = {}
    for index, variable in enumerate(variables):
        name = held.get(id(variable), "_")
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


def _map(value: Any, ref: Callable[[Any], Ref]) -> Any:
    if isinstance(value, keras.KerasTensor):
        return ref(value)
    if isinstance(value, list | tuple):
        return [_map(item, ref) for item in value]
    if isinstance(value, dict):
        return {key: _map(item, ref) for key, item in value.items()}
    return (
        literal(keras.ops.convert_to_numpy(value))
        if isinstance(value, np.ndarray | np.generic) or backend.is_tensor(value)
        else value
    )


def _structure(value: Any, ref: Callable[[Any], Ref]) -> Any:
    if isinstance(value, keras.KerasTensor):
        found = ref(value)
        return [found.layer, found.call, found.index]
    if isinstance(value, dict):
        return {key: _structure(item, ref) for key, item in value.items()}
    return [_structure(item, ref) for item in value]
