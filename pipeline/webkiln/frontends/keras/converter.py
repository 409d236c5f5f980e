"""Convert the spec of a Keras model to a Graph: one handler per layer or keras.ops operation."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import ShapeError, SourceError, UnsupportedError, WebkilnError
from webkiln.frontends.core.arrays import Blobs, Literal
from webkiln.frontends.keras.conversion_state import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    ConversionState,
    Frame,
)
from webkiln.frontends.keras.input_shapes import (
    Shapes,
    input_dtype,
    input_shape,
    input_shapes,
    open_size_hint,
)
from webkiln.frontends.keras.layer import Layer
from webkiln.frontends.keras.masks import under_masks
from webkiln.frontends.keras.policies import storable, takes_integers, work_dtype
from webkiln.frontends.keras.probe import read_model
from webkiln.frontends.keras.registered_handlers import REGISTERED, register_handler
from webkiln.frontends.keras.spec import (
    FunctionSpec,
    LayerCall,
    LayerSpec,
    ModelSpec,
    Ref,
    WeightRef,
)
from webkiln.frontends.keras.supported import find_unsupported
from webkiln.frontends.keras.texts import with_indices
from webkiln.ir.graph import Graph
from webkiln.ir.size_checks import SizeError
from webkiln.ir.symbols import placeholder
from webkiln.ops.budget import count_nodes, limited
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.control_flow import Block
from webkiln.ops.table import RULES
from webkiln.plugins import plugin_error

NODES_PER_LAYER = 16
"""The number of spec nodes that `limited` counts for a layer: MultiHeadAttention becomes about 50
graph nodes.
"""
NODES_PER_MODEL = 64
"""The number of nodes whose conversion takes as long as a call of a nested model."""


class KerasConverter(ConversionState):
    """The converter of one model.

    `batch_size` replaces a dynamic batch axis; other dynamic axes are set at run time, by names
    such as `x_1`, which `dims` replaces by numbers or other names. `input_shapes` (input name ->
    full shape) replaces all dynamic axes; a name in a shape is a size that is set at run time; the
    input's name may be empty if there is only one. `tables` has the handlers of Keras's layers and
    operations. After a conversion, `texts` describes how strings become the model's indices.
    """

    handlers = REGISTERED
    register_handler = staticmethod(register_handler)

    def convert(self, source: Any, blobs: Blobs | None = None, name: str | None = None) -> Graph:
        """The graph of a Keras model in memory, of a `.keras` or `.h5` file, or of a spec, with
        `blobs` for the values of slots, if needed.

        Raises UnsupportedError before the conversion, listing every layer without a handler.
        """
        if isinstance(source, str | Path):
            source, blobs = read_model(Path(source))
        elif not isinstance(source, ModelSpec):
            from webkiln.frontends.keras.in_memory import describe_model

            source, blobs = describe_model(
                source, batch_size=self.batch_size, handled=self.tables.handles_in_memory
            )
        unsupported = find_unsupported(source, self.tables.handles)
        if unsupported:
            raise UnsupportedError(source.name, unsupported)
        self.builder = GraphBuilder(name or source.name, RULES)
        self._blobs, self.frames, self._states, self.digests = blobs or {}, [], {}, {}
        self._orders = CHANNELS_FIRST if _is_channels_first(source) else CHANNELS_LAST
        shapes = input_shapes(source, self.input_shapes, self.dims, self.batch_size)
        source, self._shapes, self.texts = with_indices(source, shapes, self.batch_size)
        layers = {layer.name: layer for layer in source.layers}
        inputs = [self._input(name, layers[ref.layer]) for name, ref in source.inputs]
        self._batch = inputs[0].shape[0] if inputs and inputs[0].shape else self.batch_size
        with limited(spec_nodes=NODES_PER_LAYER * _count_layers(source)):
            try:
                outputs, declared = self._run(source, "", inputs)
            except ShapeError as error:
                if isinstance(error, SizeError):
                    raise
                if any(re.search(rf"\b{size}\b", str(error)) for size in _names(shapes)):
                    raise ShapeError(f"{error}; {open_size_hint(shapes)}") from error
                raise
        results = (
            self.cast(tensor, storable(dtype))
            for tensor, dtype in zip(outputs, declared, strict=True)
        )
        self.digests = self.builder.by_variable(self.digests)
        return self.builder.graph(
            dict(zip((name for name, _ in source.outputs), results, strict=True))
        )

    def apply(self, part: LayerSpec, scope: str, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Call an inner layer. Returns its outputs."""
        refs = tuple(Ref(f"input_{number}") for number, _ in enumerate(inputs))
        count = len(part.model.outputs) if part.model is not None else 1
        outputs = tuple((f"output_{number}", Ref(part.name, 0, number)) for number in range(count))
        layer = replace(part, calls=(LayerCall(refs),))
        return self._run(
            ModelSpec(scope, (layer,), tuple((ref.layer, ref) for ref in refs), outputs),
            f"{scope}/",
            inputs,
        )[0]

    def _input(self, name: str, spec: LayerSpec) -> Tensor:
        shape = input_shape(name, spec, self._shapes.get(name), self.batch_size)
        sizes = [placeholder(size) if isinstance(size, str) else size for size in shape]
        return self.builder.input(name, input_dtype(spec), sizes, self.order(len(shape)))

    def _run(
        self, model: ModelSpec, scope: str, inputs: Sequence[Tensor], owner: Layer | None = None
    ) -> tuple[list[Tensor], list[str]]:  # fmt: skip
        """The outputs, and their declared dtypes in Keras."""
        if model.batch is not None and any(tensor.shape[:1] != (model.batch,) for tensor in inputs):
            raise ShapeError(
                f"{scope.rstrip('/')}: its call works for one batch size only and was traced for"
                f" {model.batch}, not {inputs[0].shape[0]}; use -1 instead of the batch size in"
                " reshapes, or write a handler"
            )
        self.frames.append(Frame(model, owner, inputs))
        pending = [(layer, call) for layer in model.layers for call in range(len(layer.calls))]
        while pending:
            waiting = []
            for layer, call in pending:
                if all(self.has_variable(ref) for ref in layer.calls[call].refs()):
                    self._call(Layer(scope + layer.name, layer, call))
                else:
                    waiting.append((layer, call))
            if len(waiting) == len(pending):
                names = ", ".join(sorted({scope + layer.name for layer, _ in waiting}))
                raise SourceError(
                    f"{model.name}: the calls of {names} wait for each other or for layers that do"
                    " not exist"
                )
            pending = waiting
        outputs = [self.get_variable(ref) for _, ref in model.outputs]
        for slot, ref in model.states:
            self.set_state(slot, self.get_variable(ref))
        declared = self.frames.pop().declared
        return outputs, [
            declared.get(ref, tensor.dtype)
            for (_, ref), tensor in zip(model.outputs, outputs, strict=True)
        ]

    def _call(self, layer: Layer) -> None:
        spec, before = layer.spec, self.builder.layer
        owner = self.frames[-1].owner
        self.builder.layer = (
            owner.path if spec.kind == "operation" and owner is not None else layer.path
        )
        handler, built_in = self.tables.find(spec), self.tables.built_in(spec)
        frame, work = self.frames[-1], self._work
        if spec.kind == "layer":
            self._work = work_dtype(spec)
            frame.cast = self.cast_inputs(layer, integers=built_in is None or takes_integers(layer))
        if spec.kind == "noise":
            self.set_variable(Ref(layer.name), self.noise_input(layer))
        elif spec.model is not None and (handler is built_in or not spec.traced):
            self._nested(layer, spec.model)
        elif handler is not None and handler is not built_in:
            try:
                handler(self, layer)
            except Exception as error:
                raise plugin_error(error, f"{layer.path} ({spec.class_name})") from error
        else:
            try:
                self._operation(layer) if handler is None else handler(self, layer)
            except WebkilnError:
                raise
            except Exception as error:
                raise SourceError(
                    f"{layer.path} ({spec.class_name}): its config is not one that Keras writes"
                    f" ({type(error).__name__}: {error})"
                ) from error
        for ref in self.get_output_tensor(layer):
            if not self.has_variable(ref):
                raise SourceError(
                    f"{layer.path} ({spec.class_name}): the model reads its output {ref.index},"
                    " which its handler does not set"
                )
        if spec.own and spec.kind == "layer" and spec.model is None:
            self.declare_outputs(layer)
        frame.cast, self._work, self.builder.layer = {}, work, before

    def _nested(self, layer: Layer, model: ModelSpec) -> None:
        count_nodes(layer.path, layer.class_name, NODES_PER_MODEL)
        for slot, _ in model.states:
            weight = next(weight for weight in layer.weights.values() if weight.slot == slot)
            self.state(slot, self.convert_to_constant_variable(weight))
        args = layer.arguments.args
        by_name = isinstance(args[0], dict) and not layer.spec.traced if args else False
        refs = (
            [args[0][name] for name, _ in model.inputs] if by_name else self.get_input_tensor(layer)
        )
        if not layer.spec.traced:
            mask = layer.arguments.kwargs.get("mask")
            if isinstance(mask, dict):
                masks = [mask.get(name) for name, _ in model.inputs]
            else:
                masks = mask if isinstance(mask, list) else [mask]
            refs += [mask for mask in masks if mask is not None] if by_name else []
            model = under_masks(model, [mask is not None for mask in masks])
        if len(refs) != len(model.inputs):
            raise layer.error(f"takes {len(model.inputs)} tensors, but is called with {len(refs)}")
        owner = layer if layer.spec.traced else None
        tensors = [self.get_variable(ref) for ref in refs]
        if owner is None:
            dtypes = {
                start.name: input_dtype(start) for start in model.layers if start.kind == "input"
            }
            starts = [
                dtypes.get(ref.layer, tensor.dtype)
                for tensor, (_, ref) in zip(tensors, model.inputs, strict=True)
            ]
            tensors = [
                self.cast(tensor, dtype) for tensor, dtype in zip(tensors, starts, strict=True)
            ]
        results = self._run(model, f"{layer.path}/", tensors, owner)
        for index, (tensor, declared) in enumerate(zip(*results, strict=True)):
            self.set_variable(Ref(layer.name, layer.call, index), tensor)
            self.frames[-1].declared[Ref(layer.name, layer.call, index)] = declared

    def _operation(self, layer: Layer) -> None:
        arguments = layer.arguments
        args = [self._argument(arg) for arg in arguments.args]
        kwargs = {key: self._argument(value) for key, value in arguments.kwargs.items()}
        options = {**kwargs, **{key: self._argument(value) for key, value in layer.config.items()}}
        if isinstance(options.get("dtype"), str):
            options["dtype"] = storable(options["dtype"])
        results = self.tables.operations[layer.class_name](self.builder, *args, **options)
        for index, tensor in enumerate(results if isinstance(results, list) else [results]):
            self.set_variable(Ref(layer.name, layer.call, index), tensor)

    def _argument(self, value: Any) -> Any:
        owner = self.frames[-1].owner
        if isinstance(value, Ref):
            return self.get_variable(value)
        if isinstance(value, WeightRef) and owner is not None:
            return self.convert_to_constant_variable(owner.weights[value.name])
        if isinstance(value, Literal):
            return np.array(value.values, dtype=value.dtype).reshape(value.shape)
        if isinstance(value, list | tuple):
            return [self._argument(item) for item in value]
        if isinstance(value, dict):
            return {key: self._argument(item) for key, item in value.items()}
        return self._function(value) if isinstance(value, FunctionSpec) else value

    def _function(self, function: FunctionSpec) -> Block:
        """Convert a function's operations into another builder."""
        captured: list[Tensor] = [self._argument(value) for value in function.captured]
        owner = self.frames[-1].owner

        def write(builder: GraphBuilder, inputs: Sequence[Tensor]) -> list[Tensor]:
            outer, self.builder = self.builder, builder
            try:
                return self._run(
                    function.model,
                    f"{function.model.name}/",
                    [builder.capture(x) for x in (*inputs, *captured)],
                    owner,
                )[0]
            finally:
                self.builder = outer

        return write


def _names(shapes: Shapes) -> set[str]:
    return {size for shape in shapes.values() for size in shape if isinstance(size, str)}


def _count_layers(model: ModelSpec) -> int:
    """All layers of a model. A nested model counts once, even if it is called several times."""
    return sum(
        1 + (_count_layers(layer.model) if layer.model is not None else 0) for layer in model.layers
    )


def _is_channels_first(model: ModelSpec) -> bool:
    return any(
        layer.config.get("data_format") == "channels_first"
        or (layer.model is not None and _is_channels_first(layer.model))
        for layer in model.layers
    )
