"""Find the caches of keys and values among the states of a graph.

A cache is a float32 state of which each run only replaces rows, at indices along an axis, and that
only products read. A row is a vector along the last axis, such as the key of one head at one
position. Other states, such as those of recurrent layers, are no caches.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import Graph, Node, State
from webkiln.lower.cache_moves import MOVES, moved_row
from webkiln.lower.cache_products import scaled_product


@dataclass(frozen=True, slots=True)
class Caches:
    """`rows`: the row axis of each Variable that has rows of caches; `others`: why the other states
    are no caches, by name.
    """

    rows: Mapping[str, int]
    others: Mapping[str, str]

    def states(self, graph: Graph) -> tuple[State, ...]:
        """The states that are caches."""
        return tuple(state for state in graph.states if state.name not in self.others)


def find_caches(graph: Graph) -> Caches:
    """The caches of a graph."""
    others: dict[str, str] = {}
    while True:
        states = [state for state in graph.states if state.name not in others]
        walk = _Walk(graph)
        found = walk.obstacles(states)
        if not found:
            return Caches(walk.rows, others)
        others |= found


@dataclass(slots=True)
class _Walk:
    """Follows the rows of states through a graph. `owners`: the states whose rows they are."""

    graph: Graph
    rows: dict[str, int] = field(default_factory=dict)
    owners: dict[str, frozenset[str]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)

    def obstacles(self, states: list[State]) -> dict[str, str]:
        """Why states are no caches, by name."""
        found: dict[str, str] = {}
        for state in states:
            type_ = self.graph.type(state.input)
            if type_.dtype != "float32" or type_.rank < 2 or not _is_row(type_.shape[-1]):
                found[state.name] = f"it is {type_}"
                continue
            self.rows[state.input] = type_.rank - 1
            self.owners[state.input] = frozenset([state.name])
        for node in self.graph.nodes:
            if any(name in self.rows for name in node.inputs):
                found = self._visit(node) | found
        for name in self.graph.outputs.values():
            found = dict.fromkeys(self.owners.get(name, ()), "it is an output") | found
        for state in states:
            if (reason := self._unfinished(state)) is not None:
                found.setdefault(state.name, reason)
        return found

    def _visit(self, node: Node) -> dict[str, str]:
        cached = [n for n, name in enumerate(node.inputs) if name in self.rows]
        owners = frozenset().union(*(self.owners[node.inputs[n]] for n in cached))
        if len(cached) == 1 and scaled_product(
            self.graph, node, cached[0], self.rows[node.inputs[cached[0]]]
        ):
            self.read |= owners
            return {}
        row = moved_row(self.graph, node, self.rows)
        if row is None:
            return dict.fromkeys(owners, f"{node.layer or node.name} ({node.op}) reads it")
        self.rows[node.name], self.owners[node.name] = row, owners
        operands = [node.inputs[n] for n in MOVES[node.op].operands(node)]
        if any(name not in self.rows for name in operands):
            self.written |= owners
        return {}

    def _unfinished(self, state: State) -> str | None:
        last = self.graph.type(state.input).rank - 1
        if self.rows.get(state.output) != last or state.name not in self.owners[state.output]:
            return "a run computes all of it"
        if state.name not in self.written:
            return "no run writes it"
        return None if state.name in self.read else "no product reads it"


def _is_row(size: object) -> bool:
    return not is_symbolic(size) and isinstance(size, int) and size > 1
