"""Finds what determines sizes in a model: constants in floating point, and inputs.

Small arrays of floats are trained weights, unless only sizes depend on them: the factors of a
Resize, for example, which exporters also compute by Concat, Div or Mul. Such constants are part of
the structure, and become literals. The elements of an input from which sizes are computed become
placeholders.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.nodes.reading import StoredWeights, all_graphs, literal
from webkiln.frontends.nodes.spec import GraphSpec, NodeSpec
from webkiln.ir.types import Array, is_integer

MAX_SIZES = 16
"""The number of elements of an input up to which they may be sizes."""
FACTORS = frozenset({"Mul", "Div", "RealDiv", "DivNoNan", "Reciprocal", "Inv", "Pow", "Exp"})
"""Operators whose operands in floating point are factors of sizes, and need not be integers."""


@dataclass(frozen=True, slots=True)
class SizeOperators:
    """The operators of a format that read or yield sizes.

    `of_types` return sizes of their operands. `readers` are (operator, operand) pairs of operands
    that must be known when a model is converted, and `sizes` of those that are sizes.
    `is_integer_cast` tells whether a node converts numbers to integers.
    """

    of_types: Collection[str]
    readers: Collection[tuple[str, int]]
    sizes: Collection[tuple[str, int]]
    is_integer_cast: Callable[[NodeSpec], bool]


def with_size_constants(
    graph: GraphSpec, weights: StoredWeights, operators: SizeOperators
) -> tuple[GraphSpec, tuple[str, ...]]:
    """The graph with literals for the constants that determine sizes, and the names of the short
    inputs from whose elements, and from constants, sizes are computed. The blobs of the literals
    are removed from `weights`.
    """
    nodes, constants, short = list(_all_nodes(graph)), _constants(graph), _short_inputs(graph)
    known = _computed(nodes, operators, constants)
    casts = [name for node in nodes if operators.is_integer_cast(node) for name in node.inputs]
    needed = _sources(nodes, operators, known, operators.readers, casts)
    with_inputs = _computed(nodes, operators, {*constants, *short})
    readers = {*operators.readers, *operators.sizes}
    needed |= _sources(nodes, operators, with_inputs, readers, ())
    result = _inlined(graph, weights.small, needed)
    read = {item.digest for item in _constants(result).values() if isinstance(item, Weight)}
    for digest in weights.blobs.keys() - read:
        del weights.blobs[digest]
    of_sizes = _sources(nodes, operators, with_inputs, operators.sizes, ())
    return result, tuple(_size_inputs(graph, nodes, operators, of_sizes))


def _size_inputs(
    graph: GraphSpec, nodes: Sequence[NodeSpec], operators: SizeOperators, needed: set[str]
) -> Iterator[str]:
    """The short inputs among the tensors `needed`. Numbers in floating point must be sizes
    themselves: factors of sizes are rarely integers.
    """
    integers = {item.tensor for item in graph.inputs if is_integer(item.dtype)}
    for tensor, name in _short_inputs(graph).items():
        if tensor in needed and (
            tensor in integers or not _is_factor(tensor, nodes, operators, needed)
        ):
            yield name


def _short_inputs(graph: GraphSpec) -> dict[str, str]:
    """Tensor -> name of the inputs whose elements may be sizes, or factors of sizes."""
    return {
        item.tensor: item.name
        for item in graph.inputs
        if item.shape is not None
        and len(item.shape) <= 1
        and all(isinstance(size, int) and size <= MAX_SIZES for size in item.shape)
        and item.dtype != "bool"
    }


def _is_factor(
    tensor: str, nodes: Sequence[NodeSpec], operators: SizeOperators, needed: set[str]
) -> bool:
    """Whether elements of a tensor become integers only as products with other numbers."""
    reached = {tensor}
    for node in nodes:
        if not reached.intersection(node.inputs) or node.op in FACTORS:
            continue
        if needed.intersection(node.outputs):
            if operators.is_integer_cast(node):
                return False
            reached.update(node.outputs)
    return True


def _computed(
    nodes: Sequence[NodeSpec], operators: SizeOperators, known: Iterable[str]
) -> set[str]:
    """The tensors that are computed from known ones and from the types of others."""
    result = set(known)
    for node in nodes:
        if node.op in operators.of_types or (
            not any(isinstance(value, GraphSpec) for value in node.attrs.values())
            and any(node.inputs)
            and all(name in result for name in node.inputs if name)
        ):
            result.update(node.outputs)
    return result


def _sources(
    nodes: Sequence[NodeSpec],
    operators: SizeOperators,
    known: Collection[str],
    readers: Collection[tuple[str, int]],
    needed: Iterable[str],
) -> set[str]:
    """The known tensors that operands in `readers`, and the tensors `needed`, are computed from."""
    result = set(known).intersection(needed)
    for node in reversed(nodes):
        result.update(
            name
            for position, name in enumerate(node.inputs)
            if (node.op, position) in readers and name in known
        )
        if node.op not in operators.of_types and result.intersection(node.outputs):
            result.update(name for name in node.inputs if name in known)
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
