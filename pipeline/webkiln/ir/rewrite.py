"""Edits of a Graph as values: replace nodes, redirect reads, drop what nothing uses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from webkiln.ir.graph import Constant, Graph, Node, Variable
from webkiln.ir.types import Type


@dataclass(slots=True)
class Edit:
    """What one rewrite asks for: nodes in the place of the matched one, new Variables, and reads redirected."""

    nodes: Sequence[Node] = ()
    variables: Sequence[Variable] = ()
    redirect: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Constant] = field(default_factory=dict)


Rule = Callable[["View", Node], Edit | None]


class View:
    """What a rule may ask about the graph that it matches in."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.producers = graph.producers()
        self.uses = graph.uses()
        self.fixed = set(graph.slots) | set(graph.constants)
        for node in graph.fixed_part():
            self.fixed.update(node.outputs)

    def type(self, name: str) -> Type:
        return self.graph.type(name)

    def producer(self, name: str, op: str, *, only_use: bool = True) -> Node | None:
        """The node that makes `name` if it is an `op` (and `name` has no other reader)."""
        node = self.producers.get(name)
        if node is None or node.op != op or (only_use and self.uses[name] != 1):
            return None
        return node

    def scalar(self, name: str) -> float | None:
        """The value of an inline constant of one element, or None."""
        value = self.graph.constant(name)
        return None if value is None or value.size != 1 else value.item()


def apply(graph: Graph, rule: Rule) -> Graph:
    """Apply `rule` to every node until it matches nowhere; each edit sees the graph left by the one before."""
    while True:
        view = View(graph)
        edits = ((index, rule(view, node)) for index, node in enumerate(graph.nodes))
        found = next(((index, edit) for index, edit in edits if edit is not None), None)
        if found is None:
            return remove_unused(graph)
        graph = _applied(graph, *found)


def _applied(graph: Graph, index: int, edit: Edit) -> Graph:
    changed = graph.edit(
        nodes=(*graph.nodes[:index], *edit.nodes, *graph.nodes[index + 1 :]),
        variables={**graph.variables, **{variable.name: variable for variable in edit.variables}},
        constants={**graph.constants, **edit.constants},
    )
    return redirect(changed, edit.redirect)


def redirect(graph: Graph, renames: Mapping[str, str]) -> Graph:
    """Read `renames[v]` wherever `v` is read."""

    def target(name: str) -> str:
        while name in renames:
            name = renames[name]
        return name

    return graph.edit(
        nodes=tuple(replace(node, inputs=tuple(map(target, node.inputs))) for node in graph.nodes),
        outputs={output: target(name) for output, name in graph.outputs.items()},
        states=tuple(replace(state, output=target(state.output)) for state in graph.states),
    )


def remove_unused(graph: Graph) -> Graph:
    """Drop nodes, slots, constants and Variables that no output and no state needs; inputs stay."""
    needed = set(graph.outputs.values()) | {state.output for state in graph.states} | {state.initial for state in graph.states}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
    nodes.reverse()
    live = needed | set(graph.inputs) | {state.input for state in graph.states} | {o for node in nodes for o in node.outputs}
    return graph.edit(
        nodes=tuple(nodes),
        slots=graph.slots & live,
        constants={name: value for name, value in graph.constants.items() if name in live},
        variables={name: variable for name, variable in graph.variables.items() if name in live},
    )
