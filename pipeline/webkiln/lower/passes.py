"""Passes: named rewrites of programs.

A pass is a module with `run(program)`, which may have parameters such as the target. Its docstring
contains example programs, before and after; tests run them. A backend lists its passes in
`backends/<name>/backend.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from webkiln.ir.graph import Graph
from webkiln.nest.program import Program, map_calls
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target


@dataclass(frozen=True, slots=True)
class Pass:
    """A rewrite of programs."""

    name: str
    rewrite: Callable[[Program], Program]

    def run(self, program: Program) -> Program:
        """Rewrite a program, and add the name of the pass to the calls that it changes, other than
        in their schedules.
        """
        writers: dict[tuple[View, ...], list[NestCall]] = {}
        for call in program.calls:
            writers.setdefault(call.outputs, []).append(call)

        def marked(call: NestCall) -> list[NestCall]:
            if any(_computes_same(call, other) for other in writers.get(call.outputs, ())):
                return [call]
            return [replace(call, passes=(*call.passes, self.name))]

        return map_calls(self.rewrite(program), marked)


@dataclass(frozen=True, slots=True)
class GraphPass:
    """A rewrite of graphs for a target, before they are lowered."""

    name: str
    rewrite: Callable[[Graph, Target], Graph]


def marked(name: str, program: Program, before: Graph, after: Graph) -> Program:
    """The program of `after`, with the name of a pass added to the calls of nodes that `before`
    does not have.
    """
    known = before.producers()
    added = {name for node in after.nodes for name in node.outputs if known.get(name) != node}

    def mark(call: NestCall) -> list[NestCall]:
        if added.isdisjoint(view.name for view in call.outputs):
            return [call]
        return [replace(call, passes=(*call.passes, name))]

    return map_calls(program, mark)


def _computes_same(call: NestCall, other: NestCall) -> bool:
    return call is other or (
        (call.layer, call.inputs, call.args) == (other.layer, other.inputs, other.args)
        and call.nest == other.nest
    )
