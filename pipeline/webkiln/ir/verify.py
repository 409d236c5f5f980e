"""Structural rules that every Graph obeys; run after every pass."""

from collections.abc import Callable
from math import prod

from webkiln.errors import InternalError
from webkiln.ir.graph import Graph, Node
from webkiln.ir.types import Type

Infer = Callable[[Node, tuple[Type, ...]], tuple[Type, ...]]


def verify(graph: Graph, infer: Infer) -> None:
    """Raise InternalError for the first rule that `graph` breaks. `infer` is the operators' type rule."""

    def fail(what: str) -> None:
        raise InternalError(f"graph {graph.name}: {what}")

    defined: dict[str, str] = {}

    def define(name: str, by: str) -> None:
        if name not in graph.variables:
            fail(f"{name} ({by}) is not in the table of Variables")
        if name in defined:
            fail(f"{name} is defined by {defined[name]} and by {by}")
        defined[name] = by

    for name in graph.inputs:
        define(name, "input")
    for name in sorted(graph.slots):
        define(name, "slot")
    for name, constant in graph.constants.items():
        define(name, "constant")
        if len(constant.values) != prod(graph.type(name).shape):
            fail(f"constant {name} has {len(constant.values)} values, its type is {graph.type(name)}")
    for state in graph.states:
        define(state.input, f"state {state.name}")
    for node in graph.nodes:
        for name in node.inputs:
            if name not in defined:
                fail(f"{node.op} {node.name} reads {name} before it is defined")
        got = tuple(graph.type(name) for name in node.outputs if name in graph.variables)
        expected = infer(node, tuple(graph.type(name) for name in node.inputs))
        if got != expected:
            fail(f"{node.op} {node.name}: outputs are {', '.join(map(str, got))}, the operator gives {', '.join(map(str, expected))}")
        for name in node.outputs:
            define(name, f"{node.op}")
    for output, name in graph.outputs.items():
        if name not in defined:
            fail(f"output {output} is {name}, which nothing defines")
    for state in graph.states:
        if state.initial not in graph.slots or state.output not in defined:
            fail(f"state {state.name}: {state.initial} is not a slot or {state.output} is not defined")
        types = {graph.type(name) for name in (state.initial, state.input, state.output)}
        if len(types) != 1:
            fail(f"state {state.name} has types {', '.join(sorted(map(str, types)))}")
    for name, variable in graph.variables.items():
        if name not in defined:
            fail(f"{name} is in the table of Variables and defined by nothing")
        if variable.order is not None and len(variable.order) != variable.type.rank:
            fail(f"{name}: order {variable.order} has {len(variable.order)} axes, its type is {variable.type}")
