"""Which part of the constant subgraph is computed when a model is loaded.

Quantized weights stay as they are stored: where the operands of a constant have fewer bytes than
the constant, as codes and scales have, a bundle contains the operands.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from webkiln.ir.dim import known_shape
from webkiln.ir.graph import Graph, Node
from webkiln.ir.types import itemsize
from webkiln.ops.table import find

SAVED_BYTES = 4096
"""The least number of bytes that decoding a constant has to save."""
SAVED_PART = 4
"""A constant is decoded if that saves this part of its bytes."""
COMPUTED = ("float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32")
"""The dtypes with which all backends compute."""
MAX_OPERANDS = 4
"""The most operands of an operator that decodes: the numbers of 2 bits that a byte contains."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """How to compute a constant: the bytes of each constant to store, and the nodes to run."""

    stored: dict[str, int]
    nodes: frozenset[str] = frozenset()

    @property
    def bytes(self) -> int:
        return sum(self.stored.values())


def load_time_nodes(graph: Graph) -> tuple[Node, ...]:
    """The nodes of the constant subgraph that run when the model is loaded, in order. Stage `pack`
    evaluates the others.
    """
    fixed = graph.constant_subgraph()
    search = _Search(graph, {name: node for node in fixed for name in node.outputs})
    chosen: set[str] = set()
    for name in sorted(_read(graph, fixed) & search.producers.keys()):
        chosen |= search.worthwhile(name)
    return tuple(node for node in fixed if node.name in chosen)


def loaded_constants(graph: Graph) -> frozenset[str]:
    """The constants that programs may read: those that a bundle contains, and those that are
    computed when the model is loaded.
    """
    nodes = load_time_nodes(graph)
    names = {name for node in nodes for name in (*node.inputs, *node.outputs)}
    return _read(graph, graph.constant_subgraph()) | frozenset(names)


def nodes_after(graph: Graph, stored: Collection[str]) -> tuple[Node, ...]:
    """The nodes of the constant subgraph that compute what programs read of what is stored, in
    order.
    """
    fixed = graph.constant_subgraph()
    needed = set(_read(graph, fixed)) - set(stored)
    nodes = []
    for node in reversed(fixed):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(name for name in node.inputs if name not in stored)
    return tuple(reversed(nodes))


def _read(graph: Graph, fixed: Iterable[Node]) -> frozenset[str]:
    """What the nodes outside of the constant subgraph `fixed` read, and the initial values of
    states.
    """
    folded = {node.name for node in fixed}
    read = {name for node in graph.nodes if node.name not in folded for name in node.inputs}
    return frozenset(read | {state.initial for state in graph.states})


class _Search:
    """Finds the constants from which others are decoded."""

    def __init__(self, graph: Graph, producers: dict[str, Node]) -> None:
        self.graph, self.producers = graph, producers
        self.found: dict[str, Decoded] = {}
        self.deepest: dict[str, Decoded] = {}

    def worthwhile(self, name: str) -> frozenset[str]:
        """The nodes that compute a constant when the model is loaded, if that saves enough."""
        found, whole = self.decoded(name), self.bytes(name)
        saved = whole - found.bytes
        return found.nodes if saved >= max(SAVED_BYTES, whole // SAVED_PART) else frozenset()

    def decoded(self, name: str) -> Decoded:
        """The way to compute a constant with the fewest stored bytes."""
        for item in self._missing(name):
            self._find(item)
        return self.found[name]

    def _missing(self, name: str) -> Iterator[str]:
        """What has to be known before `name`, and `name` itself, operands first."""
        stack = [(name, False)]
        while stack:
            item, ready = stack.pop()
            if item in self.found:
                continue
            if ready:
                yield item
                continue
            stack.append((item, True))
            node = self.producers.get(item)
            if node is not None and self._is_decodable(node):
                stack += [(operand, False) for operand in node.inputs]

    def _find(self, name: str) -> None:
        """Of several ways with equally many bytes, `found` is the one with the fewest nodes, and
        `deepest` the one from the furthest operands: parts of packed codes have as many bytes as
        these, but all of the parts share them.
        """
        node, whole = self.producers.get(name), Decoded({name: self.bytes(name)})
        self.found[name] = self.deepest[name] = whole
        if node is None or not self._is_decodable(node):
            return
        near = self._joined(node, self.found)
        far = self._joined(node, self.deepest)
        self.found[name] = min(whole, near, far, key=lambda way: way.bytes)
        if far.bytes <= self.found[name].bytes:
            self.deepest[name] = far
        else:
            self.deepest[name] = self.found[name]

    def _joined(self, node: Node, ways: Mapping[str, Decoded]) -> Decoded:
        parts = [ways[operand] for operand in node.inputs]
        return Decoded(
            {key: value for part in parts for key, value in part.stored.items()},
            frozenset({node.name}).union(*(part.nodes for part in parts)),
        )

    def _is_decodable(self, node: Node) -> bool:
        traits = find(node.op).traits
        return (
            (traits.elementwise or traits.is_view or traits.decodes)
            and len(node.inputs) <= MAX_OPERANDS
            and all(self.graph.type(name).dtype in COMPUTED for name in node.outputs)
            and all(self.graph.type(name).dtype in COMPUTED for name in node.inputs)
        )

    def bytes(self, name: str) -> int:
        """The bytes of a constant in a bundle. Scalars are part of the code."""
        constant, type_ = self.graph.constants.get(name), self.graph.type(name)
        if constant is not None and constant.is_scalar:
            return 0
        return prod(known_shape(type_.shape, name)) * itemsize(type_.dtype)
