"""The state of a conversion: tensors, slots, and the names and dtypes of Keras."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.errors import InternalError, ShapeError, UnsupportedError
from webkiln.frontends.core.arrays import Blobs, Weight, stored_array
from webkiln.frontends.keras.handlers import HANDLERS, Handlers
from webkiln.frontends.keras.layer import Layer
from webkiln.frontends.keras.policies import (
    PROMOTED,
    RESTORING,
    UNCAST,
    declared_dtype,
    policy_of,
    promoted_dtype,
    storable,
)
from webkiln.frontends.keras.spec import LayerCall, ModelSpec, Ref
from webkiln.ir.axis import Order, OrderNC, OrderNCDHW, OrderNCHW, OrderNDHWC, OrderNHWC, OrderNTC
from webkiln.ir.dim import Size
from webkiln.ir.graph import Distribution
from webkiln.ir.types import Array, Type, is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.control_flow import StepFunction
from webkiln.ops.pieces import cast
from webkiln.ops.table import RULES

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


class ConversionState:
    """The tensors of a conversion, and the methods that handlers call."""

    def __init__(
        self,
        batch_size: int = 1,
        input_shapes: Mapping[str, Sequence[int | str]] | None = None,
        tables: Handlers = HANDLERS,
        dims: Mapping[str, int | str] | None = None,
    ) -> None:
        if batch_size < 1:
            raise ShapeError(f"batch_size is {batch_size}; give 1 or more")
        self.batch_size = batch_size
        self.input_shapes = dict(input_shapes or {})
        self.dims = dict(dims or {})
        self.tables = tables
        self.builder = GraphBuilder("model", RULES)
        self.digests: dict[str, Weight] = {}
        self.texts: list[dict[str, Any]] = []
        self._blobs: Blobs = {}
        self.frames: list[Frame] = []
        self._states: dict[str, Tensor] = {}
        self._orders: Mapping[int, Order] = CHANNELS_LAST
        self._shapes: Mapping[str, Sequence[int | str]] = {}
        self._batch: Size = batch_size
        self._work = ""

    def get_input_tensor(self, layer: Layer) -> list[Ref]:
        """The input tensors of this call of a layer, in argument order."""
        return layer.arguments.refs()

    def get_output_tensor(self, layer: Layer) -> list[Ref]:
        """The output tensors of this call that the model reads."""
        return [
            Ref(layer.name, layer.call, index)
            for index in range(self.frames[-1].outputs.get(layer.name, 1))
        ]

    def get_variable(self, tensor: Ref) -> Tensor:
        if not self.has_variable(tensor):
            raise InternalError(
                f"output {tensor.index} of call {tensor.call} of layer {tensor.layer} is read"
                " before it is set"
            )
        frame = self.frames[-1]
        return frame.cast.get(tensor, frame.values[tensor])

    def set_variable(self, tensor: Ref, variable: Tensor) -> None:
        self.frames[-1].values[tensor] = variable

    def has_variable(self, tensor: Ref) -> bool:
        return tensor in self.frames[-1].values

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

    def scan(
        self,
        states: Sequence[Tensor],
        sequences: Sequence[Tensor],
        step: StepFunction,
        *,
        reverse: bool = False,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """`GraphBuilder.scan` along axis 1. In the body, handlers write to the step's graph."""

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

    def cast_inputs(self, layer: Layer, *, integers: bool) -> dict[Ref, Tensor]:
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
        casts = {}
        for ref in layer.arguments.refs():
            tensor = self.get_variable(ref)
            if is_float(tensor.dtype) or (ref in data and not integers):
                casts[ref] = self.cast(
                    tensor, self._work if is_float(tensor.dtype) else promoted_dtype(spec)
                )
        return casts

    def declare_outputs(self, layer: Layer) -> None:
        """Record the declared dtypes of a layer's outputs. The computed dtype may be an integer."""
        frame, spec = self.frames[-1], layer.spec
        refs = layer.arguments.refs()
        source = frame.values[refs[0]] if refs else None
        dtype = frame.declared.get(refs[0], source.dtype) if source is not None else "float32"
        keeps_integers = (
            source is not None and not is_float(source.dtype) and spec.class_name in PROMOTED
        )
        for ref in self.get_output_tensor(layer):
            frame.declared[ref] = declared_dtype(spec, dtype)
            value = frame.values[ref]
            if source is not None and spec.class_name in RESTORING:
                was_cast = is_float(source.dtype) and spec.class_name not in UNCAST
                value = self.cast(value, policy_of(spec).work if was_cast else source.dtype)
            frame.values[ref] = (
                self.cast(value, policy_of(spec).work)
                if is_float(value.dtype) and not keeps_integers
                else value
            )

    def noise_input(self, layer: Layer) -> Tensor:
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
                        "Use a separate layer for each call",
                    )
                ],
            )
        shape = [self._batch if size is None else size for size in config["shape"]]
        distribution = Distribution.of(config["distribution"], config["parameters"])
        return self.builder.input(
            layer.name, storable(config["dtype"]), shape, self.order(len(shape)), distribution
        )
