"""Legality of vectorising along an axis on a backend."""

from dataclasses import dataclass

from webkiln.ir.dim import is_symbolic
from webkiln.ir.solve import nominal_size
from webkiln.nest.affine import depends, step
from webkiln.nest.expr import BOOL, Expr, walk
from webkiln.nest.nest import COMPUTE, Loop, load_guard, load_index
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target

SCALAR_ONLY = frozenset(
    {"pow", "sin", "cos", "turn", "idiv", "irem", "floordiv", "floormod", "accindex"}
)
VECTOR_COMBINERS = frozenset({"sum", "prod", "max", "min"})


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why an axis cannot be the vector axis, as `webkiln explain` prints it."""

    reason: str


def extent(call: NestCall, loop: Loop) -> int:
    return nominal_size(call.args[loop.extent.value])


def has_known_extents(call: NestCall) -> bool:
    """Whether the size of each loop is an argument with a known value."""
    return not any(
        loop.extent.op != "arg" or is_symbolic(call.args[loop.extent.value])
        for loop in (*call.nest.axes, *call.nest.reduce)
    )


def moving(call: NestCall, name: str, target: Target) -> list[Expr] | Rejection:
    """The loads that move along an axis, or why it cannot be vectorised."""
    nest = call.nest
    if any(a.combiner not in VECTOR_COMBINERS for a in nest.accumulators):
        return Rejection(f"{nest.accumulators[0].combiner} is not vectorised")
    moving_loads = []
    for expr in nest.loads:
        guard = load_guard(expr)
        if guard is not None and depends(guard[0], name):
            return Rejection(f"the guard of input {expr.value[0]} depends on it")
        if not any(depends(item, name) for item in load_index(expr)):
            continue
        dtype = nest.inputs[expr.value[0]].dtype
        if target.vectors.width > 1 and dtype not in target.vectors.dtypes:
            return Rejection(f"input {expr.value[0]} is {dtype}")
        moving_loads.append(expr)
    return moving_loads


def contiguous(index: tuple[Expr, ...], name: str) -> bool:
    return (
        bool(index)
        and step(index[-1], name) == 1
        and not any(depends(item, name) for item in index[:-1])
    )


def unvectorised(roots: list[Expr], name: str, target: Target) -> Rejection | None:
    """Why value expressions have no vector form, if they have none. Indices are scalar anyway."""
    types = {BOOL, *(COMPUTE[dtype] for dtype in target.vectors.dtypes)}
    vector: set[Expr] = set()
    for expr in _data(roots):
        if expr.op == "axis" and expr.value == name:
            return Rejection("its position is used as a value")
        if (
            expr.op == "acc"
            or (expr.op == "load" and any(depends(item, name) for item in load_index(expr)))
            or vector.intersection(expr.args)
        ):
            vector.add(expr)
            if expr.op in SCALAR_ONLY and not (expr.op == "idiv" and target.vectors.divides):
                return Rejection(f"{expr.op} is scalar")
            if expr.type not in types:
                return Rejection(f"{expr.type} is scalar")
    return None


def _data(roots: list[Expr]) -> list[Expr]:
    """All nodes below `roots`, operands first. Loads are leaves."""
    return walk(roots, leaves=("load",))
