"""Finds the floating-point constants of a model that determine sizes.

Small arrays of floats are trained weights, unless only sizes depend on them: the factors of a
Resize, for example, which exporters also compute by Concat, Div or Mul. Such constants are part of
the structure, and become literals.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.nodes.reading import StoredWeights, all_graphs, literal
from webkiln.frontends.nodes.spec import GraphSpec, NodeSpec
from webkiln.ir.types import Array


@dataclass(frozen=True, slots=True)
class SizeOperators:
    """The operators of a format that read or yield sizes.

    `of_types` return sizes of their operands. `readers` are (operator, operand) pairs of operands
    that must be known when a model is converted. `is_integer_cast` tells whether a node converts
    numbers to integers.
    """

    of_types: Collection[str]
    readers: Collection[tuple[str, int]]
    is_integer_cast: Callable[[NodeSpec], bool]


def with_size_constants(
    graph: GraphSpec, weights: StoredWeights, operators: SizeOperators
) -> GraphSpec:
    """The graph with literals for the constants that determine sizes. Their blobs are removed from
    `weights`.
    """
    nodes = list(_all_nodes(graph))
    known = set(_constants(graph))
    for node in nodes:
        if node.op in operators.of_types or (
            not any(isinstance(value, GraphSpec) for value in node.attrs.values())
            and any(node.inputs)
            and all(name in known for name in node.inputs if name)
        ):
            known.update(node.outputs)
    needed: set[str] = set()
    for node in reversed(nodes):
        needed.update(
            name
            for position, name in enumerate(node.inputs)
            if (node.op, position) in operators.readers and name in known
        )
        if node.op in operators.of_types or not known.issuperset(node.outputs):
            continue
        if needed.intersection(node.outputs) or operators.is_integer_cast(node):
            needed.update(node.inputs)
    result = _inlined(graph, weights.small, needed)
    read = {item.digest for item in _constants(result).values() if isinstance(item, Weight)}
    for digest in weights.blobs.keys() - read:
        del weights.blobs[digest]
    return result


def _all_nodes(graph: GraphSpec) -> Iterator[NodeSpec]:
    """The nodes of a graph and of its nested graphs, in the order of their execution."""
    for node in graph.nodes:
        for value in node.attrs.values():
            if isinstance(value, GraphSpec):
                yield from _all_nodes(value)
        yield node


def _constants(graph: GraphSpec) -> dict[str, Weight | Literal]:
    return {name: item for part in all_graphs(graph) for name, item in part.tensors.items()}


def _inlined(graph: GraphSpec, arrays: Mapping[str, Array], needed: Collection[str]) -> GraphSpec:
    def attribute(value: Any) -> Any:
        return _inlined(value, arrays, needed) if isinstance(value, GraphSpec) else value

    return replace(
        graph,
        tensors={
            name: literal(arrays[tensor.slot])
            if name in needed and isinstance(tensor, Weight) and tensor.slot in arrays
            else tensor
            for name, tensor in graph.tensors.items()
        },
        nodes=tuple(
            replace(node, attrs={key: attribute(value) for key, value in node.attrs.items()})
            for node in graph.nodes
        ),
    )
