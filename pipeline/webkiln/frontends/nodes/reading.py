"""Helpers for the readers of all node formats: unique names, stored arrays, nested graphs."""

from collections import Counter
from collections.abc import Iterator, Sequence

from webkiln.frontends.core.arrays import Blobs, Literal, Weight, add_blob
from webkiln.frontends.nodes.spec import GraphSpec, NodeSpec
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array


class DistinctNames:
    """Hands out unique names."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def distinct(self, stem: str) -> str:
        """The stem if it is unused, else the stem with the first number that makes it unique."""
        name = stem
        while self.counts[name]:
            self.counts[stem] += 1
            name = f"{stem}.{self.counts[stem]}"
        self.counts[name] = 1
        return name


class StoredWeights:
    """Collects the trained arrays of a model: blobs by digest, and a unique slot for each. `small`
    has the values of short arrays of floats by slot, which may turn out to be structure.
    """

    def __init__(self) -> None:
        self.blobs: Blobs = {}
        self.small: dict[str, Array] = {}
        self._slots = DistinctNames()

    def store(self, slot: str, array: Array) -> Weight:
        name = self._slots.distinct(slot)
        if array.dtype.kind == "f" and array.size <= INLINE_ELEMENTS:
            self.small[name] = array
        return Weight(name, add_blob(self.blobs, array), str(array.dtype), array.shape)

    def store_bytes(self, slot: str, stored: Array, dtype: str, shape: tuple[int, ...]) -> Weight:
        """Store the bytes of a weight of a dtype of `nodes/narrow.py`."""
        name = self._slots.distinct(slot)
        return Weight(name, add_blob(self.blobs, stored), dtype, shape)


def is_structural(array: Array) -> bool:
    """Whether a small constant is part of the structure, whichever node reads it: a scalar, a bool,
    or integers of at least 32 bits.
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
    """Yield a graph and all graphs nested in its nodes."""
    pending = [graph]
    while pending:
        current = pending.pop()
        yield current
        pending += [
            value
            for node in current.nodes
            for value in node.attrs.values()
            if isinstance(value, GraphSpec)
        ]


def nested_graphs(node: NodeSpec) -> Iterator[GraphSpec]:
    """Yield the graphs in a node's attributes, at all depths."""
    return (
        graph
        for value in node.attrs.values()
        if isinstance(value, GraphSpec)
        for graph in all_graphs(value)
    )


def tensors_read(nodes: Sequence[NodeSpec]) -> set[str]:
    """The tensors that nodes read, including those read by nested graphs."""
    read: set[str] = set()
    for node in nodes:
        read.update(node.inputs)
        for value in node.attrs.values():
            if isinstance(value, GraphSpec):
                read |= tensors_read(value.nodes) | {item.tensor for item in value.outputs}
    return read
