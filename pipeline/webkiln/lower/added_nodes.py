"""A graph under construction: the nodes of another one, and new ones between them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from webkiln.ir.attributes import Attributes
from webkiln.ir.graph import NO_ATTRIBUTES, Constant, Graph, Node, State, Variable
from webkiln.ir.types import Type
from webkiln.ops.builder import Scalar
from webkiln.ops.table import infer


class AddedNodes:
    """Collects nodes in order. Names of new Variables are made unique."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes: list[Node] = []
        self._variables = dict(graph.variables)
        self._constants = dict(graph.constants)
        self._scalars: dict[tuple[str, Scalar], str] = {}

    def type(self, name: str) -> Type:
        return self._variables[name].type

    def keep(self, node: Node) -> None:
        """Append a node that computes Variables of the graph."""
        self._nodes.append(node)

    def declare(self, name: str, type_: Type) -> str:
        """A new Variable."""
        number, unique = 2, name
        while unique in self._variables:
            number, unique = number + 1, f"{name}.{number}"
        self._variables[unique] = Variable(unique, type_)
        return unique

    def add(
        self,
        name: str,
        op: str,
        inputs: Sequence[str],
        attrs: Attributes = NO_ATTRIBUTES,
        layer: str = "",
    ) -> str:
        """The output of a new node."""
        (output,) = self.add_all((name,), op, inputs, attrs, layer)
        return output

    def add_all(
        self, names: Sequence[str], op: str, inputs: Sequence[str], attrs: Attributes, layer: str
    ) -> tuple[str, ...]:
        """The outputs of a new node."""
        node = Node(op, tuple(inputs), tuple(names), attrs, layer)
        outputs = tuple(map(self.declare, names, infer(node, list(map(self.type, inputs)))))
        self._nodes.append(replace(node, outputs=outputs))
        return outputs

    def scalar(self, value: Scalar, dtype: str) -> str:
        """A constant."""
        key = (dtype, value)
        if key not in self._scalars:
            self._scalars[key] = self.declare(f"{dtype}/{value}", Type(dtype, ()))
            self._constants[self._scalars[key]] = Constant((value,))
        return self._scalars[key]

    def graph(self, states: Iterable[State]) -> Graph:
        """The graph of all nodes, with other states."""
        return self._graph.edit(
            nodes=tuple(self._nodes),
            variables=self._variables,
            constants=self._constants,
            states=tuple(states),
        )
