"""Evaluation of Graphs with the numpy references of operators."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.bind import bind, bind_node, placeholders
from webkiln.ir.graph import Graph
from webkiln.ir.solve import solve
from webkiln.ir.types import Array
from webkiln.ops.budget import charge_run, hold
from webkiln.ops.table import evaluate


def constant_values(graph: Graph, weights: Mapping[str, Array]) -> dict[str, Array]:
    """The values of all slots (from `weights`), constants and outputs of the constant subgraph."""
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
    """The values of `requested` slots, constants and outputs of the constant subgraph, each of
    which is requested once. They are computed on demand, and retained while others depend on them.
    `load_slot` returns the value of a slot.
    """

    def __init__(
        self, graph: Graph, load_slot: Callable[[str], Array], requested: Iterable[str]
    ) -> None:
        self._graph, self._load_slot = graph, load_slot
        self._nodes = graph.constant_subgraph()
        self._producer = {
            output: index for index, node in enumerate(self._nodes) for output in node.outputs
        }
        self._retained: dict[str, Array] = {}
        self._uses = Counter(requested)
        for node in reversed(self._nodes):
            if any(self._uses[output] for output in node.outputs):
                self._uses.update(node.inputs)

    def __call__(self, name: str) -> Array:
        for index in sorted(self._pending(name)):
            node = self._nodes[index]
            results = evaluate(node, [self._consume(operand) for operand in node.inputs])
            used = {
                output: result
                for output, result in zip(node.outputs, results, strict=True)
                if self._uses[output]
            }
            hold(sum(result.nbytes for result in used.values()))
            self._retained |= used
        return self._consume(name)

    def _pending(self, name: str) -> set[int]:
        """The indices of the nodes that have to be evaluated for a value."""
        indices: set[int] = set()
        stack = [name]
        while stack:
            item = stack.pop()
            index = self._producer.get(item)
            if index is not None and index not in indices and item not in self._retained:
                indices.add(index)
                stack += self._nodes[index].inputs
        return indices

    def _consume(self, name: str) -> Array:
        """Read a value, and release it after its last use."""
        self._uses[name] -= 1
        if name in self._producer and self._uses[name]:
            return self._retained[name]
        if name in self._producer:
            value = self._retained.pop(name)
            hold(-value.nbytes)
            return value
        constant = self._graph.constant(name)
        return self._load_slot(name) if constant is None else constant


@charge_run()
def run_graph(
    graph: Graph,
    inputs: Mapping[str, Array],
    weights: Mapping[str, Array] | None = None,
    states: Mapping[str, Array] | None = None,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Evaluate a graph. Returns the outputs by their public names, and the values of all Variables.

    `weights` are the values of slots (default: `graph.weights`), `states` the values of states by
    name (default: their initial values). Raises ShapeError if an input is missing or has another
    type.
    """
    graph = bind(graph, placeholders(graph, inputs))
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
    """The values of states for the next run, from the `values` that `run_graph` returned."""
    return {state.name: np.copy(values[state.output]) for state in graph.states}
