"""Pattern rewriting of Graphs: replace nodes, redirect reads, remove unused nodes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from webkiln.ir import dim, symbols
from webkiln.ir.graph import Constant, Graph, Node, Variable, is_constant
from webkiln.ir.types import Array, Type


@dataclass(slots=True)
class Edit:
    """The result of a match: the nodes that replace the matched node, the Variables and constants
    that they introduce, and the Variables whose reads are redirected.
    """

    nodes: Sequence[Node] = ()
    variables: Sequence[Variable] = ()
    redirect: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Constant] = field(default_factory=dict)


Rule = Callable[["GraphView", Node], Edit | None]


class GraphView:
    """Queries for rules (producers, types, constants) on the graph with all previous edits applied.

    `constant_names` holds the slots, the constants and the outputs of the constant subgraph;
    `running_reads` what other nodes read, or have read before an edit.
    """

    def __init__(self, graph: Graph) -> None:
        self.variables = dict(graph.variables)
        self.constants = dict(graph.constants)
        self.constant_names = set(graph.slots) | set(graph.constants)
        self._producers = graph.producers()
        self._uses = graph.uses()
        self._renames: dict[str, str] = {}
        for node in graph.constant_subgraph():
            self.constant_names.update(node.outputs)
        self.running_reads = {
            name
            for node in graph.nodes
            if not self.constant_names.issuperset(node.outputs)
            for name in node.inputs
        }

    def type(self, name: str) -> Type:
        return self.variables[name].type

    def producer(self, name: str, op: str, *, only_use: bool = True) -> Node | None:
        """The node that computes `name`, if its operator is `op` and, with `only_use`, nothing else
        reads `name`.
        """
        node = self._producers.get(name)
        if node is None or node.op != op or (only_use and self._uses[name] != 1):
            return None
        return self.current(node)

    def any_producer(self, name: str) -> Node | None:
        """The node that computes `name`."""
        node = self._producers.get(name)
        return None if node is None else self.current(node)

    def constant(self, name: str) -> Array | None:
        """The value of an inline constant, or None."""
        return self.constants[name].value(self.type(name)) if name in self.constants else None

    def scalar(self, name: str) -> float | None:
        """The value of an inline constant of one element, or None."""
        value = self.constant(name)
        return None if value is None or value.size != 1 else value.item()

    def current(self, node: Node) -> Node:
        """The node with previous redirections applied to its inputs."""
        if self._renames.keys().isdisjoint(node.inputs):
            return node
        return replace(node, inputs=tuple(map(self._target, node.inputs)))

    def _target(self, name: str) -> str:
        while name in self._renames:
            name = self._renames[name]
        return name

    def replace(self, node: Node, edit: Edit) -> None:
        """Record that `edit` replaces `node`."""
        for variable in edit.variables:
            self.variables[variable.name] = variable
            self._uses.setdefault(variable.name, 0)
        self.constants.update(edit.constants)
        self.constant_names.update(edit.constants)
        for name in node.inputs:
            self._uses[name] -= 1
        for name in node.outputs:
            del self._producers[name]
        for added in edit.nodes:
            for name in added.inputs:
                self._uses[name] += 1
            self._producers.update(dict.fromkeys(added.outputs, added))
            if is_constant(added, self.constant_names, self.variables):
                self.constant_names.update(added.outputs)
            else:
                self.running_reads.update(added.inputs)
        for old, name in edit.redirect.items():
            self._renames[old] = name
            target = self._target(name)
            self._uses[target] += self._uses.pop(old)

    def finish(self, graph: Graph, nodes: Sequence[Node]) -> Graph:
        changed = graph.edit(nodes=tuple(nodes), variables=self.variables, constants=self.constants)
        return remove_unused(redirect(changed, self._renames))


def apply(graph: Graph, rule: Rule) -> Graph:
    """Apply `rule` to the nodes in order, repeatedly until it matches no node.

    The rule sees all previous edits; the nodes of an edit are matched next.
    """
    view = GraphView(graph)
    nodes = list(graph.nodes)
    changed = True
    while changed:
        changed = False
        pending, nodes = nodes[::-1], []
        while pending:
            node = view.current(pending.pop())
            edit = rule(view, node)
            if edit is None:
                nodes.append(node)
                continue
            changed = True
            view.replace(node, edit)
            pending += reversed(edit.nodes)
    return view.finish(graph, nodes)


def redirect(graph: Graph, renames: Mapping[str, str]) -> Graph:
    """Replace reads of `v` by reads of `renames[v]`."""

    def target(name: str) -> str:
        while name in renames:
            name = renames[name]
        return name

    return graph.edit(
        nodes=tuple(replace(node, inputs=tuple(map(target, node.inputs))) for node in graph.nodes),
        outputs={output: target(name) for output, name in graph.outputs.items()},
        states=tuple(
            replace(state, initial=target(state.initial), output=target(state.output))
            for state in graph.states
        ),
    )


def remove_unused(graph: Graph) -> Graph:
    """Remove the nodes, slots, constants and Variables that no output and no state depends on.

    A node that defines a data-dependent size stays if a live shape or attribute mentions the size.
    Inputs always stay.
    """
    needed = (
        set(graph.outputs.values())
        | {state.output for state in graph.states}
        | {state.initial for state in graph.states}
    )
    definitions = {
        value: node.name
        for node in graph.nodes
        for value in node.attrs.as_dict().values()
        if isinstance(value, str) and symbols.DATA_DEPENDENT.match(value)
    }
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
            if definitions:
                symbols_ = _symbols(node, graph)
                needed.update(definitions[name] for name in symbols_ if name in definitions)
    nodes.reverse()
    live = (
        needed
        | set(graph.inputs)
        | {state.input for state in graph.states}
        | {o for node in nodes for o in node.outputs}
    )
    return graph.edit(
        nodes=tuple(nodes),
        slots=graph.slots & live,
        constants={name: value for name, value in graph.constants.items() if name in live},
        variables={name: variable for name, variable in graph.variables.items() if name in live},
    )


def _symbols(node: Node, graph: Graph) -> set[str]:
    """The symbols in the shapes and attributes of a node, nested graphs included."""

    def mentioned(value: Any) -> Iterable[dim.Size]:
        if isinstance(value, Graph):
            for variable in value.variables.values():
                yield from variable.shape
            for inner in value.nodes:
                yield from mentioned(tuple(inner.attrs.as_dict().values()))
        elif isinstance(value, tuple | list):
            for item in value:
                yield from mentioned(item)
        elif dim.is_symbolic(value):
            yield value

    return symbols.names(
        [
            *mentioned(tuple(node.attrs.as_dict().values())),
            *(size for name in node.outputs for size in graph.type(name).shape),
        ]
    )
