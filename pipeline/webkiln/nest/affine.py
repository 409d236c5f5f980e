"""Index expressions: whether they depend on an axis, by what stride, and what they are for given
numbers.
"""

from collections.abc import Mapping

from webkiln.ir.dim import is_symbolic
from webkiln.nest.expr import Expr, axis, walk


def depends(expr: Expr, name: str) -> bool:
    return axis(name) in walk([expr])


def step(expr: Expr, name: str) -> Expr | int | None:
    """The increase of a sum of products when axis `name` grows by one: 0, 1, an expression free of
    the axis, or None if not constant.
    """
    if not depends(expr, name):
        return 0
    if expr is axis(name):
        return 1
    if expr.op in ("add", "sub"):
        left, right = step(expr.args[0], name), step(expr.args[1], name)
        if right == 0:
            return left
        return right if left == 0 and expr.op == "add" else None
    if expr.op == "mul":
        for one, other in (expr.args, expr.args[::-1]):
            if not depends(one, name):
                inner = step(other, name)
                if inner == 1:
                    return one
                return inner * one if isinstance(inner, Expr) else None
    return None


def stride(expr: Expr, name: str, args: Mapping[str, int]) -> int | None:
    """The step as a number; None where there is no constant one, or where it is open."""
    found = step(expr, name)
    number = evaluated(found, args, {}) if isinstance(found, Expr) else found
    return None if number is None or is_symbolic(number) else number


def evaluated(expr: Expr, args: Mapping[str, int], axes: Mapping[str, int]) -> int | None:
    """The value of an index where `axes` tells its axes, which may be open as arguments may; None
    where it does not, or where the index is more than sums and products.
    """
    if expr.op == "const":
        return int(expr.value)
    if expr.op == "arg":
        return args[expr.value]
    if expr.op == "axis":
        return axes.get(expr.value)
    known = [
        item for item in (evaluated(item, args, axes) for item in expr.args) if item is not None
    ]
    if expr.op not in ("add", "sub", "mul") or len(known) != 2:
        return None
    a, b = known
    return a + b if expr.op == "add" else a - b if expr.op == "sub" else a * b
