"""Folds shape arithmetic during conversion: the nodes that exporters write to compute sizes, over
integers and symbolic sizes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError, WebkilnError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.rational import Rational
from webkiln.ir.types import Array

Fold = Callable[[NodeCall], GraphValue | Sequence[GraphValue] | None]
"""Returns the outputs of a node as known values; None if the node cannot be folded."""


@dataclass(frozen=True)
class Folds:
    """The shape arithmetic of a format, by operators of its own domain.

    `of_types` need only the types of their operands, `of_values` need known values, `comparisons`
    relate two sizes. `implied` maps a logical operator to n: it is true if its first n operands are
    true.
    """

    of_types: Mapping[str, Fold] = field(default_factory=dict)
    of_values: Mapping[str, Fold] = field(default_factory=dict)
    comparisons: Mapping[str, Callable[[int, int], SizeRelation]] = field(default_factory=dict)
    implied: Mapping[str, int] = field(default_factory=dict)

    @property
    def ops(self) -> frozenset[str]:
        return frozenset((*self.of_types, *self.of_values))

    def apply(self, call: NodeCall) -> list[GraphValue] | None:
        """The outputs of a node of shape arithmetic whose value does not depend on data; None for
        other nodes.
        """
        op = call.spec.op
        if call.spec.domain or op not in self.ops:
            return None
        if op not in self.of_types and any(
            item is not None and item.value is None for item in call.operands
        ):
            return None
        try:
            result = (self.of_types.get(op) or self.of_values[op])(call)
        except (WebkilnError, ValueError, TypeError, OverflowError, IndexError):
            return None
        results = (
            [] if result is None else [result] if isinstance(result, GraphValue) else list(result)
        )
        if any(item.value is not None and item.value.size > INLINE_ELEMENTS for item in results):
            return None
        return results or None

    def conditions(self, call: NodeCall) -> tuple[SizeRelation, ...] | None:
        """The size relations that hold if the single bool of a comparison, or of a conjunction of
        comparisons, is true; None if they cannot be derived.
        """
        op = call.spec.op
        if call.spec.domain or any(
            item is None or item.type.size != 1 for item in call.operands[:1]
        ):
            return None
        if op in self.implied:
            parts = [_operand_conditions(item) for item in call.operands[: self.implied[op]]]
            return (
                None
                if None in parts
                else tuple(condition for part in parts if part is not None for condition in part)
            )
        return self._comparison(call) if op in self.comparisons else None

    def _comparison(self, call: NodeCall) -> tuple[SizeRelation, ...] | None:
        if any(item is None or item.value is None or item.type.size != 1 for item in call.operands):
            return None
        try:
            a, b = (integer_objects(call, position).ravel()[0] for position in (0, 1))
        except ShapeError:
            return None
        return (self.comparisons[call.spec.op](a, b),)


def _operand_conditions(operand: GraphValue | None) -> tuple[SizeRelation, ...] | None:
    """The conditions of an operand: its own, or () for a constant that is true."""
    if operand is None:
        return None
    if operand.conditions is not None:
        return operand.conditions
    is_true = (
        operand.is_constant
        and operand.type.dtype == "bool"
        and operand.value is not None
        and bool(np.all(operand.value))
    )
    return () if is_true else None


def array_of_sizes(sizes: Sequence[Any]) -> Array:
    """An object array of sizes, [len(sizes)]."""
    array = np.empty(len(sizes), object)
    array[:] = sizes
    return array


def element_count(call: NodeCall, dtype: str = "int64") -> GraphValue:
    """The number of elements of the first operand."""
    return known(array_of_sizes([prod(call.type(0).shape)]).reshape(()), dtype)


def integer_objects(call: NodeCall, position: int) -> Array:
    """A known operand as an object array of Python integers and symbolic sizes. Raise ShapeError
    for fractions.
    """
    value = call.value(position)
    if value.dtype.kind == "f":
        if not np.all(value == np.rint(value)):
            raise ShapeError("only integers are folded with sizes")
        return value.astype(np.int64).astype(object)
    items = value.ravel().tolist()
    if any(isinstance(item, Rational) and item.denominator != 1 for item in items):
        raise ShapeError("only integers are folded with sizes")
    return array_of_sizes(
        [item.numerator if isinstance(item, Rational) else item for item in items]
    ).reshape(value.shape)
