"""Folds of shape arithmetic that several formats share under different operator names."""

from collections.abc import Callable, Mapping

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.frontends.nodes.fold import Fold, array_of_sizes
from webkiln.ir.dim import is_symbolic


def shape_as(dtype: Callable[[NodeCall], str]) -> Fold:
    """The shape of the first operand, in the dtype that `dtype` reads from the node."""
    return lambda call: known(array_of_sizes(call.type(0).shape), dtype(call))


def rank(call: NodeCall) -> GraphValue:
    return known(np.array(call.type(0).rank), "int32")


def broadcast_args(call: NodeCall) -> GraphValue:
    """The shape that two shapes broadcast to."""
    first, second = (list(call.sizes(position)) for position in (0, 1))
    count = max(len(first), len(second))
    first, second = ([*[1] * (count - len(item)), *item] for item in (first, second))
    sizes = [b if not is_symbolic(a) and a == 1 else a for a, b in zip(first, second, strict=True)]
    return known(array_of_sizes(sizes), call.type(0).dtype)


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
