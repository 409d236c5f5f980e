"""Folds of shape arithmetic that several formats share under different operator names."""

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.frontends.nodes.fold import (
    Fold,
    all_constant,
    are_equal,
    array_of_sizes,
    elementwise,
    integer_objects,
    is_less,
    quotient,
    reduce_operands,
    remainder,
)
from webkiln.ir.dim import is_symbolic, maximum, minimum
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array, is_integer


def shape_as(dtype: Callable[[NodeCall], str]) -> Fold:
    """The shape of the first operand, in the dtype that `dtype` reads from the node."""
    return lambda call: known(array_of_sizes(call.type(0).shape), dtype(call))


def rank(call: NodeCall) -> GraphValue:
    return known(np.array(call.type(0).rank), "int32")


def stack(call: NodeCall) -> GraphValue:
    """Stack the operands along a new axis."""
    return join(call, np.stack, range(len(call)), call.attr("axis", 0))


def join(call: NodeCall, function: Callable[..., Array], positions: range, axis: int) -> GraphValue:
    """Combine operands with a numpy function such as `concatenate`; the result has the dtype of the
    first one.
    """
    return known(
        function([call.value(position).astype(object) for position in positions], axis),
        call.type(positions[0]).dtype,
    )


def select(call: NodeCall) -> GraphValue:
    """Elements of the second operand where the first one is true, else of the third."""
    return known(
        np.where(call.numbers(0), call.value(1).astype(object), call.value(2).astype(object)),
        call.type(1).dtype,
    )


def integer_range(call: NodeCall) -> GraphValue | None:
    """The integers from a start up to a limit, with a step."""
    start, limit, step = (call.numbers(position).reshape(()).item() for position in range(3))
    if not is_integer(call.type(0).dtype) or max(0, -(-(limit - start) // step)) > INLINE_ELEMENTS:
        return None
    return known(np.arange(start, limit, step), call.type(0).dtype)


def fill(call: NodeCall) -> GraphValue | None:
    """An array of the shape in the first operand, filled with the scalar in the second."""
    sizes = call.sizes(0)
    if any(map(is_symbolic, sizes)) or prod(sizes) > INLINE_ELEMENTS:
        return None
    return known(np.full(sizes, call.value(1).reshape(()).item(), object), call.type(1).dtype)


def broadcast_args(call: NodeCall) -> GraphValue:
    """The shape that two shapes broadcast to."""
    first, second = (list(call.sizes(position)) for position in (0, 1))
    count = max(len(first), len(second))
    first, second = ([1] * (count - len(item)) + item for item in (first, second))
    sizes = [b if not is_symbolic(a) and a == 1 else a for a, b in zip(first, second, strict=True)]
    return known(array_of_sizes(sizes), call.type(0).dtype)


def negate(call: NodeCall) -> GraphValue | None:
    return None if all_constant(call) else known(-integer_objects(call, 0), call.type(0).dtype)


def round_integers(call: NodeCall) -> GraphValue | None:
    """Rounding is the identity: sizes are integers."""
    return None if all_constant(call) else known(integer_objects(call, 0), call.type(0).dtype)


ADD, SUBTRACT, MULTIPLY = (
    elementwise(lambda a, b: a + b),
    elementwise(lambda a, b: a - b),
    elementwise(lambda a, b: a * b),
)
QUOTIENT, REMAINDER = elementwise(quotient), elementwise(remainder)
GREATEST, LEAST = reduce_operands(lambda a, b: maximum([a, b])), reduce_operands(minimum)
EQUAL, UNEQUAL = (
    elementwise(are_equal, "bool"),
    elementwise(lambda a, b: not are_equal(a, b), "bool"),
)
LESS, GREATER = elementwise(is_less, "bool"), elementwise(lambda a, b: is_less(b, a), "bool")
AT_MOST, AT_LEAST = (
    elementwise(lambda a, b: not is_less(b, a), "bool"),
    elementwise(lambda a, b: not is_less(a, b), "bool"),
)


def size_relations(
    equal: str, less: str, greater: str, at_most: str, at_least: str
) -> Mapping[str, Callable[[int, int], SizeRelation]]:
    """The relation of two sizes that each comparison operator states, by the operator names of a
    format.
    """
    return {
        equal: lambda a, b: SizeRelation(a, "=", b),
        less: lambda a, b: SizeRelation(a, "<", b),
        greater: lambda a, b: SizeRelation(b, "<", a),
        at_most: lambda a, b: SizeRelation(a, "<", b + 1),
        at_least: lambda a, b: SizeRelation(b, "<", a + 1),
    }
