"""The operations that a call of a layer executes, and their specs."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import keras
from keras.src import tree

from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.keras.callables import Called
from webkiln.frontends.keras.literals import Refused, literal
from webkiln.frontends.keras.spec import FunctionSpec, LayerCall, LayerSpec, Ref, WeightRef
from webkiln.frontends.keras.symbolic_variables import WeightTensor

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Walk(Protocol):
    """What a trace needs of the model around it: names, weights, random numbers, and the specs of
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


class Recording:
    """The operations of one run of a call, and their specs.

    `nodes` are the operations in the order of their calls; `assigned` has the value of a weight
    from each node on. With `outer`, this is the run of a nested function, which may capture tensors
    of the outer run.
    """

    def __init__(
        self, walker: Walk, layer: Any, path: str, outer: "Recording | None" = None
    ) -> None:
        self.walker = walker
        self.layer = layer
        self.path = path
        self.outer = outer
        self.root: Recording = outer.root if outer is not None else self
        self.weights: dict[str, Weight] = outer.weights if outer is not None else {}
        self.nodes: list[Any] = []
        self.assigned: dict[int, list[tuple[int, Any]]] = {}
        self.captured: list[Any] = []
        self.noises: dict[str, LayerSpec] = {}
        self._called: dict[int, tuple[Called, dict[str, tuple[FunctionSpec, Any]]]] = {}
        self._drawn: dict[int, tuple[Any, LayerSpec]] = {}
        self._inputs: dict[int, Ref] = {}
        self._outputs: dict[int, Ref] = {}
        self._constants: dict[int, tuple[Any, Any]] = {}
        self._copies: dict[str, LayerSpec] = {}
        self._computed_with = False
        """Whether a variable's value was read, so that a concrete tensor may derive from it."""

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
            name, _, layer_calls, arguments = calls[id(operation)]
            for position, output in enumerate(node.outputs):
                self._outputs[id(output)] = Ref(name, len(layer_calls), position)
            args, kwargs = node.arguments.args, node.arguments.kwargs
            call = self._call(node, index)
            if isinstance(operation, keras.layers.Layer):
                call = LayerCall(mapped(tensor, call.args), mapped(tensor, call.kwargs))
            layer_calls.append(call)
            arguments.append((args, kwargs))
        layers = [
            self.walker.layer(operation, f"{self.path}/{name}", layer_calls, arguments)
            for name, operation, layer_calls, arguments in calls.values()
        ]
        for layer in layers:
            if layer.class_name == "BroadcastTo" and None in (shape := layer.config["shape"]):
                raise Refused(f"it broadcasts to {shape}, whose open size is that of no argument")
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
        output = self._argument(value, time)
        if isinstance(output, Ref):
            return output
        if not isinstance(output, WeightRef | Literal):
            raise Refused(f"its call returns {type(value).__name__}, not a tensor")
        layers.append(_copy(f"copy_{len(layers)}", output))
        return Ref(layers[-1].name)

    def _argument(self, value: Any, time: int) -> Any:
        value = self._current(value, time)
        if self.outer is not None:
            value = self.outer._current(value, len(self.outer.nodes))
        if id(value) in self._outputs:
            return self._outputs[id(value)]
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

    def _capture(self, value: Any) -> Ref:
        self.captured.append(value)
        return self._inputs.setdefault(id(value), Ref(f"captured_{len(self.captured) - 1}"))

    def _literal(self, value: Any) -> Any:
        return literal(value, made=not self.root._computed_with and not self._is_attribute(value))

    def _is_attribute(self, value: Any) -> bool:
        """Whether a tensor is an attribute of the layer, and may be trained."""
        return any(item is value for item in tree.flatten(list(vars(self.layer).values())))

    def _read(self, variable: Any) -> WeightRef:
        return WeightRef(self._use(variable).slot)

    def _use(self, variable: Any) -> Weight:
        weight = self.walker.weight_of(variable)
        if weight is None:
            raise Refused(
                f"variable {variable.name!r} is not a weight of the layer; create it with"
                " add_weight"
            )
        self.weights[weight.slot] = weight
        return weight


def _copy(name: str, value: WeightRef | Literal) -> LayerSpec:
    return LayerSpec(name, "Copy", {}, kind="operation", calls=(LayerCall((value,)),))


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Map a function over tuples, lists and dicts, in the order of a LayerCall's references."""
    if isinstance(value, dict):
        return {name: mapped(function, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        items = [mapped(function, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return function(value)
