"""The verifier of Graphs. It runs after every pass."""

from collections.abc import Callable, Sequence
from math import prod
from typing import NoReturn

from webkiln.errors import InternalError
from webkiln.ir.graph import Graph, Node
from webkiln.ir.types import Type

TypeRule = Callable[[Node, Sequence[Type]], tuple[Type, ...]]


def verify(graph: Graph, infer: TypeRule) -> None:
    """Raise InternalError with the first violation in `graph`. `infer` is the type rule of the
    operators.
    """
    checker = _Checker(graph)
    checker.sources()
    for node in graph.nodes:
        checker.node(node, infer)
    checker.sinks()
    checker.variables()


class _Checker:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.defined: dict[str, str] = {}

    def fail(self, what: str) -> NoReturn:
        raise InternalError(f"graph {self.graph.name}: {what}")

    def define(self, name: str, by: str) -> None:
        if name not in self.graph.variables:
            self.fail(f"{name} ({by}) has no entry in the table of Variables")
        if name in self.defined:
            self.fail(f"{name} is defined by {self.defined[name]} and by {by}")
        self.defined[name] = by

    def sources(self) -> None:
        graph = self.graph
        for name in graph.inputs:
            self.define(name, "input")
        for name in sorted(graph.slots):
            self.define(name, "slot")
        for name, constant in graph.constants.items():
            self.define(name, "constant")
            if constant.elements(graph.type(name)) != prod(graph.type(name).shape):
                self.fail(
                    f"constant {name} has {constant.elements(graph.type(name))} values, but type"
                    f" {graph.type(name)}"
                )
        for state in graph.states:
            self.define(state.input, f"state {state.name}")

    def node(self, node: Node, infer: TypeRule) -> None:
        graph = self.graph
        for name in node.inputs:
            if name not in self.defined:
                self.fail(f"{node.op} {node.name} reads {name} before it is defined")
        for key, value in node.attrs.as_dict().items():
            if isinstance(value, Graph):
                if value.slots or value.states:
                    self.fail(
                        f"{node.op} {node.name}: the nested graph {key} must not have slots or"
                        " states"
                    )
                verify(value, infer)
        got = tuple(graph.type(name) for name in node.outputs if name in graph.variables)
        expected = infer(node, tuple(graph.type(name) for name in node.inputs))
        if got != expected:
            self.fail(
                f"{node.op} {node.name}: the outputs have type {', '.join(map(str, got))}, expected"
                f" {', '.join(map(str, expected))}"
            )
        for name in node.outputs:
            self.define(name, node.op)

    def sinks(self) -> None:
        graph = self.graph
        for output, name in graph.outputs.items():
            if name not in self.defined:
                self.fail(f"output {output} refers to {name}, which is not defined")
        constant_names = {
            *graph.slots,
            *graph.constants,
            *(name for node in graph.constant_subgraph() for name in node.outputs),
        }
        for state in graph.states:
            if state.initial not in constant_names or state.output not in self.defined:
                self.fail(
                    f"state {state.name}: {state.initial} depends on an input or {state.output} is"
                    " not defined"
                )
            types = {graph.type(name) for name in (state.initial, state.input, state.output)}
            if len(types) != 1:
                self.fail(
                    f"state {state.name} has conflicting types {', '.join(sorted(map(str, types)))}"
                )

    def variables(self) -> None:
        for name, variable in self.graph.variables.items():
            if name not in self.defined:
                self.fail(f"{name} is in the table of Variables but not defined")
            if variable.order is not None and len(variable.order) != variable.type.rank:
                self.fail(
                    f"{name}: order {variable.order} has {len(variable.order)} axes, but its type"
                    f" is {variable.type}"
                )
