"""The nodes of an exported graph as specs, including branches and loops."""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeSpec
from webkiln.frontends.torch.aten import NUMBER, TENSOR
from webkiln.frontends.torch.labels import IGNORED, inputs_of, node_label, operator_name
from webkiln.frontends.torch.read import Reading, dtype_name, named_arguments
from webkiln.frontends.torch.rounded_sizes import (
    is_only_rounded,
    is_rounded,
    rounded_size,
    scaled_size,
)

NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)


class NodeReader:
    """Maps the nodes of a graph to specs. `names` has the tensor of each node, `parts` those of
    nodes with several results.
    """

    def __init__(self, read: Reading) -> None:
        self.read = read
        self.nodes: list[NodeSpec] = []
        self.tensors: dict[str, Weight | Literal] = {}
        self.names: dict[Node, str] = {}
        self.parts: dict[tuple[Node, int], str] = {}

    def body(self, graph: GraphModule) -> Sequence[Any]:
        """Read the nodes of a graph. Returns its results."""
        for node in graph.graph.nodes:
            if node.op == "call_function":
                self.node(graph, node)
            elif node.op == "output":
                return (
                    tuple(node.args[0])
                    if isinstance(node.args[0], list | tuple)
                    else (node.args[0],)
                )
            elif node.op == "get_attr" and not isinstance(attribute(graph, node), GraphModule):
                self.names[node] = self.read.fresh()
                self.tensors[self.names[node]] = self.read.tensor(
                    attribute(graph, node), str(node.target), trained=False
                )
        raise SourceError(f"{self.read.name}: its graph has no output")

    def node(self, graph: GraphModule, node: Node) -> None:
        target = node.target
        if target is operator.getitem:
            source, position = node.args
            assert isinstance(source, Node)
            assert isinstance(position, int)
            self.names[node] = self.parts[source, position]
            return
        if isinstance(target, torch._ops.HigherOrderOperator):
            self.nested(graph, node)
            return
        if isinstance(target, torch._ops.OpOverload):
            domain, op = target._schema.name.split("::")
            if op in IGNORED:
                return
            arguments = named_arguments(target._schema, node.args, dict(node.kwargs))
            overload = target._overloadname
        elif self.rounding(node):
            return
        else:
            domain, op, overload = "aten", operator_name(node), ""
            arguments = dict(zip(("a", "b"), node.args, strict=False))
        operands: list[str] = []
        label = node_label(self.read, node)
        attrs = {key: self.encoded(value, operands, label) for key, value in arguments.items()}
        attrs = {key: value for key, value in attrs.items() if value is not None}
        complex_arguments = tuple(key for key, value in arguments.items() if is_complex(value))
        if complex_arguments:
            domain, attrs["complex"] = "complex", complex_arguments
        domain = "" if domain == "aten" else domain
        self.nodes.append(
            NodeSpec(
                label,
                op,
                domain,
                tuple(operands),
                self.results(node),
                attrs | {"overload": overload},
            )
        )

    def rounding(self, node: Node) -> bool:
        """Read a node that rounds a size times a float, or computes such a float only to be
        rounded. Returns whether it is one.
        """
        if is_only_rounded(node):
            node_label(self.read, node)
            return True
        if not is_rounded(node):
            return self.scaling(node)
        label = node_label(self.read, node)
        rounded = rounded_size(node)
        if rounded is None:
            self.read.unsupported.append(
                (
                    label,
                    "rounds a size times a float, which is not exact",
                    "Fix the size in the export, or compute in integers, as size * 3 // 2",
                )
            )
            self.results(node)
            return True
        value = self.names[rounded.size]
        for op, number in (
            ("mul", rounded.numerator),
            ("add", rounded.offset),
            ("floordiv", rounded.denominator),
        ):
            following = self.read.fresh()
            attrs = {"a": f"{NUMBER}0", "b": number, "overload": ""}
            step = self.read.labels.distinct(f"{label}.{op}")
            self.nodes.append(NodeSpec(step, f"sym_{op}", "", (value,), (following,), attrs))
            value = following
        self.names[node] = value
        return True

    def scaling(self, node: Node) -> bool:
        """Read a node that computes a size times a fraction, as a tensor. Returns whether it is
        one.
        """
        scaled = scaled_size(node)
        if scaled is None or scaled.factor.denominator == 1:
            return False
        label = node_label(self.read, node)
        attrs = {"s": f"{NUMBER}0", "dtype": "float32", "overload": ""}
        size, self.names[node] = self.read.fresh(), self.read.fresh()
        operands = (self.names[scaled.size],)
        step = self.read.labels.distinct(f"{label}.size")
        self.nodes.append(NodeSpec(step, "scalar_tensor", "", operands, (size,), attrs))
        factors: dict[str, Any] = {"self": f"{TENSOR}0", "other": float(scaled.factor)}
        factors["overload"] = "Tensor"
        self.nodes.append(NodeSpec(label, "mul", "", (size,), (self.names[node],), factors))
        return True

    def results(self, node: Node) -> tuple[str, ...]:
        """The names of a node's results. Of several results, those that are read."""
        value = node.meta.get("val")
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self.names[node] = self.read.fresh()
            return (self.names[node],)
        read = {user.args[1] for user in node.users if user.target is operator.getitem}
        names = [self.read.fresh() if position in read else "" for position in range(len(value))]
        self.parts |= {(node, position): name for position, name in enumerate(names)}
        return tuple(names)

    def encoded(self, value: Any, operands: list[str], label: str) -> Any:
        """An argument as an attribute. For a computed tensor or number, the attribute is the
        operand's position.
        """
        if isinstance(value, Node):
            operands.append(self.names[value])
            kind = NUMBER if isinstance(value.meta.get("val"), NUMBERS) else TENSOR
            return f"{kind}{len(operands) - 1}"
        if isinstance(value, list | tuple):
            return tuple(self.encoded(item, operands, label) for item in value)
        if isinstance(value, torch.dtype):
            return dtype_name(value)
        if isinstance(value, complex):
            return (value.real, value.imag)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return None

    def nested(self, graph: GraphModule, node: Node) -> None:
        """Convert torch.cond and torch.while_loop."""
        kind = getattr(node.target, "__name__", str(node.target))
        label = self.read.labels.distinct(kind)
        if kind == "cond":
            condition, *branches, operands = node.args
            then, otherwise = (self.subgraph(attribute(graph, item), operands) for item in branches)
            attrs: dict[str, Any] = {"then_branch": then, "else_branch": otherwise}
            self.nodes.append(
                NodeSpec(label, "If", "", (self.names[condition],), self.results(node), attrs)
            )
        elif kind == "while_loop":
            test, body, carried, more = node.args
            self.loop(
                attribute(graph, test), attribute(graph, body), [*carried], [*more], label, node
            )
        else:
            self.read.unsupported.append(
                (
                    label,
                    f"is torch's {kind}",
                    "Use torch.cond or torch.while_loop instead",
                )
            )

    def subgraph(self, graph: GraphModule, operands: Sequence[Node]) -> GraphSpec:
        """A graph of a node, which may read tensors of the outer graph."""
        outer, self.nodes, outer_tensors, self.tensors = self.nodes, [], self.tensors, {}
        for node, operand in zip(inputs_of(graph), operands, strict=True):
            self.names[node] = self.names[operand]
        results = self.body(graph)
        outputs = tuple(
            Declared(f"out{n}", self.names[item], "float32", None) for n, item in enumerate(results)
        )
        spec = GraphSpec((), outputs, self.tensors, tuple(self.nodes))
        self.nodes, self.tensors = outer, outer_tensors
        return spec

    def loop(
        self,
        test: GraphModule,
        body: GraphModule,
        carried: list[Node],
        more: list[Node],
        label: str,
        node: Node,
    ) -> None:
        """The condition is computed before the loop, and at the end of each iteration for the next
        one.
        """
        first = self.inlined(test, [self.names[item] for item in (*carried, *more)])[0]
        outer, self.nodes, outer_tensors, self.tensors = self.nodes, [], self.tensors, {}
        states = [self.read.fresh() for _ in carried]
        arguments = [
            Declared("number", self.read.fresh(), "int64", ()),
            Declared("going", self.read.fresh(), "bool", ()),
        ]
        arguments += [Declared(f"in{n}", name, "float32", None) for n, name in enumerate(states)]
        following = self.inlined(body, [*states, *(self.names[item] for item in more)])
        condition = self.inlined(test, [*following, *(self.names[item] for item in more)])[0]
        outputs = [
            Declared(f"out{n}", name, "float32", None)
            for n, name in enumerate([condition, *following])
        ]
        spec = GraphSpec(tuple(arguments), tuple(outputs), self.tensors, tuple(self.nodes))
        self.nodes, self.tensors = outer, outer_tensors
        operands = ("", first, *(self.names[item] for item in carried))
        self.nodes.append(NodeSpec(label, "Loop", "", operands, self.results(node), {"body": spec}))

    def inlined(self, graph: GraphModule, operands: Sequence[str]) -> list[str]:
        for node, operand in zip(inputs_of(graph), operands, strict=True):
            self.names[node] = operand
        return [self.names[item] for item in self.body(graph)]


def is_complex(value: Any) -> bool:
    """Whether an argument is a complex tensor or contains one."""
    if isinstance(value, list | tuple):
        return any(map(is_complex, value))
    if isinstance(value, complex):
        return True
    result = value.meta.get("val") if isinstance(value, Node) else None
    return isinstance(result, torch.Tensor) and result.is_complex()


def attribute(graph: GraphModule, node: Node) -> Any:
    value: Any = graph
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value
