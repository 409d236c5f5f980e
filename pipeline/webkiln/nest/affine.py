"""The dependence of index expressions on an axis: whether there is any, and the stride."""

from webkiln.nest.expr import Expr, axis, walk


def depends(expr: Expr, name: str) -> bool:
    return axis(name) in walk([expr])


def step(expr: Expr, name: str) -> Expr | int | None:
    """The increase of a sum of products when axis `name` grows by one: 0, 1, an expression free of the axis, or None if not constant."""
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
