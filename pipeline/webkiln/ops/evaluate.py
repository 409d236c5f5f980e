"""Run a Graph with the operators' numpy references."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.bind import bind, bind_node, placeholders
from webkiln.ir.graph import Graph
from webkiln.ir.solve import solve
from webkiln.ir.types import Array
from webkiln.ops.budget import hold, running
from webkiln.ops.table import evaluate


def constant_values(graph: Graph, weights: Mapping[str, Array]) -> dict[str, Array]:
    """The value of every slot (as `weights` gives it), constant and output of the fixed part."""
    values = {name: weights[name] for name in sorted(graph.slots)}
    for name in graph.constants:
        value = graph.constant(name)
        assert value is not None
        values[name] = value
    for node in graph.constant_subgraph():
        results = evaluate(node, [values[name] for name in node.inputs])
        hold(sum(result.nbytes for result in results))
        values |= zip(node.outputs, results, strict=True)
    return values


class ConstantValues:
    """The values that are `asked` for, once each, of slots (as `slot` gives them), constants and
    the fixed part: computed then, and kept as long as others need them.
    """

    def __init__(self, graph: Graph, slot: Callable[[str], Array], asked: Iterable[str]) -> None:
        self._graph, self._slot = graph, slot
        self._nodes = graph.constant_subgraph()
        self._maker = {
            output: place for place, node in enumerate(self._nodes) for output in node.outputs
        }
        self._kept: dict[str, Array] = {}
        self._uses = Counter(asked)
        for node in reversed(self._nodes):
            if any(self._uses[output] for output in node.outputs):
                self._uses.update(node.inputs)

    def __call__(self, name: str) -> Array:
        for place in sorted(self._missing(name)):
            node = self._nodes[place]
            results = evaluate(node, [self._take(operand) for operand in node.inputs])
            kept = {
                output: result
                for output, result in zip(node.outputs, results, strict=True)
                if self._uses[output]
            }
            hold(sum(result.nbytes for result in kept.values()))
            self._kept |= kept
        return self._take(name)

    def _missing(self, name: str) -> set[int]:
        """The places of the nodes that have to be evaluated for a value."""
        places: set[int] = set()
        waiting = [name]
        while waiting:
            item = waiting.pop()
            place = self._maker.get(item)
            if place is not None and place not in places and item not in self._kept:
                places.add(place)
                waiting += self._nodes[place].inputs
        return places

    def _take(self, name: str) -> Array:
        self._uses[name] -= 1
        if name in self._maker and self._uses[name]:
            return self._kept[name]
        if name in self._maker:
            last = self._kept.pop(name)
            hold(-last.nbytes)
            return last
        constant = self._graph.constant(name)
        return self._slot(name) if constant is None else constant


@running()
def run_graph(
    graph: Graph,
    inputs: Mapping[str, Array],
    weights: Mapping[str, Array] | None = None,
    states: Mapping[str, Array] | None = None,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The outputs by the user's names, and the value of every Variable.

    `weights` gives the slots (without it: the graph's own); `states` the values of states by name
    (without it: the initial ones). The next value of a state is the Variable `state.output`.
    ShapeError names an input that is missing or has another type.
    """
    graph = bind(graph, placeholders(graph, {name: array.shape for name, array in inputs.items()}))
    values = constant_values(graph, graph.weights if weights is None else weights)
    for name in graph.inputs:
        if name not in inputs:
            raise ShapeError(
                f"graph {graph.name}: input {name} is missing; inputs are {', '.join(graph.inputs)}"
            )
        expected = graph.type(name)
        if (str(inputs[name].dtype), inputs[name].shape) != (expected.dtype, expected.shape):
            raise ShapeError(
                f"graph {graph.name}: input {name} is"
                f" {inputs[name].dtype}{list(inputs[name].shape)}, expected {expected}"
            )
        values[name] = inputs[name]
    for state in graph.states:
        values[state.input] = (states or {}).get(state.name, values[state.initial])
    data_dependent: dict[str, int] = {}
    for node in graph.nodes:
        if node.name not in values:
            results = evaluate(
                bind_node(node, data_dependent), [values[name] for name in node.inputs]
            )
            hold(sum(result.nbytes for result in results))
            values |= zip(node.outputs, results, strict=True)
            for name, result in zip(node.outputs, results, strict=True):
                solve(graph.type(name).shape, result.shape, data_dependent)
    return {name: values[variable] for name, variable in graph.outputs.items()}, values


def next_states(graph: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    """The states after the run that gave `values`."""
    return {state.name: np.copy(values[state.output]) for state in graph.states}
