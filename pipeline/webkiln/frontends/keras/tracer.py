"""Run a call on symbolic tensors, and record its operations."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import keras
import numpy as np
from keras.src import backend, tree
from keras.src.ops.node import Node

from webkiln.errors import UnsupportedError
from webkiln.frontends.core.arrays import Weight
from webkiln.frontends.keras.call_masks import attach_masks, mask_arguments
from webkiln.frontends.keras.callables import called, stated
from webkiln.frontends.keras.literals import Refused, number
from webkiln.frontends.keras.masks import with_masks
from webkiln.frontends.keras.noise import replaced
from webkiln.frontends.keras.python_operators import as_in_a_call
from webkiln.frontends.keras.recording import Recording, Walk, mapped
from webkiln.frontends.keras.spec import FunctionSpec, LayerSpec, ModelSpec, Ref
from webkiln.frontends.keras.symbolic_variables import WeightTensor, substituted
from webkiln.random_inputs import DISTRIBUTIONS


class Tracer(Recording):
    """One run of a call. `batch` replaces a dynamic batch size."""

    root: "Tracer"
    outer: "Tracer | None"

    def __init__(
        self,
        walker: Walk,
        layer: Any,
        path: str,
        batch: int | None,
        outer: "Tracer | None" = None,
        method: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(walker, layer, path, outer)
        quantized = getattr(layer, "quantization_mode", None) is not None
        self.method = method or (layer.quantized_call if quantized else layer.call)
        self.batch = batch
        self.active = self
        self._stand_ins: dict[int, WeightTensor] = {}

    def run(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ModelSpec, dict[str, Weight]]:
        inputs: list[tuple[str, Ref]] = []

        def fresh(value: Any) -> Any:
            if not isinstance(value, keras.KerasTensor):
                return value
            shape = [
                self.batch if size is None and axis == 0 else size
                for axis, size in enumerate(value.shape)
            ]
            tensor = keras.KerasTensor(shape, self._received(value.dtype))
            ref = Ref(f"input_{len(inputs)}")
            inputs.append((ref.layer, ref))
            self._inputs[id(tensor)] = ref
            return tensor

        original = tree.flatten((args, kwargs))
        args, kwargs = mapped(fresh, args), mapped(fresh, kwargs)
        masks = self._masks(original, tree.flatten((args, kwargs)))
        kwargs = self._accepted(args, kwargs)
        with self.tracing(), substituted(self.layer, self._stand_in):
            results = self.method(*args, **kwargs)
            attach_masks(self.layer, args, kwargs, results)
        results = tree.flatten(results)
        end = len(self.nodes)
        states = {slot: steps[-1][1] for slot, steps in self._final_states().items()}
        named = [(f"output_{index}", value) for index, value in enumerate(results)]
        named += [
            (f"{name}_mask", mask)
            for name, value in named
            if (mask := backend.get_keras_mask(value)) is not None
        ]
        needed = self._needed([*(value for _, value in named), *states.values()])
        layers = self._layers(needed)
        outputs = [(name, self._output(layers, value, end)) for name, value in named]
        nexts = tuple(
            (slot, self._output(layers, value, end)) for slot, value in sorted(states.items())
        )
        mask_refs = {self._inputs[id(tensor)]: self._inputs[id(mask)] for tensor, mask in masks}
        layers = [*self.noises.values(), *with_masks(layers, mask_refs, ordered=True)]
        read = {ref for layer in layers for call in layer.calls for ref in call.refs()} | {
            ref for _, ref in (*outputs, *nexts)
        }
        inputs += [(ref.layer, ref) for ref in mask_refs.values() if ref in read]
        return (
            ModelSpec(self.path, tuple(layers), tuple(inputs), tuple(outputs), nexts, self.batch),
            self.weights,
        )

    def _accepted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments that the method accepts, for inference and with masks."""
        accepted = inspect.signature(self.method).parameters
        accepts_any = any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in accepted.values()
        )
        kwargs = {
            name: value
            for name, value in kwargs.items()
            if name in accepted or (accepts_any and value is not None)
        }
        if "training" in accepted:
            kwargs["training"] = False
        if isinstance(self.layer, keras.layers.Layer) and self.method == self.layer.call:
            kwargs |= mask_arguments(self.method, args, kwargs)
        return kwargs

    def _received(self, dtype: str) -> str:
        """The dtype of an input in the call: `Layer.__call__` casts floating-point ones first."""
        casts = (
            isinstance(self.layer, keras.layers.Layer)
            and self.layer.autocast
            and self.layer._convert_input_args
        )
        return self.layer.compute_dtype if casts and backend.is_float_dtype(dtype) else dtype

    def function(
        self, name: str, function: Callable[..., Any], specs: tuple[Any, ...]
    ) -> tuple[FunctionSpec, Any]:
        """The operations of a function for these tensors, and its result."""
        inner = Tracer(self.walker, self.layer, f"{self.path}/{name}", self.batch, self)
        inputs = [value for value in tree.flatten(specs) if isinstance(value, keras.KerasTensor)]
        inner._inputs |= {id(value): Ref(f"input_{number}") for number, value in enumerate(inputs)}
        outer, self.root.active = self.root.active, inner
        try:
            result = function(*specs)
        finally:
            self.root.active = outer
        result = tree.map_structure(number, result)
        results = [value for value in tree.flatten(result) if value is not None]
        layers = inner._layers(inner._needed(results))
        outputs = tuple(
            (f"output_{number}", inner._output(layers, value, len(inner.nodes)))
            for number, value in enumerate(results)
        )
        starts = [
            *(inner._inputs[id(value)] for value in inputs),
            *(inner._inputs[id(value)] for value in inner.captured),
        ]
        model = ModelSpec(
            inner.path, tuple(layers), tuple((ref.layer, ref) for ref in starts), outputs
        )
        return FunctionSpec(model, tuple(inner.captured)), result

    def check_self_contained(self, functions: Mapping[str, FunctionSpec]) -> None:
        """Raise Refused if the functions read weights or tensors other than their arguments."""
        if self.weights or any(function.captured for function in functions.values()):
            raise Refused("its functions use tensors or weights that are not their arguments")

    def state(self, operation: Any, *args: Any, **kwargs: Any) -> Any:
        """Record a call of an operation that takes functions, with all tensors that it and the
        functions use.
        """
        call = called(operation, args, kwargs)
        functions = {
            name: self.function(name, *signature) for name, signature in call.functions.items()
        }
        outputs = call.outputs({name: result for name, (_, result) in functions.items()})
        captured = [value for function, _ in functions.values() for value in function.captured]
        Node(operation, call_args=(call.operands, captured), call_kwargs={}, outputs=outputs)
        self._called[id(self.nodes[-1])] = (call, functions)
        return outputs

    def _masks(self, original: list[Any], fresh: list[Any]) -> list[tuple[Any, Any]]:
        """Symbolic masks for the inputs that have one: (input, mask)."""
        masks = []
        for before, tensor in zip(original, fresh, strict=True):
            if (
                isinstance(before, keras.KerasTensor)
                and (mask := backend.get_keras_mask(before)) is not None
            ):
                stand_in = keras.KerasTensor(
                    [self.batch, *mask.shape[1:]] if self.batch else mask.shape, mask.dtype
                )
                self._inputs[id(stand_in)] = Ref(f"{self._inputs[id(tensor)].layer}_mask")
                backend.set_keras_mask(tensor, stand_in)
                masks.append((tensor, stand_in))
        return masks

    def assign(self, weight: WeightTensor, value: Any) -> None:
        if self.active is not self:
            raise Refused(
                f"weight {weight.name!r} is assigned inside a function that an operation calls;"
                " return the value instead"
            )
        self.assigned.setdefault(id(weight), []).append(
            (len(self.nodes), self._current(value, len(self.nodes)))
        )

    @contextmanager
    def tracing(self) -> Iterator[None]:
        init = Node.__init__

        def record(node: Any, *args: Any, **kwargs: Any) -> None:
            init(node, *args, **kwargs)
            self.active.nodes.append(node)

        def call(operation: Any, *args: Any, **kwargs: Any) -> Any:
            return self.active.state(operation, *args, **kwargs)

        symbolic, value_of = (
            keras.layers.Layer.symbolic_call,
            backend.common.KerasVariable.value.fget,
        )

        def read(variable: Any) -> Any:
            self._computed_with |= not backend.in_stateless_scope()
            return value_of(variable)

        def symbolic_call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            """The result of a layer's `call`, which is traced: `compute_output_shape` may support
            one way of calling only.
            """
            kind = type(layer)
            if kind.__module__.split(".")[0] == "keras" or self.walker.handled(
                LayerSpec(layer.name, kind.__name__, {}, own=False)
            ):
                return symbolic(layer, *args, **kwargs)
            for value in tree.flatten((args, kwargs)):
                if isinstance(value, keras.KerasTensor):
                    value._sparse = False  # Keras regards a product with a number as sparse
            return keras.Operation.compute_output_spec(layer, *args, **kwargs)

        eager = keras.layers.Layer.__call__

        def call_layer(layer: Any, *args: Any, **kwargs: Any) -> Any:
            """Constant arguments of a layer with weights become tensors, so that it is traced."""
            if layer.variables and not any(
                isinstance(value, keras.KerasTensor) for value in tree.flatten((args, kwargs))
            ):
                args, kwargs = mapped(self._constant, args), mapped(self._constant, kwargs)
            return eager(layer, *args, **kwargs)

        with ExitStack() as stack:
            stack.enter_context(as_in_a_call())
            stack.enter_context(patch.object(Node, "__init__", record))
            stack.enter_context(patch.object(keras.layers.Layer, "add_loss", lambda *_: None))
            stack.enter_context(patch.object(keras.layers.Layer, "symbolic_call", symbolic_call))
            stack.enter_context(patch.object(keras.layers.Layer, "__call__", call_layer))
            stack.enter_context(patch.object(backend.common.KerasVariable, "value", property(read)))
            stack.enter_context(replaced(self._draw))
            stack.enter_context(stated(call))
            yield

    def _constant(self, value: Any) -> Any:
        """A tensor that represents a constant. Other values are unchanged."""
        if not backend.is_tensor(value) and not isinstance(value, np.ndarray):
            return value
        tensor = keras.KerasTensor(value.shape, keras.backend.standardize_dtype(value.dtype))
        self.root._constants[id(tensor)] = (tensor, value)
        return tensor

    def _draw(self, name: str, arguments: dict[str, Any]) -> Any:
        """A tensor that represents random numbers, which become an input of the model."""
        if self.active is not self:
            raise Refused(
                "random numbers are drawn inside a function that an operation calls; draw them"
                " before"
            )
        if name not in DISTRIBUTIONS:
            raise UnsupportedError(
                self.path,
                [
                    (
                        f"{self.path} ({type(self.layer).__name__})",
                        f"keras.random.{name} inside call gives other numbers on every run",
                        (
                            f"Use keras.random's {', '.join(DISTRIBUTIONS)}, whose numbers"
                            " become an input, or in build() into a weight"
                        ),
                    )
                ],
            )
        shape, dtype = list(arguments["shape"]), keras.backend.standardize_dtype(arguments["dtype"])
        parameters = {parameter: arguments[parameter] for parameter in DISTRIBUTIONS[name]}
        if not all(type(size) is int for size in shape[1:]) or not all(
            isinstance(value, int | float) for value in parameters.values()
        ):
            raise Refused(
                f"keras.random.{name} has the shape {shape} and {parameters}; they must be numbers,"
                " except for an open batch size"
            )
        config = {"distribution": name, "parameters": parameters, "shape": shape, "dtype": dtype}
        tensor = keras.KerasTensor(shape, dtype)
        self._drawn[id(tensor)] = (tensor, self.walker.noise(self.layer, len(self._drawn), config))
        return tensor

    def _stand_in(self, variable: Any) -> Any:
        if self.walker.weight_of(variable) is None:
            return variable
        return self._stand_ins.setdefault(id(variable), WeightTensor(self.assign, variable))

    def _final_states(self) -> dict[str, list[tuple[int, Any]]]:
        variables = {id(tensor): tensor.variable for tensor in self._stand_ins.values()}
        return {self._use(variables[key]).slot: steps for key, steps in self.assigned.items()}
