"""Limits on unrolling loops and evaluating constants: a model file of a few bytes can ask for any
number of nodes and any amount of work.

Work is counted in elements that a numpy reference reads or writes, each of which takes at most
about 30 ns; see `Operator.work`. Memory is counted in bytes of float64, in which references
compute. Both limits are fixed, but for a share of the weights that the model really stores, so that
only a larger file may cost more.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod

from webkiln.errors import SourceError
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import Node
from webkiln.ir.types import Type

WORK = 1 << 27
WORK_PER_BYTE = 128
MEMORY_BYTES = 1 << 29
MEMORY_PER_BYTE = 32
CALL = 4096
"""The work of calling one reference, whatever its operands: about 100 microseconds."""
CALLS_PER_NODE = 4
"""A node of a file whose operands are known is evaluated while the model is converted."""
WIDE = 8
"""Bytes of an element while a reference computes."""
NODES = 1 << 15
NODES_PER_NODE = 4
"""A node of a file becomes one or two of the graph; loops are unrolled, recurrences written out."""
ADVICE = "export the model without it, or with its value stored as a weight"


class Budget:
    """What is left for one model, whose files have so many bytes and describe so many nodes."""

    def __init__(self, stored_bytes: int = 0, spec_nodes: int | None = None) -> None:
        self.work = WORK + WORK_PER_BYTE * stored_bytes + CALLS_PER_NODE * CALL * (spec_nodes or 0)
        self.memory = MEMORY_BYTES + MEMORY_PER_BYTE * stored_bytes
        self.nodes = None if spec_nodes is None else NODES + NODES_PER_NODE * spec_nodes
        self._work_left, self._nodes_left = self.work, self.nodes
        self._held = 0
        self._outermost: Node | None = None

    @contextmanager
    def evaluating(self, node: Node | None) -> Iterator[None]:
        """Errors name the outermost node that is evaluated, since that is the constant."""
        outermost, held = self._outermost, self._held
        self._outermost = outermost or node
        try:
            yield
        finally:
            self._outermost, self._held = outermost, held

    def build(self, layer: str, op: str, nodes: int) -> None:
        """Count nodes of a graph under construction. Raises SourceError where there are too many."""
        if self._nodes_left is None:
            return
        self._nodes_left -= nodes
        if self._nodes_left < 0:
            raise SourceError(
                f"{layer or op} ({op}): the model becomes more than {self.nodes:,} nodes once its"
                " loops are unrolled and its functions inlined; export it with fewer iterations"
            )

    def spend(self, work: int) -> None:
        """Raises SourceError where less work is left."""
        self._work_left -= CALL + work
        if self._work_left < 0:
            raise self._exceeded(f"{self.work:,} operations")

    def need(self, count: int) -> None:
        """Raises SourceError where so many elements do not fit into what is left of the memory."""
        if self._held + WIDE * count > self.memory:
            raise self._exceeded(f"{self.memory:,} bytes of memory")

    def hold(self, nbytes: int) -> None:
        """Count an array that is kept; a negative number releases it. Raises SourceError."""
        self._held += nbytes
        if self._held > self.memory:
            raise self._exceeded(f"{self.memory:,} bytes of memory")

    def _exceeded(self, limit: str) -> SourceError:
        node = self._outermost
        where = "the model" if node is None else f"{node.layer or node.name} ({node.op})"
        return SourceError(
            f"{where}: evaluating the constants of this model takes more than {limit}; {ADVICE}"
        )


_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def charged(node: Node, cost: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """Evaluate a node whose reference does some work on a number of elements that it keeps in
    memory;
    SourceError where that is too much.
    """
    budget = _CURRENT.get()
    if budget is None:
        yield
        return
    with budget.evaluating(node):
        work, count = cost()
        budget.spend(work)
        budget.need(count)
        yield


@contextmanager
def limited(stored_bytes: int = 0, spec_nodes: int | None = None) -> Iterator[None]:
    """Evaluate, and where `spec_nodes` is given build a graph, under a budget of its own, unless
    there
    is one already.
    """
    if _CURRENT.get() is not None:
        yield
        return
    token = _CURRENT.set(Budget(stored_bytes, spec_nodes))
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def running() -> Iterator[None]:
    """Count one run of a graph, and release at its end what was held."""
    budget = _CURRENT.get()
    if budget is None:
        yield
        return
    budget.spend(0)
    with budget.evaluating(None):
        yield


def hold(nbytes: int) -> None:
    """Count an array that stays in memory, until the node or graph that is evaluated ends; a
    negative
    number releases one. SourceError where that is too much.
    """
    budget = _CURRENT.get()
    if budget is not None:
        budget.hold(nbytes)


def count_nodes(layer: str, op: str, nodes: int = 1) -> None:
    """Count nodes of a graph under construction; SourceError where there are too many."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.build(layer, op, nodes)


def elements(types: Sequence[Type]) -> int:
    """How many elements arrays of these types have; a size that the run finds out counts as 1."""
    return sum(prod(size for size in type_.shape if not is_symbolic(size)) for type_ in types)
