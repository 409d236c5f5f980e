"""A GraphDef with inlined functions, so that the outputs of their nodes can be fetched."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.tensorflow.scope import CALLS, DEEPEST, WITHIN
from webkiln.frontends.tensorflow.source import control_inputs, data_inputs, split_reference

MOST_CALLS = 20_000
"""A limit, since functions that call others several times grow exponentially."""
OperatorOf = Callable[[str], Any]
"""The definition of a TensorFlow operator, or None."""


@dataclass(frozen=True)
class InlinedBody:
    """The nodes of the graph or of a function call. `arguments` are the call's tensors, `path` the
    calls that lead to it.
    """

    nodes: Mapping[str, Any]
    path: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    function: Any = None
    depth: int = 0


class Inliner:
    """Rewrites nodes. A call becomes a no-op of the same name that waits for the nodes of the
    function.
    """

    def __init__(self, graph: Any, operator: OperatorOf, name: str) -> None:
        self.graph, self.operator, self.name = graph, operator, name
        self.functions = {item.signature.name: item for item in graph.library.function}
        self.main = InlinedBody({node.name: node for node in graph.node})
        self.inner: dict[str, InlinedBody] = {}
        self.reached: set[str] = set()

    def written(self, outputs: Mapping[str, str]) -> dict[str, str]:
        """Map references to outputs to tensors of the graph, which is modified."""
        self._reach([split_reference(item)[0] for item in outputs.values()])
        nodes = list(self._nodes(self.main, ""))
        del self.graph.node[:]
        self.graph.node.extend(nodes)
        return {name: self.tensor(self.main, reference) for name, reference in outputs.items()}

    def _reach(self, names: list[str]) -> None:
        while names:
            name = names.pop()
            if name in self.reached or name not in self.main.nodes:
                continue
            self.reached.add(name)
            node = self.main.nodes[name]
            names += [
                split_reference(item)[0] for item in (*data_inputs(node), *control_inputs(node))
            ]

    def _function_of(self, body: InlinedBody, node: Any) -> Any:
        """The function that a node calls, if it is to be inlined."""
        if body.function is None and node.name not in self.reached:
            return None
        return self.functions.get(node.attr["f"].func.name if node.op in CALLS else node.op)

    def tensor(self, body: InlinedBody, reference: str) -> str:
        """The tensor of the inlined graph that a reference in a body denotes."""
        name, part, number = split_reference(reference)
        if name in body.arguments:
            return body.arguments[name]
        node = body.nodes.get(name)
        if node is None:
            raise SourceError(f"{self.name}: {reference} is read, but the graph has no such node")
        index = self._before(node, part) + number if part else number
        function = self._function_of(body, node)
        if function is None:
            return f"{body.path}{name}:{index}"
        return self.tensor(
            self._within(body, node, function),
            function.ret[function.signature.output_arg[index].name],
        )

    def _before(self, node: Any, part: str) -> int:
        """The index of the first output with this name."""
        function = self.functions.get(node.op)
        operator = self.operator(node.op) if function is None else function.signature
        count = 0
        for item in operator.output_arg if operator is not None else ():
            if item.name == part:
                return count
            if item.number_attr:
                count += node.attr[item.number_attr].i
            else:
                count += len(node.attr[item.type_list_attr].list.type) if item.type_list_attr else 1
        raise SourceError(f"{self.name}: {node.name} ({node.op}) has no output {part!r}")

    def _within(self, body: InlinedBody, node: Any, function: Any) -> InlinedBody:
        path = f"{body.path}{node.name}{WITHIN}"
        if path not in self.inner:
            if body.depth >= DEEPEST or len(self.inner) >= MOST_CALLS:
                raise SourceError(
                    f"{self.name}: functions call each other more than {DEEPEST} deep, or"
                    f" {MOST_CALLS} times; refused"
                )
            arguments = {
                item.name: self.tensor(body, reference)
                for item, reference in zip(
                    function.signature.input_arg, data_inputs(node), strict=False
                )
            }
            self.inner[path] = InlinedBody(
                {item.name: item for item in function.node_def},
                path,
                arguments,
                function,
                body.depth + 1,
            )
        return self.inner[path]

    def _nodes(self, body: InlinedBody, entry: str) -> Iterator[Any]:
        """Inline the nodes of a body, with control dependencies on `entry`."""
        for node in body.nodes.values():
            waits = [self._control_input(body, item) for item in control_inputs(node)] + (
                [entry] if entry else []
            )
            function = self._function_of(body, node)
            copy = type(node)(name=f"{body.path}{node.name}", op="NoOp", device=node.device)
            if function is None:
                copy.op = node.op
                copy.input.extend(
                    [*(self.tensor(body, item) for item in data_inputs(node)), *waits]
                )
                for key in node.attr:
                    if key != "_class":
                        copy.attr[key].CopyFrom(node.attr[key])
                yield copy
                continue
            inner = self._within(body, node, function)
            start = type(node)(name=f"{inner.path}begin", op="NoOp", input=waits)
            yield start
            yield from self._nodes(inner, f"^{start.name}")
            results = [
                f"^{split_reference(self.tensor(inner, function.ret[item.name]))[0]}"
                for item in function.signature.output_arg
            ]
            copy.input.extend(
                dict.fromkeys(
                    [
                        *waits,
                        *results,
                        *(f"^{inner.path}{item}" for item in function.control_ret.values()),
                    ]
                )
            )
            yield copy

    def _control_input(self, body: InlinedBody, name: str) -> str:
        return (
            f"^{split_reference(body.arguments[name])[0]}"
            if name in body.arguments
            else f"^{body.path}{name}"
        )
