"""What readers of all formats of nodes do with names and arrays."""

from collections import Counter
from collections.abc import Iterator, Sequence

from webkiln.frontends.core.arrays import Blobs, Literal, Weight, add_blob
from webkiln.frontends.nodes.spec import GraphSpec, NodeSpec
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array


class DistinctNames:
    """Names that were given."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def distinct(self, stem: str) -> str:
        """The stem where it is free, else with the first number that makes it a new name."""
        name = stem
        while self.counts[name]:
            self.counts[stem] += 1
            name = f"{stem}.{self.counts[stem]}"
        self.counts[name] = 1
        return name


class StoredWeights:
    """Trained arrays as a reader meets them: blobs by digest, and a slot of its own for each."""

    def __init__(self) -> None:
        self.blobs: Blobs = {}
        self._slots = DistinctNames()

    def store(self, slot: str, array: Array) -> Weight:
        return Weight(
            self._slots.distinct(slot), add_blob(self.blobs, array), str(array.dtype), array.shape
        )


def is_structural(array: Array) -> bool:
    """Whether a constant is part of the structure, whoever reads it: a small one that is a single
    number, a truth value, or integers of 32 bits and more.
    """
    if array.size > INLINE_ELEMENTS:
        return False
    return (
        array.ndim == 0
        or array.size == 0
        or array.dtype.kind == "b"
        or (array.dtype.kind in "iu" and array.dtype.itemsize >= 4)
    )


def literal(array: Array) -> Literal:
    return Literal(str(array.dtype), array.shape, tuple(array.ravel().tolist()))


def all_graphs(graph: GraphSpec) -> Iterator[GraphSpec]:
    """A graph, and those inside its nodes."""
    todo = [graph]
    while todo:
        one = todo.pop()
        yield one
        todo += [
            value
            for node in one.nodes
            for value in node.attrs.values()
            if isinstance(value, GraphSpec)
        ]


def graphs_of(node: NodeSpec) -> Iterator[GraphSpec]:
    """The graphs inside a node."""
    return (
        graph
        for value in node.attrs.values()
        if isinstance(value, GraphSpec)
        for graph in all_graphs(value)
    )


def read_by(nodes: Sequence[NodeSpec]) -> set[str]:
    """The tensors that nodes read, those in graphs inside them too."""
    read: set[str] = set()
    for node in nodes:
        read.update(node.inputs)
        for value in node.attrs.values():
            if isinstance(value, GraphSpec):
                read |= read_by(value.nodes) | {item.tensor for item in value.outputs}
    return read
