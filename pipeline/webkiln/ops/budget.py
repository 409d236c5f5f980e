"""Limits on unrolling loops and evaluating constants. Without them, a model file of a few bytes
could cause any number of nodes and any amount of work.

Work is measured in elements that numpy references read or write, at most about 30 ns each (see
`Operator.work`). Memory is measured in bytes of float64, the type that references compute in. Both
limits are fixed, plus a share of the size of the stored weights, so that only larger files may cost
more.
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
"""The fixed work of a call of a reference: about 100 microseconds."""
CALLS_PER_NODE = 4
"""Calls per node of the file: the conversion evaluates nodes with constant operands."""
ELEMENT_BYTES = 8
"""The bytes of an element while a reference computes."""
NODES = 1 << 15
NODES_PER_NODE = 4
"""Nodes of the graph per node of the file: usually one or two, more for unrolled loops."""
ADVICE = "export the model without it, or with its value stored as a weight"


class Budget:
    """The budget of one model, by the size of its stored weights and the number of its nodes."""

    def __init__(self, stored_bytes: int = 0, spec_nodes: int | None = None) -> None:
        self.work = WORK + WORK_PER_BYTE * stored_bytes + CALLS_PER_NODE * CALL * (spec_nodes or 0)
        self.memory = MEMORY_BYTES + MEMORY_PER_BYTE * stored_bytes
        self.nodes = None if spec_nodes is None else NODES + NODES_PER_NODE * spec_nodes
        self._work_left, self._nodes_left = self.work, self.nodes
        self._held = 0
        self._outermost: Node | None = None

    @contextmanager
    def evaluating(self, node: Node | None) -> Iterator[None]:
        """Track the evaluation of a node. Errors name the outermost node, since that is the
        constant; memory that is held in the block is released at its end.
        """
        outermost, held = self._outermost, self._held
        self._outermost = outermost or node
        try:
            yield
        finally:
            self._outermost, self._held = outermost, held

    def build(self, layer: str, op: str, nodes: int) -> None:
        """Count nodes of a graph under construction. Raises SourceError if there are too many."""
        if self._nodes_left is None:
            return
        self._nodes_left -= nodes
        if self._nodes_left < 0:
            raise SourceError(
                f"{layer or op} ({op}): the model has more than {self.nodes:,} nodes once its loops"
                " are unrolled and its functions inlined; export it with fewer iterations"
            )

    def spend(self, work: int) -> None:
        """Count work. Raises SourceError if it exceeds the budget."""
        self._work_left -= CALL + work
        if self._work_left < 0:
            raise self._exceeded(f"{self.work:,} operations")

    def need(self, count: int) -> None:
        """Raise SourceError if `count` elements exceed the available memory."""
        if self._held + ELEMENT_BYTES * count > self.memory:
            raise self._exceeded(f"{self.memory:,} bytes of memory")

    def hold(self, nbytes: int) -> None:
        """Count a retained array; a negative number releases it. Raises SourceError if the memory
        is exceeded.
        """
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
def charge_evaluation(node: Node, cost: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """Charge the evaluation of a node in the block to the current budget. `cost` returns the work
    and the number of elements in memory. Raises SourceError if the budget is exceeded.
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
    """Set a budget for the evaluations in the block and, with `spec_nodes`, for the graphs built in
    it. An outer budget takes precedence.
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
def charge_run() -> Iterator[None]:
    """Charge one run of a graph, and release the memory that it holds at the end."""
    budget = _CURRENT.get()
    if budget is None:
        yield
        return
    budget.spend(0)
    with budget.evaluating(None):
        yield


def hold(nbytes: int) -> None:
    """Count an array that stays in memory until the evaluation of the current node or graph ends. A
    negative number releases it. Raises SourceError if the memory is exceeded.
    """
    budget = _CURRENT.get()
    if budget is not None:
        budget.hold(nbytes)


def count_nodes(layer: str, op: str, nodes: int = 1) -> None:
    """Count nodes of a graph under construction. Raises SourceError if there are too many."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.build(layer, op, nodes)


def elements(types: Sequence[Type]) -> int:
    """The total number of elements of arrays of these types. Symbolic sizes count as 1."""
    return sum(prod(size for size in type_.shape if not is_symbolic(size)) for type_ in types)
