"""Run a Graph with the operators' numpy references."""

from collections.abc import Mapping

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.bind import bind, bind_node, placeholders
from webkiln.ir.graph import Graph
from webkiln.ir.solve import solve
from webkiln.ir.types import Array
from webkiln.ops.table import evaluate


def fixed_values(graph: Graph, weights: Mapping[str, Array]) -> dict[str, Array]:
    """The value of every slot (as `weights` gives it), constant and output of the fixed part."""
    values = {name: weights[name] for name in sorted(graph.slots)}
    for name in graph.constants:
        value = graph.constant(name)
        assert value is not None
        values[name] = value
    for node in graph.fixed_part():
        values |= zip(node.outputs, evaluate(node, [values[name] for name in node.inputs]), strict=True)
    return values


def run_graph(
    graph: Graph, inputs: Mapping[str, Array], weights: Mapping[str, Array] | None = None, states: Mapping[str, Array] | None = None
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """The outputs by the user's names, and the value of every Variable.

    `weights` gives the slots (without it: the graph's own); `states` the values of states by name (without it: the initial ones).
    The next value of a state is the Variable `state.output`. ShapeError names an input that is missing or has another type.
    """
    graph = bind(graph, placeholders(graph, {name: array.shape for name, array in inputs.items()}))
    values = fixed_values(graph, graph.weights if weights is None else weights)
    for name in graph.inputs:
        if name not in inputs:
            raise ShapeError(f"graph {graph.name}: input {name} is missing; inputs are {', '.join(graph.inputs)}")
        expected = graph.type(name)
        if (str(inputs[name].dtype), inputs[name].shape) != (expected.dtype, expected.shape):
            raise ShapeError(f"graph {graph.name}: input {name} is {inputs[name].dtype}{list(inputs[name].shape)}, expected {expected}")
        values[name] = inputs[name]
    for state in graph.states:
        values[state.input] = (states or {}).get(state.name, values[state.initial])
    late: dict[str, int] = {}
    for node in graph.nodes:
        if node.name not in values:
            results = evaluate(bind_node(node, late), [values[name] for name in node.inputs])
            values |= zip(node.outputs, results, strict=True)
            for name, result in zip(node.outputs, results, strict=True):
                solve(graph.type(name).shape, result.shape, late)
    return {name: values[variable] for name, variable in graph.outputs.items()}, values


def next_states(graph: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    """The states after the run that gave `values`."""
    return {state.name: np.copy(values[state.output]) for state in graph.states}
