"""Substitution of the placeholders of a graph by concrete or symbolic sizes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webkiln.ir import dim, symbols
from webkiln.ir.dim import Size
from webkiln.ir.graph import Graph, Node
from webkiln.ir.solve import solve
from webkiln.ir.types import Array, Type


def bind(graph: Graph, values: Mapping[str, Size]) -> Graph:
    """Substitute `values` in the types of Variables, in attributes and in nested graphs."""
    if not values:
        return graph
    variables = {
        name: replace(
            variable,
            type=Type(
                variable.dtype, tuple(symbols.substitute(size, values) for size in variable.shape)
            ),
            sizes=tuple(symbols.substitute(size, values) for size in variable.sizes),
        )
        for name, variable in graph.variables.items()
    }
    return graph.edit(
        variables=variables, nodes=tuple(bind_node(node, values) for node in graph.nodes)
    )


def bind_node(node: Node, values: Mapping[str, Size]) -> Node:
    """Substitute `values` in the attributes of a node and in its nested graphs."""

    def attribute(value: Any) -> Any:
        if isinstance(value, Graph):
            return bind(value, values)
        if isinstance(value, tuple | list):
            return tuple(map(attribute, value))
        return symbols.substitute(value, values) if dim.is_symbolic(value) else value

    return replace(node, attrs=node.attrs.map(attribute)) if values else node


def placeholders(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, int]:
    """Infer the values of the placeholders from the shapes of inputs, and from inputs of sizes.

    Raises ShapeError if the shapes contradict each other.
    """
    values: dict[str, int] = {}
    for name in graph.inputs:
        if (
            name in inputs
            and inputs[name].ndim == graph.type(name).rank
            and any(map(dim.is_symbolic, graph.type(name).shape))
        ):
            solve(graph.type(name).shape, inputs[name].shape, values)
        if name in inputs and (sizes := graph.variables[name].sizes):
            solve(sizes, map(int, inputs[name].ravel()), values)
    return values
