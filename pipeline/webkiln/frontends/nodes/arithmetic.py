"""Folds of shape arithmetic that several formats write, by whatever names."""

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.frontends.nodes.fold import (
    Fold,
    all_constant,
    are_equal,
    array_of_sizes,
    combining,
    extreme,
    is_less,
    objects,
    quotient,
    remainder,
)
from webkiln.ir.dim import is_symbolic, maximum, minimum
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array, is_integer


def shape_in(dtype: Callable[[NodeCall], str]) -> Fold:
    """The shape of the first operand in a dtype that the node says."""
    return lambda call: known(array_of_sizes(call.type(0).shape), dtype(call))


def rank(call: NodeCall) -> GraphValue:
    return known(np.array(call.type(0).rank), "int32")


def packed(call: NodeCall) -> GraphValue:
    """The operands side by side along a new axis."""
    return joined(call, np.stack, range(len(call)), call.attr("axis", 0))


def joined(call: NodeCall, join: Callable[..., Array], positions: range, axis: int) -> GraphValue:
    """What numpy's function makes of some operands, of the first one's dtype."""
    return known(
        join([call.value(position).astype(object) for position in positions], axis),
        call.type(positions[0]).dtype,
    )


def chosen(call: NodeCall) -> GraphValue:
    """Elements of the second operand where the first one is true, else of the third."""
    return known(
        np.where(call.numbers(0), call.value(1).astype(object), call.value(2).astype(object)),
        call.type(1).dtype,
    )


def counted(call: NodeCall) -> GraphValue | None:
    """Whole numbers from a start on, in steps, up to a limit."""
    start, limit, step = (call.numbers(position).reshape(()).item() for position in range(3))
    if not is_integer(call.type(0).dtype) or max(0, -(-(limit - start) // step)) > INLINE_ELEMENTS:
        return None
    return known(np.arange(start, limit, step), call.type(0).dtype)


def filled(call: NodeCall) -> GraphValue | None:
    """The second operand, a number, in the sizes of the first."""
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


def negative(call: NodeCall) -> GraphValue | None:
    return None if all_constant(call) else known(-objects(call, 0), call.type(0).dtype)


def whole(call: NodeCall) -> GraphValue | None:
    """Rounded, which changes nothing: sizes are whole."""
    return None if all_constant(call) else known(objects(call, 0), call.type(0).dtype)


ADD, SUBTRACT, MULTIPLY = (
    combining(lambda a, b: a + b),
    combining(lambda a, b: a - b),
    combining(lambda a, b: a * b),
)
QUOTIENT, REMAINDER = combining(quotient), combining(remainder)
GREATEST, LEAST = extreme(lambda a, b: maximum([a, b])), extreme(minimum)
EQUAL, UNEQUAL = combining(are_equal, "bool"), combining(lambda a, b: not are_equal(a, b), "bool")
LESS, GREATER = combining(is_less, "bool"), combining(lambda a, b: is_less(b, a), "bool")
AT_MOST, AT_LEAST = (
    combining(lambda a, b: not is_less(b, a), "bool"),
    combining(lambda a, b: not is_less(a, b), "bool"),
)


def comparisons(
    equal: str, less: str, greater: str, at_most: str, at_least: str
) -> Mapping[str, Callable[[int, int], SizeRelation]]:
    """What a format's operators of these names say of two sizes."""
    return {
        equal: lambda a, b: SizeRelation(a, "=", b),
        less: lambda a, b: SizeRelation(a, "<", b),
        greater: lambda a, b: SizeRelation(b, "<", a),
        at_most: lambda a, b: SizeRelation(a, "<", b + 1),
        at_least: lambda a, b: SizeRelation(b, "<", a + 1),
    }
