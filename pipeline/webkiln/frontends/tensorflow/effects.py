"""Find the assignments to variables that functions perform when called."""

from collections.abc import Iterator, Mapping
from typing import Any

from webkiln.frontends.tensorflow.source import Body

COMBINING = {"AssignVariableOp": "", "AssignAddVariableOp": "AddV2", "AssignSubVariableOp": "Sub"}
"""Operators that assign to a variable -> the operator that combines its value with their operand.
"""
WRITES = (
    "Assign",
    "ResourceApply",
    "ResourceScatter",
    "ResourceStridedSliceAssign",
    "LookupTableInsert",
    "LookupTableRemove",
)
"""Prefixes of operators with side effects beyond the run."""


class Effects:
    """The nodes of function bodies that have side effects, directly or through calls."""

    def __init__(self, functions: Mapping[str, Body]) -> None:
        self.functions = functions
        self._known: dict[str, bool] = {}

    def nodes(self, body: Body) -> list[str]:
        """In the main graph, only nodes that outputs need are run."""
        return (
            [name for name, node in body.nodes.items() if self._has_effect(node)]
            if body.is_function
            else []
        )

    def _has_effect(self, node: Any) -> bool:
        return node.op.startswith(WRITES) or any(map(self._of_function, _called_functions(node)))

    def _of_function(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = False
            body = self.functions.get(name)
            self._known[name] = body is not None and any(map(self._has_effect, body.nodes.values()))
        return self._known[name]


def _called_functions(node: Any) -> Iterator[str]:
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        yield from (item.name for item in value.list.func)
