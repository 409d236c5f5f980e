"""Analysis of index expressions: dependence on an axis, strides, evaluation."""

from collections.abc import Mapping

from webkiln.ir.dim import Size, is_symbolic
from webkiln.nest.expr import Expr, axis, walk


def depends(expr: Expr, name: str) -> bool:
    return axis(name) in walk([expr])


def step(expr: Expr, name: str) -> Expr | int | None:
    """The increment of an index expression per iteration of axis `name`: 0, 1, an expression
    without the axis, or None if it is not constant.
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


def stride(expr: Expr, name: str, args: Mapping[str, Size]) -> int | None:
    """The step as a number; None if it is not constant, or symbolic."""
    increment = step(expr, name)
    number = evaluate(increment, args, {}) if isinstance(increment, Expr) else increment
    return None if number is None or is_symbolic(number) else number


def evaluate(expr: Expr, args: Mapping[str, Size], axes: Mapping[str, Size]) -> Size | None:
    """Evaluate a sum of products for the values `args` and `axes`, which may be symbolic.

    Returns None if an axis has no value, or if the expression contains other operations.
    """
    if expr.op == "const":
        return int(expr.value)
    if expr.op == "arg":
        return args[expr.value]
    if expr.op == "axis":
        return axes.get(expr.value)
    values = [
        value for value in (evaluate(item, args, axes) for item in expr.args) if value is not None
    ]
    if expr.op not in ("add", "sub", "mul") or len(values) != 2:
        return None
    a, b = values
    return a + b if expr.op == "add" else a - b if expr.op == "sub" else a * b
