"""The nodes that replace a node, for passes that write several."""

from collections.abc import Sequence

from webkiln.ir.attributes import Attributes
from webkiln.ir.graph import NO_ATTRIBUTES, Constant, Node, Variable
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ir.types import Type
from webkiln.ops.builder import Scalar
from webkiln.ops.table import infer


class Replacement:
    """Collects the nodes that replace `node`, and the Variables and constants that they introduce.
    Names of Variables begin with that of the node's output.
    """

    def __init__(self, view: GraphView, node: Node) -> None:
        self.view, self.node = view, node
        self._nodes: list[Node] = []
        self._types: dict[str, Type] = {}
        self._constants: dict[str, Constant] = {}

    def type(self, name: str) -> Type:
        return self._types[name] if name in self._types else self.view.type(name)

    def add(
        self,
        name: str,
        op: str,
        inputs: Sequence[str],
        attrs: Attributes = NO_ATTRIBUTES,
        layer: str | None = None,
    ) -> str:
        """The output of a new node. `layer`: default: that of the replaced node."""
        (output,) = self.add_all((name,), op, inputs, attrs, layer)
        return output

    def add_all(
        self,
        names: Sequence[str],
        op: str,
        inputs: Sequence[str],
        attrs: Attributes = NO_ATTRIBUTES,
        layer: str | None = None,
    ) -> tuple[str, ...]:
        """The outputs of a new node."""
        outputs = tuple(f"{self.node.name}/{name}" for name in names)
        added = Node(op, tuple(inputs), outputs, attrs, layer or self.node.layer)
        types = infer(added, list(map(self.type, inputs)))
        self._types |= zip(outputs, types, strict=True)
        self._nodes.append(added)
        return outputs

    def constant(self, name: str, value: Scalar, dtype: str) -> str:
        """A new scalar."""
        output = f"{self.node.name}/{name}"
        self._types[output], self._constants[output] = Type(dtype, ()), Constant((value,))
        return output

    def finish(
        self,
        op: str,
        inputs: Sequence[str],
        attrs: Attributes = NO_ATTRIBUTES,
        layer: str | None = None,
    ) -> Edit:
        """The edit, with a last node that computes the outputs of the replaced one."""
        last = Node(op, tuple(inputs), self.node.outputs, attrs, layer or self.node.layer)
        variables = [Variable(name, type_) for name, type_ in self._types.items()]
        return Edit(nodes=[*self._nodes, last], variables=variables, constants=self._constants)
