"""The spec of a Keras model in memory. Layers without a handler are traced."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import keras
from keras.src import backend
from keras.src.models.functional import make_node_key
from keras.src.utils.python_utils import is_default

from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.callables import takes_functions
from webkiln.frontends.keras.framework import without_quantization_structure
from webkiln.frontends.keras.literals import Refused
from webkiln.frontends.keras.masks import ENDING, with_masks
from webkiln.frontends.keras.model_graph import (
    graph_of,
    map_tensors,
    nodes_of,
    opaque_inputs,
    output_names,
    structure_of,
)
from webkiln.frontends.keras.parts import cell_shapes, part_arguments, part_layers
from webkiln.frontends.keras.policies import UNTRACED_MODES
from webkiln.frontends.keras.recording import Arguments
from webkiln.frontends.keras.settings import (
    config_of,
    has_foreign_activation,
    operation_settings,
    policy_config,
    tables_of,
)
from webkiln.frontends.keras.spec import INITIAL, LayerCall, LayerSpec, ModelSpec, Ref
from webkiln.frontends.keras.subgraph import cut_model
from webkiln.frontends.keras.substitutes import Substitute
from webkiln.frontends.keras.trace import function_call, trace_layer
from webkiln.frontends.keras.variables import Variables

Handled = Callable[[LayerSpec], bool]


def describe_model(
    model: Any, *, handled: Handled, batch_size: int = 1, cut: Subgraph = ENTIRE_MODEL
) -> tuple[ModelSpec, Blobs]:
    """The spec of a built `keras.Model` or of a subgraph, and its weights by digest.

    `handled` decides whether a layer has a handler. `batch_size` is used to trace a layer whose
    call fails for a dynamic batch size. Raises UnsupportedError, listing all layers without a
    handler that cannot be traced.
    """
    if not isinstance(model, keras.Model):
        raise SourceError(
            "expected a keras.Model or the path of a .keras or .h5 file, got"
            f" {type(model).__name__}"
        )
    walker = Walker(handled, batch_size)
    with without_quantization_structure(model):
        spec = walker.top(model, cut)
    if walker.unsupported:
        raise UnsupportedError(model.name, walker.unsupported)
    return spec, walker.blobs


class Walker(Variables):
    """Collects specs, blobs and errors of a model and its nested models and layers."""

    def __init__(self, handled: Handled, batch_size: int) -> None:
        super().__init__()
        self.handled = handled
        self.batch_size = batch_size
        self.unsupported: list[tuple[str, str, str]] = []

    def top(self, model: Any, cut: Subgraph) -> ModelSpec:
        self.register(model, "")
        if graph_of(model) is not None:
            return self.model(model, "") if not cut else self.part(model, cut)
        self.names[id(model)] = model.name
        self.weights.clear()
        self.register(model, model.name)
        inputs = opaque_inputs(model)
        tensors = [keras.KerasTensor(shape, dtype) for _, shape, dtype in inputs]
        layers = [
            LayerSpec(
                name, "InputLayer", {"batch_shape": list(shape), "dtype": dtype}, kind="input"
            )
            for name, shape, dtype in inputs
        ]
        refs = [Ref(name) for name, _, _ in inputs]
        layer = self.layer(model, model.name, [LayerCall(tuple(refs))], [(tuple(tensors), {})])
        ends = layer.model.outputs if layer.model is not None else [("output", None)]
        names = output_names(model, tensors, sum(not name.endswith(ENDING) for name, _ in ends))
        outputs = [(name, Ref(model.name, 0, index)) for index, name in enumerate(names)]
        named = tuple((name, ref) for (name, _, _), ref in zip(inputs, refs, strict=True))
        spec = ModelSpec(model.name, (*layers, layer), named, tuple(outputs))
        return cut_model(spec, cut, {layer.name for layer in spec.layers}, {}) if cut else spec

    def part(self, model: Any, cut: Subgraph) -> ModelSpec:
        """A subgraph of a Functional or Sequential model. Layers outside of it need not be
        traceable.
        """
        entire, operations = self.model(model, ""), graph_of(model).operations
        nodes = [
            (operation.name, number, node)
            for operation in operations
            for number, node in enumerate(nodes_of(model, operation))
        ]
        tensors = [
            (Ref(name, number, index), tensor)
            for name, number, node in nodes
            for index, tensor in enumerate(node.outputs)
        ]
        declared = {ref: (list(tensor.shape), str(tensor.dtype)) for ref, tensor in tensors}
        spec = cut_model(entire, cut, {operation.name for operation in operations}, declared)
        retained = {layer.name for layer in spec.layers if layer.kind != "input"}
        self.unsupported = [
            item
            for item in self.unsupported
            if item[0].partition(" (")[0].partition("/")[0] in retained
        ]
        return spec

    def model(self, model: Any, scope: str) -> ModelSpec:
        """The spec of a Functional or Sequential model."""
        graph = graph_of(model)
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
                    LayerCall(tuple(map_tensors(list(a), ref)), map_tensors(dict(k), ref))
                    for a, k in arguments
                ]
            layers.append(self.layer(operation, scope + operation.name, converted, arguments))
        outputs = configs.named_refs(structure_of(graph._outputs_struct, ref), counted=bool(scope))
        inputs = configs.named_refs(structure_of(graph._inputs_struct, ref), counted=bool(scope))
        return ModelSpec(model.name, tuple(with_masks(layers)), tuple(inputs), tuple(outputs))

    def layer(
        self, layer: Any, path: str, calls: list[LayerCall], arguments: list[Arguments]
    ) -> LayerSpec:
        """The spec of a layer or operation. `arguments` has the Keras objects of its calls."""
        if isinstance(layer, Substitute):
            return layer.restored(calls)
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
        if graph_of(layer) is not None and not quantized:
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

    def settings(self, operation: Any, path: str, arguments: list[Arguments]) -> dict[str, Any]:
        """The constructor arguments of a keras.ops operation. Arrays become literals."""
        kind = type(operation).__name__
        settings, tensors = operation_settings(operation)
        if tensors:
            self.unsupported.append(
                (
                    f"{path} ({kind})",
                    f"its {tensors[0]} is a tensor, which {kind} accepts as a constant only",
                    f"Pass {tensors[0]} as numbers, or use other operations",
                )
            )
        return settings | ({"given": arguments[0][0][0].dtype} if kind == "View" else {})

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
                function_call(self, operation, path, args, kwargs, ref)
                for args, kwargs in arguments
            ]
        except UnsupportedError as error:
            self.unsupported += error.items
            return [LayerCall() for _ in arguments]

    def parts(self, layer: Any, path: str, arguments: list[Arguments]) -> dict[str, LayerSpec]:
        """The inner layers of a Keras layer, called as it calls them."""
        entries = part_layers(type(layer).__name__, layer)
        if not entries:
            return {}
        inputs = [
            part_arguments(layer, args or tuple(kwargs.values())) for args, kwargs in arguments[:1]
        ]
        parts = {}
        for number, (name, part) in enumerate(entries):
            own: list[Arguments] = [(args[number], {}) for args in inputs]
            calls = [
                LayerCall(tuple(Ref(f"input_{n}") for n, _ in enumerate(keras.tree.flatten(args))))
                for args, _ in own
            ]
            spec = self.layer(part, f"{path}/{self.name_of(part)}", calls, own)
            if spec.traced and hasattr(part, "state_size"):
                first = self.initial_states(part, f"{path}/{spec.name}")
                spec = replace(spec, config={**spec.config, **cell_shapes(part)}, parts=first)
            parts[name] = spec
        return parts

    def initial_states(self, cell: Any, path: str) -> dict[str, LayerSpec]:
        """The function that creates the initial states of a user-defined cell, as a layer."""
        if not hasattr(cell, "get_initial_state"):
            return {}

        def states(rows: Any) -> list[Any]:
            pair = keras.tree.flatten(cell.get_initial_state(batch_size=2))
            if any(isinstance(state, keras.KerasTensor) for state in pair):
                return list(keras.tree.flatten(cell.get_initial_state(batch_size=rows.shape[0])))
            arrays = [keras.ops.convert_to_numpy(state) for state in pair]
            if any((array[:1] != array[1:]).any() for array in arrays):
                raise Refused("the rows of its initial states differ")
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
