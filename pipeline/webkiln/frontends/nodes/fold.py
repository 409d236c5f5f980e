"""Shape arithmetic: what exporters write to compute sizes is computed while converting, over sizes
that are known or set at run time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError, WebkilnError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.ir.dim import floordiv, is_at_least
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array, is_integer

Fold = Callable[[NodeCall], GraphValue | Sequence[GraphValue] | None]
"""The outputs of a node as known values; None where it is not for folding."""


@dataclass(frozen=True)
class Folds:
    """The shape arithmetic of a format, by operators of its own domain: what asks for the types of
    operands, what computes with known values, and what compares two of them. `implied` are
    operators that are true where so many of their first operands are.
    """

    of_types: Mapping[str, Fold] = field(default_factory=dict)
    of_values: Mapping[str, Fold] = field(default_factory=dict)
    comparisons: Mapping[str, Callable[[int, int], SizeRelation]] = field(default_factory=dict)
    implied: Mapping[str, int] = field(default_factory=dict)

    @property
    def ops(self) -> frozenset[str]:
        return frozenset((*self.of_types, *self.of_values))

    def apply(self, call: NodeCall) -> list[GraphValue] | None:
        """The outputs of a node whose value does not depend on data, where it is shape arithmetic;
        else None.
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
        """What a node that gives one bool says of sizes, where that depends on the run: all of it
        holds where the bool is true.
        """
        op = call.spec.op
        if call.spec.domain or any(
            item is None or item.type.size != 1 for item in call.operands[:1]
        ):
            return None
        if op in self.implied:
            parts = [_said(item) for item in call.operands[: self.implied[op]]]
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
            a, b = (objects(call, position).ravel()[0] for position in (0, 1))
        except ShapeError:
            return None
        return (self.comparisons[call.spec.op](a, b),)


def _said(operand: GraphValue | None) -> tuple[SizeRelation, ...] | None:
    if operand is None:
        return None
    if operand.conditions is not None:
        return operand.conditions
    true = (
        operand.is_constant
        and operand.type.dtype == "bool"
        and operand.value is not None
        and bool(np.all(operand.value))
    )
    return () if true else None


def array_of_sizes(sizes: Sequence[Any]) -> Array:
    """Sizes as an array, one element each."""
    made = np.empty(len(sizes), object)
    made[:] = sizes
    return made


def element_count(call: NodeCall, dtype: str = "int64") -> GraphValue:
    """How many elements the first operand has."""
    return known(array_of_sizes([prod(call.type(0).shape)]).reshape(()), dtype)


def objects(call: NodeCall, position: int) -> Array:
    """A known operand with whole numbers as Python's."""
    value = call.value(position)
    if value.dtype.kind == "f" and not np.all(value == np.rint(value)):
        raise ShapeError("only whole numbers are folded with sizes")
    whole = value.astype(np.int64) if value.dtype.kind == "f" else value
    return whole if whole.dtype == object else whole.astype(object)


def all_constant(call: NodeCall) -> bool:
    """Whether no operand depends on the run: such a node is evaluated as any other."""
    return all(item is not None and item.is_constant for item in call.operands)


def moving(change: Callable[[NodeCall, Array], Array]) -> Fold:
    """A function that moves the elements of the first operand."""
    return lambda call: known(change(call, call.value(0)), call.type(0).dtype)


def combining(function: Callable[[Any, Any], Any], dtype: str | None = None) -> Fold:
    """A function of the elements of two operands."""

    def compute(call: NodeCall) -> GraphValue | None:
        if all_constant(call):
            return None
        result = np.frompyfunc(function, 2, 1)(objects(call, 0), objects(call, 1))
        return known(np.asarray(result, object), dtype or call.type(0).dtype)

    return compute


def quotient(a: int, b: int) -> int:
    """Rounded towards zero; both signs have to be known."""
    if not (is_at_least(a, 0) and is_at_least(b, 1)):
        raise ShapeError("a quotient of sizes that may be negative")
    return floordiv(a, b)


def remainder(a: int, b: int) -> int:
    return a - quotient(a, b) * b


def dividing(call: NodeCall) -> GraphValue | None:
    """A quotient of integers, or of floats where nothing is left."""
    if all_constant(call):
        return None
    a, b = objects(call, 0), objects(call, 1)
    result = np.asarray(np.frompyfunc(quotient, 2, 1)(a, b), object)
    if not is_integer(call.type(0).dtype) and any(
        x != 0 for x in np.asarray(a - result * b).ravel()
    ):
        return None
    return known(result, call.type(0).dtype)


def extreme(function: Callable[[int, int], int]) -> Fold:
    """The greatest or least of any number of operands."""

    def compute(call: NodeCall) -> GraphValue | None:
        if all_constant(call):
            return None
        result = objects(call, 0)
        for position in range(1, len(call)):
            result = np.asarray(
                np.frompyfunc(function, 2, 1)(result, objects(call, position)), object
            )
        return known(result, call.type(0).dtype)

    return compute


def are_equal(a: int, b: int) -> bool:
    if a == b:
        return True
    if is_at_least(a - b, 1) or is_at_least(b - a, 1):
        return False
    raise ShapeError("whether two sizes are equal is not known")


def is_less(a: int, b: int) -> bool:
    if is_at_least(a, b):
        return False
    if is_at_least(b, a + 1):
        return True
    raise ShapeError("which of two sizes is larger is not known")
