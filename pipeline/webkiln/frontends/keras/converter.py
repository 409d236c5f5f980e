"""Convert the spec of a Keras model to a Graph, with one handler per layer and keras.ops operation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import InternalError, ShapeError, SourceError, UnsupportedError, WebkilnError
from webkiln.frontends.core.arrays import Blobs, Literal, Weight, stored_array
from webkiln.frontends.keras.handlers import HANDLERS, Handlers
from webkiln.frontends.keras.layer import Layer
from webkiln.frontends.keras.masks import under_masks
from webkiln.frontends.keras.policies import (
    PROMOTED,
    RESTORING,
    UNCAST,
    declared_dtype,
    policy_of,
    promoted_dtype,
    storable,
    takes_integers,
    work_dtype,
)
from webkiln.frontends.keras.probe import read_model
from webkiln.frontends.keras.registered_handlers import REGISTERED, register_handler
from webkiln.frontends.keras.spec import (
    NO_SHAPE,
    FunctionSpec,
    LayerCall,
    LayerSpec,
    ModelSpec,
    Ref,
    WeightRef,
)
from webkiln.frontends.keras.supported import find_unsupported
from webkiln.frontends.keras.texts import with_indices
from webkiln.ir.axis import Order, OrderNC, OrderNCDHW, OrderNCHW, OrderNDHWC, OrderNHWC, OrderNTC
from webkiln.ir.graph import Distribution, Graph
from webkiln.ir.symbols import placeholder
from webkiln.ir.types import Array, Type, is_float
from webkiln.ops.budget import count_nodes, limited
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.control_flow import Block, StepFunction
from webkiln.ops.pieces import cast
from webkiln.ops.table import RULES
from webkiln.plugins import plugin_error

CHANNELS_LAST = {2: OrderNC, 3: OrderNTC, 4: OrderNHWC, 5: OrderNDHWC}
CHANNELS_FIRST = {**CHANNELS_LAST, 4: OrderNCHW, 5: OrderNCDHW}


class Frame:
    """The state of a model during conversion: its tensors, and those that the current layer has
    cast. `declared` is a tensor's dtype in Keras, if it differs; `owner` is the traced layer that
    contains these layers.
    """

    def __init__(self, model: ModelSpec, owner: Layer | None, inputs: Sequence[Tensor]) -> None:
        self.owner = owner
        self.values: dict[Ref, Tensor] = dict(
            zip((ref for _, ref in model.inputs), inputs, strict=True)
        )
        self.cast: dict[Ref, Tensor] = {}
        self.declared: dict[Ref, str] = {}
        self.outputs: dict[str, int] = {}
        calls = [ref for layer in model.layers for call in layer.calls for ref in call.refs()]
        for ref in calls + [ref for _, ref in (*model.outputs, *model.states)]:
            self.outputs[ref.layer] = max(self.outputs.get(ref.layer, 1), ref.index + 1)


NODES_PER_LAYER = 16
"""The number of spec nodes that a layer counts as, for `limited`: MultiHeadAttention becomes about 50
graph nodes.
"""
NODES_PER_MODEL = 64
"""The number of nodes whose conversion takes as long as a call of a nested model."""


class KerasConverter:
    """The converter of one model.

    `batch_size` replaces a dynamic batch axis. `input_shapes` (input name -> full shape) replaces
    all dynamic axes; a name in a shape is a size that is set at run time; the input's name may be
    empty if there is only one. `tables` has the handlers of Keras's layers and operations. After a
    conversion, `texts` describes how strings become the model's indices.
    """

    def __init__(
        self,
        batch_size: int = 1,
        input_shapes: Mapping[str, Sequence[int | str]] | None = None,
        tables: Handlers = HANDLERS,
    ) -> None:
        if batch_size < 1:
            raise ShapeError(f"batch_size is {batch_size}; give 1 or more")
        self.batch_size = batch_size
        self.input_shapes = dict(input_shapes or {})
        self.tables = tables
        self.builder = GraphBuilder("model", RULES)
        self.digests: dict[str, Weight] = {}
        self.texts: list[dict[str, Any]] = []
        self._blobs: Blobs = {}
        self._frames: list[Frame] = []
        self._states: dict[str, Tensor] = {}
        self._orders: Mapping[int, Order] = CHANNELS_LAST
        self._shapes: Mapping[str, Sequence[int | str]] = {}
        self._batch = batch_size
        self._work = ""

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
                source, batch_size=self.batch_size, handled=self.tables.handles
            )
        unsupported = find_unsupported(source, self.tables.handles)
        if unsupported:
            raise UnsupportedError(source.name, unsupported)
        self.builder = GraphBuilder(name or source.name, RULES)
        self._blobs, self._frames, self._states, self.digests = blobs or {}, [], {}, {}
        self._orders = CHANNELS_FIRST if _is_channels_first(source) else CHANNELS_LAST
        shapes = self._named_shapes([name for name, _ in source.inputs])
        source, self._shapes, self.texts = with_indices(source, shapes, self.batch_size)
        layers = {layer.name: layer for layer in source.layers}
        inputs = [self._input(name, layers[ref.layer]) for name, ref in source.inputs]
        self._batch = inputs[0].shape[0] if inputs and inputs[0].shape else self.batch_size
        with limited(spec_nodes=NODES_PER_LAYER * _count_layers(source)):
            outputs, declared = self._run(source, "", inputs)
        given = (
            self.cast(tensor, storable(dtype))
            for tensor, dtype in zip(outputs, declared, strict=True)
        )
        self.digests = self.builder.by_variable(self.digests)
        return self.builder.graph(
            dict(zip((name for name, _ in source.outputs), given, strict=True))
        )

    def get_input_tensor(self, layer: Layer) -> list[Ref]:
        """The input tensors of this call of a layer, in argument order."""
        return layer.arguments.refs()

    def get_output_tensor(self, layer: Layer) -> list[Ref]:
        """The output tensors of this call that the model reads."""
        return [
            Ref(layer.name, layer.call, index)
            for index in range(self._frames[-1].outputs.get(layer.name, 1))
        ]

    def get_variable(self, tensor: Ref) -> Tensor:
        if not self.has_variable(tensor):
            raise InternalError(
                f"output {tensor.index} of call {tensor.call} of layer {tensor.layer} is read"
                " before it is set"
            )
        frame = self._frames[-1]
        return frame.cast.get(tensor, frame.values[tensor])

    def set_variable(self, tensor: Ref, variable: Tensor) -> None:
        self._frames[-1].values[tensor] = variable

    def has_variable(self, tensor: Ref) -> bool:
        return tensor in self._frames[-1].values

    def convert_to_constant_variable(
        self, weight: Weight | Array | float, order: Order | None = None
    ) -> Tensor:
        """A layer's weight as a slot; an array or number of a handler as a literal."""
        if not isinstance(weight, Weight):
            array = np.asarray(weight, dtype=None if isinstance(weight, np.ndarray) else "float32")
            return self.builder.constant(array, order=order)
        if weight.slot in self._states:
            return self._states[weight.slot]
        type_ = Type(weight.dtype, weight.shape)
        if order is not None and len(order) != type_.rank:
            raise ShapeError(
                f"{weight.slot}: order {order} has {len(order)} axes, the weight is {type_}"
            )
        self.digests[weight.slot] = weight
        slot = self.builder.slot(
            weight.slot, stored_array(self._blobs, weight.digest, type_), order
        )
        return self.cast(slot, self._work) if is_float(slot.dtype) and self._work else slot

    def cast(self, tensor: Tensor, dtype: str) -> Tensor:
        return cast(self.builder, tensor, dtype)

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

    def scan(
        self,
        states: Sequence[Tensor],
        sequences: Sequence[Tensor],
        step: StepFunction,
        *,
        reverse: bool = False,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """`GraphBuilder.scan` along axis 1. In the body, handlers write to the graph of the step."""

        def inside(
            builder: GraphBuilder, current: list[Tensor], slices: list[Tensor]
        ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:  # fmt: skip
            outer, self.builder = self.builder, builder
            try:
                return step(builder, current, slices)
            finally:
                self.builder = outer

        return self.builder.scan(states, sequences, inside, axis=1, reverse=reverse)

    def state(self, name: str, initial: Tensor) -> Tensor:
        """The current value of a state with this name. `initial`, its first value, must not depend
        on inputs.
        """
        if name not in self._states:
            self._states[name] = self.builder.state(name, initial)
        return self._states[name]

    def set_state(self, name: str, value: Tensor) -> None:
        self._states[name] = value
        self.builder.set_state(name, value)

    def order(self, rank: int) -> Order | None:
        """The conventional names of a Keras tensor's axes, by rank."""
        return self._orders.get(rank)

    def _named_shapes(self, names: Sequence[str]) -> Mapping[str, Sequence[int | str]]:
        """The given shapes, by the names of the model's inputs."""
        if "" in self.input_shapes and len(names) != 1:
            raise ShapeError(
                f"the inputs are {', '.join(names)}; say which one a shape is for, as in"
                f" {names[0]}=1,28,28,1"
            )
        shapes = {name or names[0]: shape for name, shape in self.input_shapes.items()}
        if unknown := sorted(set(shapes) - set(names)):
            raise ShapeError(
                f"there is no input {', '.join(unknown)}; inputs are {', '.join(names)}"
            )
        return shapes

    def _input(self, name: str, spec: LayerSpec) -> Tensor:
        declared, given = spec.config.get("batch_shape"), self._shapes.get(name)
        if not isinstance(declared, list):
            if given is None:
                raise SourceError(
                    f"input {name}: {NO_SHAPE} {name}=..., or call the model once before it is"
                    " saved"
                )
            declared = [None] * len(given)
        shape = (
            list(given)
            if given is not None
            else [self.batch_size, *declared[1:]]
            if declared and declared[0] is None
            else declared
        )
        fits = len(shape) == len(declared) and all(
            (
                known is None
                if isinstance(size, str)
                else isinstance(size, int) and size > 0 and known in (None, size)
            )
            for size, known in zip(shape, declared, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"input {name}: its shape is {declared} (null is open), got {shape}; give every"
                " size with --input-shape, as a number, or as a name where it is set at run time"
            )
        sizes = [placeholder(size) if isinstance(size, str) else size for size in shape]
        return self.builder.input(name, _input_dtype(spec), sizes, self.order(len(shape)))

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
        self._frames.append(Frame(model, owner, inputs))
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
        declared = self._frames.pop().declared
        return outputs, [
            declared.get(ref, tensor.dtype)
            for (_, ref), tensor in zip(model.outputs, outputs, strict=True)
        ]

    def _call(self, layer: Layer) -> None:
        spec, before = layer.spec, self.builder.layer
        owner = self._frames[-1].owner
        self.builder.layer = (
            owner.path if spec.kind == "operation" and owner is not None else layer.path
        )
        handler, built_in = self.tables.find(spec), self.tables.built_in(spec)
        frame, work = self._frames[-1], self._work
        if spec.kind == "layer":
            self._work = work_dtype(spec)
            frame.cast = self._cast_inputs(
                layer, integers=built_in is None or takes_integers(layer)
            )
        if spec.kind == "noise":
            self.set_variable(Ref(layer.name), self._noise(layer))
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
                what = f"{type(error).__name__}: {error}"
                raise SourceError(
                    f"{layer.path} ({spec.class_name}): its config is not one that Keras writes"
                    f" ({what})"
                ) from error
        for ref in self.get_output_tensor(layer):
            if not self.has_variable(ref):
                raise SourceError(
                    f"{layer.path} ({spec.class_name}): the model reads its output {ref.index},"
                    " which its handler does not set"
                )
        if spec.own and spec.kind == "layer" and spec.model is None:
            self._declare_outputs(layer)
        frame.cast, self._work, self.builder.layer = {}, work, before

    def _cast_inputs(self, layer: Layer, *, integers: bool) -> dict[Ref, Tensor]:
        """Cast a layer's inputs like Keras: floating-point ones and, with `integers` false, those
        that its call promotes.
        """
        spec = layer.spec
        if spec.config.get("autocast") is False or (spec.model is not None and not spec.traced):
            return {}
        args, kwargs = layer.arguments.args, layer.arguments.kwargs
        data = set(
            LayerCall((args[0] if args else kwargs.get("inputs", kwargs.get("sequences")),)).refs()
        )
        found = {}
        for ref in layer.arguments.refs():
            tensor = self.get_variable(ref)
            if is_float(tensor.dtype) or (ref in data and not integers):
                found[ref] = self.cast(
                    tensor, self._work if is_float(tensor.dtype) else promoted_dtype(spec)
                )
        return found

    def _declare_outputs(self, layer: Layer) -> None:
        """Record the declared dtypes of a layer's outputs. The computed dtype may be an integer."""
        frame, spec = self._frames[-1], layer.spec
        refs = layer.arguments.refs()
        source = frame.values[refs[0]] if refs else None
        given = frame.declared.get(refs[0], source.dtype) if source is not None else "float32"
        kept = source is not None and not is_float(source.dtype) and spec.class_name in PROMOTED
        for ref in self.get_output_tensor(layer):
            frame.declared[ref] = declared_dtype(spec, given)
            value = frame.values[ref]
            if source is not None and spec.class_name in RESTORING:
                was_cast = is_float(source.dtype) and spec.class_name not in UNCAST
                value = self.cast(value, policy_of(spec).work if was_cast else source.dtype)
            frame.values[ref] = (
                self.cast(value, policy_of(spec).work)
                if is_float(value.dtype) and not kept
                else value
            )

    def _noise(self, layer: Layer) -> Tensor:
        """An input for random numbers of a layer."""
        config = layer.config
        if layer.name in self.builder.inputs:
            owner = config["layer"]
            raise UnsupportedError(
                self.builder.name,
                [
                    (
                        owner,
                        "draws random numbers and is called more than once",
                        "Use a layer of its own for each call",
                    )
                ],
            )
        shape = [self._batch if size is None else size for size in config["shape"]]
        distribution = Distribution(
            config["distribution"], tuple(sorted(config["parameters"].items()))
        )
        return self.builder.input(
            layer.name, storable(config["dtype"]), shape, self.order(len(shape)), distribution
        )

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
            given = layer.arguments.kwargs.get("mask")
            by_input = (
                [given.get(name) for name, _ in model.inputs]
                if isinstance(given, dict)
                else [given]
            )
            masks = given if isinstance(given, list) else by_input
            refs += [mask for mask in masks if mask is not None] if by_name else []
            model = under_masks(model, [mask is not None for mask in masks])
        if len(refs) != len(model.inputs):
            raise layer.error(f"takes {len(model.inputs)} tensors, is called with {len(refs)}")
        owner = layer if layer.spec.traced else None
        tensors = [self.get_variable(ref) for ref in refs]
        if owner is None:
            dtypes = {
                start.name: _input_dtype(start) for start in model.layers if start.kind == "input"
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
            self._frames[-1].declared[Ref(layer.name, layer.call, index)] = declared

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
        owner = self._frames[-1].owner
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
        """Convert a function's operations into the given builder."""
        captured: list[Tensor] = [self._argument(value) for value in function.captured]
        owner = self._frames[-1].owner

        def write(builder: GraphBuilder, given: Sequence[Tensor]) -> list[Tensor]:
            outer, self.builder = self.builder, builder
            try:
                return self._run(
                    function.model,
                    f"{function.model.name}/",
                    [builder.capture(x) for x in (*given, *captured)],
                    owner,
                )[0]
            finally:
                self.builder = outer

        return write


def _input_dtype(spec: LayerSpec) -> str:
    return storable(str(spec.config.get("dtype") or "float32"))


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
