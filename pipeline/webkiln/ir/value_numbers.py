"""Value numbering: which variables of a graph under construction are computed in the same way."""

from collections.abc import Hashable
from typing import Any

from webkiln.ir.graph import Constant, Node


class ValueNumbers:
    """The numbers of variables. Equal numbers mean equal operators with equal operands."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._by_expression: dict[Hashable, int] = {}

    def add(self, node: Node) -> None:
        operands = tuple(self._number(name) for name in node.inputs)
        distinguished = node.outputs if node.subgraphs() else repr(node.attrs)
        expression = (node.op, operands, distinguished)
        for position, name in enumerate(node.outputs):
            self._assign(name, (expression, position))

    def add_constant(self, name: str, constant: Constant, *type_: Any) -> None:
        self._assign(name, (constant.values, constant.digest, *map(str, type_)))

    def are_equal(self, a: str, b: str) -> bool:
        return self._number(a) == self._number(b)

    def _number(self, name: str) -> int:
        return self._numbers[name] if name in self._numbers else self._assign(name, name)

    def _assign(self, name: str, expression: Hashable) -> int:
        number = self._by_expression.setdefault(expression, len(self._by_expression))
        self._numbers[name] = number
        return number
