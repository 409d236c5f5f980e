"""Run the `call` of a layer on symbolic tensors, and return its keras.ops operations as a model."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol
from unittest.mock import patch

import keras
import numpy as np
from keras.src import backend, tree
from keras.src.ops.node import Node

from webkiln.canonical import key
from webkiln.errors import UnsupportedError
from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.keras.callables import Called, called, stated
from webkiln.frontends.keras.framework import first_sentence
from webkiln.frontends.keras.literals import Refused, literal, number
from webkiln.frontends.keras.masks import with_masks
from webkiln.frontends.keras.noise import replaced
from webkiln.frontends.keras.python_operators import as_in_a_call
from webkiln.frontends.keras.spec import (
    FunctionSpec,
    LayerCall,
    LayerSpec,
    ModelSpec,
    Ref,
    WeightRef,
    to_json,
)
from webkiln.frontends.keras.symbolic_variables import WeightTensor, substituted
from webkiln.random_inputs import DISTRIBUTIONS

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
HINT = (
    "Write the call with keras.ops and the layer's own weights, or write a handler with"
    " KerasConverter.register_handler"
)


class Walk(Protocol):
    """The interface of the walk over the model for traces: names, weights, random numbers, and
    called layers.
    """

    batch_size: int
    handled: Callable[[LayerSpec], bool]

    def layer(
        self, layer: Any, path: str, calls: list[LayerCall], arguments: list[Arguments]
    ) -> LayerSpec: ...

    def name_of(self, layer: Any) -> str: ...

    def weight_of(self, variable: Any) -> Weight | None: ...

    def noise(self, layer: Any, draw: int, config: Mapping[str, Any]) -> LayerSpec: ...


def trace_layer(
    walker: Walk,
    layer: Any,
    path: str,
    arguments: list[Arguments],
    method: Callable[..., Any] | None = None,
) -> tuple[ModelSpec, dict[str, Weight]]:
    """The operations in the call of `layer`, or another `method`, and the weights that they read,
    by slot.

    A call that fails with a dynamic batch size is traced again with the walker's. Raises
    UnsupportedError, naming everything that cannot be traced.
    """
    where = f"{path} ({type(layer).__name__})"
    traces = []
    for call in arguments:
        try:
            try:
                traces.append(Tracer(walker, layer, path, None, method=method).run(*call))
            except UnsupportedError:
                raise
            except Exception:  # noqa: BLE001 - a call of the user's fails on an open batch size in any way
                traces.append(
                    Tracer(walker, layer, path, walker.batch_size, method=method).run(*call)
                )
        except UnsupportedError:
            raise
        except Exception as error:
            raise UnsupportedError(
                path, [(where, f"its call cannot be traced: {first_sentence(error)}", HINT)]
            ) from error
    if len({key(to_json(model)) for model, _ in traces}) != 1:
        what = f"its {len(traces)} calls do different operations"
        raise UnsupportedError(
            path, [(where, what, "Use a layer of its own for each shape, or write a handler")]
        )
    return traces[0]


def state_call(
    walker: Walk,
    operation: Any,
    path: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ref: Callable[[Any], Ref],
) -> LayerCall:
    """A call of an operation that takes functions, in a functional model. `ref` maps a tensor to
    its layer's output.
    """
    where = f"{path} ({type(operation).__name__})"
    tracer = Tracer(walker, operation, path, None)
    try:
        with tracer.tracing():
            call = called(operation, args, kwargs)
            functions = {
                name: tracer.function(name, *given)[0] for name, given in call.functions.items()
            }
        tracer.check_alone(functions)
        operands = [
            ref(value) if isinstance(value, keras.KerasTensor) else literal(value)
            for value in call.operands
        ]
    except Exception as error:
        raise UnsupportedError(
            path, [(where, f"its functions cannot be traced: {first_sentence(error)}", HINT)]
        ) from error
    return LayerCall(tuple(operands), {"functions": functions, **call.options})


class Tracer:
    """One run of a call. `nodes` are the operations in the order of their calls; `assigned` has the
    value of a weight from each node on. With `outer`, this is the run of a nested function, which
    may capture tensors of the outer run.
    """

    def __init__(
        self,
        walker: Walk,
        layer: Any,
        path: str,
        batch: int | None,
        outer: "Tracer | None" = None,
        method: Callable[..., Any] | None = None,
    ) -> None:
        self.outer = outer
        quantized = getattr(layer, "quantization_mode", None) is not None
        self.method = method or (layer.quantized_call if quantized else layer.call)
        self.captured: list[Any] = []
        self.root: Tracer = outer.root if outer is not None else self
        self.active = self
        self._called: dict[int, tuple[Called, dict[str, tuple[FunctionSpec, Any]]]] = {}
        self.walker = walker
        self.layer = layer
        self.path = path
        self.batch = batch
        self.nodes: list[Any] = []
        self.assigned: dict[int, list[tuple[int, Any]]] = {}
        self.weights: dict[str, Weight] = outer.weights if outer is not None else {}
        self.noises: dict[str, LayerSpec] = {}
        self._drawn: dict[int, tuple[Any, LayerSpec]] = {}
        self._inputs: dict[int, Ref] = {}
        self._made: dict[int, Ref] = {}
        self._stand_ins: dict[int, WeightTensor] = {}
        self._constants: dict[int, tuple[Any, Any]] = {}
        self._copies: dict[str, LayerSpec] = {}
        self._computed_with = False
        """Whether a variable's value was read, so that a concrete tensor may derive from it."""

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

        given = tree.flatten((args, kwargs))
        args, kwargs = _mapped(fresh, args), _mapped(fresh, kwargs)
        masks = self._carried(given, tree.flatten((args, kwargs)))
        accepted = inspect.signature(self.method).parameters
        free = any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in accepted.values()
        )
        kwargs = {
            name: value
            for name, value in kwargs.items()
            if name in accepted or (free and value is not None)
        }
        if "training" in accepted:
            kwargs["training"] = False
        if isinstance(self.layer, keras.layers.Layer) and self.method == self.layer.call:
            kwargs |= self._mask_arguments(args, kwargs)
        with self.tracing(), substituted(self.layer, self._stand_in):
            results = self.method(*args, **kwargs)
            self._mask_outputs(args, kwargs, results)
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
        known = {self._inputs[id(tensor)]: self._inputs[id(mask)] for tensor, mask in masks}
        made = (*self.noises.values(), *with_masks(layers, known, ordered=True))
        read = {ref for layer in made for call in layer.calls for ref in call.refs()} | {
            ref for _, ref in (*outputs, *nexts)
        }
        inputs += [(ref.layer, ref) for ref in known.values() if ref in read]
        return (
            ModelSpec(self.path, made, tuple(inputs), tuple(outputs), nexts, self.batch),
            self.weights,
        )

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
        before, self.root.active = self.root.active, inner
        try:
            given = function(*specs)
        finally:
            self.root.active = before
        given = tree.map_structure(number, given)
        results = [value for value in tree.flatten(given) if value is not None]
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
        return FunctionSpec(model, tuple(inner.captured)), given

    def check_alone(self, functions: Mapping[str, FunctionSpec]) -> None:
        if self.weights or any(function.captured for function in functions.values()):
            raise Refused("its functions use tensors or weights that they are not given")

    def state(self, operation: Any, *args: Any, **kwargs: Any) -> Any:
        """Record a call of an operation that takes functions, with all tensors that it and the
        functions use.
        """
        call = called(operation, args, kwargs)
        functions = {name: self.function(name, *given) for name, given in call.functions.items()}
        outputs = call.outputs({name: given for name, (_, given) in functions.items()})
        captured = [value for function, _ in functions.values() for value in function.captured]
        Node(operation, call_args=(call.operands, captured), call_kwargs={}, outputs=outputs)
        self._called[id(self.nodes[-1])] = (call, functions)
        return outputs

    def _capture(self, value: Any) -> Ref:
        self.captured.append(value)
        return self._inputs.setdefault(id(value), Ref(f"captured_{len(self.captured) - 1}"))

    def _carried(self, given: list[Any], fresh: list[Any]) -> list[tuple[Any, Any]]:
        """Symbolic masks for the inputs that have one: (input, mask)."""
        found = []
        for before, tensor in zip(given, fresh, strict=True):
            if (
                isinstance(before, keras.KerasTensor)
                and (mask := backend.get_keras_mask(before)) is not None
            ):
                stand_in = keras.KerasTensor(
                    [self.batch, *mask.shape[1:]] if self.batch else mask.shape, mask.dtype
                )
                self._inputs[id(stand_in)] = Ref(f"{self._inputs[id(tensor)].layer}_mask")
                backend.set_keras_mask(tensor, stand_in)
                found.append((tensor, stand_in))
        return found

    def _mask_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The masks that `Layer.__call__` passes to the call: `mask` for a single tensor argument,
        otherwise one per argument by name.
        """
        bound = inspect.signature(self.method).bind(*args, **kwargs)
        bound.apply_defaults()
        tensors = {name: value for name, value in bound.arguments.items() if _of_tensors(value)}
        named = {
            "mask" if len(tensors) == 1 else f"{name}_mask": value
            for name, value in tensors.items()
        }
        wanted = [
            name for name in named if name in bound.arguments and bound.arguments[name] is None
        ]
        return {name: tree.map_structure(backend.get_keras_mask, named[name]) for name in wanted}

    def _mask_outputs(self, args: tuple[Any, ...], kwargs: dict[str, Any], results: Any) -> None:
        """Attach the masks that `Layer.__call__` attaches to outputs after the call."""
        first = args[0] if args else next(iter(kwargs.values()), None)
        if self.layer.supports_masking and first is not None:
            before = kwargs.get("mask")
            self.layer._set_mask_metadata(
                first,
                results,
                tree.map_structure(backend.get_keras_mask, first) if before is None else before,
            )

    def assign(self, weight: WeightTensor, value: Any) -> None:
        if self.active is not self:
            raise Refused(
                f"weight {weight.name!r} is assigned inside a function that an operation calls;"
                " give the value back instead"
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
                    value._sparse = False  # Keras takes a product with a number to be sparse
            return keras.Operation.compute_output_spec(layer, *args, **kwargs)

        eager = keras.layers.Layer.__call__

        def call_layer(layer: Any, *args: Any, **kwargs: Any) -> Any:
            """A layer with weights does not return a constant, even if all arguments are constants."""
            if layer.variables and not any(
                isinstance(value, keras.KerasTensor) for value in tree.flatten((args, kwargs))
            ):
                args, kwargs = _mapped(self._constant, args), _mapped(self._constant, kwargs)
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
                            f"Draw with keras.random's {', '.join(DISTRIBUTIONS)}, whose numbers"
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
                f"keras.random.{name} takes the shape {shape} and {parameters}; only numbers, and"
                " an open batch size, will do"
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

    def _current(self, value: Any, time: int) -> Any:
        """The current value of a replaced variable: the value last assigned, or the variable."""
        steps = [new for since, new in self.assigned.get(id(value), ()) if since <= time]
        return steps[-1] if steps else value

    def _needed(self, results: list[Any]) -> list[int]:
        producer = {
            id(output): index for index, node in enumerate(self.nodes) for output in node.outputs
        }
        pending = [self._current(value, len(self.nodes)) for value in results]
        needed: set[int] = set()
        while pending:
            index = producer.get(id(pending.pop()))
            if index is not None and index not in needed:
                needed.add(index)
                pending += [
                    self._current(tensor, index)
                    for tensor in self.nodes[index].arguments.keras_tensors
                ]
        return sorted(needed)

    def _layers(self, needed: list[int]) -> list[LayerSpec]:
        calls: dict[int, tuple[str, Any, list[LayerCall], list[Arguments]]] = {}
        counts: dict[str, int] = {}

        def tensor(value: Any) -> Any:
            """A weight in the arguments of a layer, as a tensor of the layer's trace."""
            return self._copied(value.name, value) if isinstance(value, WeightRef) else value

        for index in needed:
            node = self.nodes[index]
            operation = node.operation
            if id(operation) not in calls:
                stem = (
                    self.walker.name_of(operation)
                    if isinstance(operation, keras.layers.Layer)
                    else type(operation).__name__.lower()
                )
                counts[stem] = counts.get(stem, 0) + 1
                name = stem if counts[stem] == 1 else f"{stem}_{counts[stem]}"
                calls[id(operation)] = (name, operation, [], [])
            name, _, made, arguments = calls[id(operation)]
            for position, output in enumerate(node.outputs):
                self._made[id(output)] = Ref(name, len(made), position)
            args, kwargs = node.arguments.args, node.arguments.kwargs
            call = self._call(node, index)
            if isinstance(operation, keras.layers.Layer):
                call = LayerCall(_mapped(tensor, call.args), _mapped(tensor, call.kwargs))
            made.append(call)
            arguments.append((args, kwargs))
        layers = [
            self.walker.layer(operation, f"{self.path}/{name}", made, given)
            for name, operation, made, given in calls.values()
        ]
        for layer in layers:
            if layer.class_name == "BroadcastTo" and None in (shape := layer.config["shape"]):
                raise Refused(
                    f"it broadcasts to {shape}, whose open size is of no tensor that it is given"
                )
        return [*self._copies.values(), *layers]

    def _call(self, node: Any, index: int) -> LayerCall:
        if id(node) not in self._called:
            arguments = node.arguments
            return LayerCall(
                tuple(self._argument(list(arguments.args), index)),
                self._argument(dict(arguments.kwargs), index),
            )
        call, functions = self._called[id(node)]
        specs = {
            name: FunctionSpec(spec.model, tuple(self._argument(list(spec.captured), index)))
            for name, (spec, _) in functions.items()
        }
        return LayerCall(
            tuple(self._argument(call.operands, index)), {"functions": specs, **call.options}
        )

    def _copied(self, key: str, value: WeightRef | Literal) -> Ref:
        return Ref(self._copies.setdefault(key, _copy(f"held_{len(self._copies)}", value)).name)

    def _output(self, layers: list[LayerSpec], value: Any, time: int) -> Ref:
        found = self._argument(value, time)
        if isinstance(found, Ref):
            return found
        if not isinstance(found, WeightRef | Literal):
            raise Refused(f"its call returns {type(value).__name__}, not a tensor")
        layers.append(_copy(f"copy_{len(layers)}", found))
        return Ref(layers[-1].name)

    def _argument(self, value: Any, time: int) -> Any:
        value = self._current(value, time)
        if self.outer is not None:
            value = self.outer._current(value, len(self.outer.nodes))
        if id(value) in self._made:
            return self._made[id(value)]
        if id(value) in self._inputs:
            return self._inputs[id(value)]
        if id(value) in self._drawn:
            noise = self._drawn[id(value)][1]
            self.noises[noise.name] = noise
            return Ref(noise.name)
        if id(value) in self.root._constants:
            return self._copied(
                f"constant {id(value)}", self._literal(self.root._constants[id(value)][1])
            )
        if isinstance(value, WeightTensor):
            return self._read(value.variable)
        if isinstance(value, keras.Variable):
            return self._read(value)
        if isinstance(value, keras.KerasTensor) and self.outer is not None:
            return self._capture(value)
        if isinstance(value, keras.KerasTensor):
            raise Refused("a tensor comes from outside the call")
        if isinstance(value, list | tuple):
            return [self._argument(item, time) for item in value]
        if isinstance(value, dict):
            return {name: self._argument(item, time) for name, item in value.items()}
        return self._literal(value)

    def _literal(self, value: Any) -> Any:
        return literal(value, made=not self.root._computed_with and not self._holds(value))

    def _holds(self, value: Any) -> bool:
        """Whether a tensor is an attribute of the layer, and may be trained."""
        return any(item is value for item in tree.flatten(list(vars(self.layer).values())))

    def _read(self, variable: Any) -> WeightRef:
        return WeightRef(self._use(variable).slot)

    def _use(self, variable: Any) -> Weight:
        weight = self.walker.weight_of(variable)
        if weight is None:
            raise Refused(
                f"variable {variable.name!r} is not a weight of the layer; make it with add_weight"
            )
        self.weights[weight.slot] = weight
        return weight


def _of_tensors(value: Any) -> bool:
    """Whether Keras treats an argument as tensors; some items of a list may be None."""
    flat = tree.flatten(value) if tree.is_nested(value) else [value]
    return any(isinstance(item, keras.KerasTensor) for item in flat) and all(
        item is None or isinstance(item, keras.KerasTensor) for item in flat
    )


def _copy(name: str, value: WeightRef | Literal) -> LayerSpec:
    return LayerSpec(name, "Copy", {}, kind="operation", calls=(LayerCall((value,)),))


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Map a function over tuples, lists and dicts, in the order of a LayerCall's references."""
    if isinstance(value, dict):
        return {name: _mapped(function, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_mapped(function, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return function(value)
