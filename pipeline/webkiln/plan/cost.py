"""What a call costs: floating-point operations and bytes moved."""

from math import prod

from webkiln.ir.types import itemsize
from webkiln.nest.build import NestCall
from webkiln.nest.expr import FLOAT, Expr, walk


def flops(call: NestCall) -> int:
    """Float operations of the bodies (and one per accumulation) at every point, of the epilogue at every output element."""
    nest = call.nest
    outer = prod(call.args[loop.extent.value] for loop in nest.axes)
    inner = prod(call.args[loop.extent.value] for loop in nest.reduce)
    bodies = _operations([item.body for item in nest.accumulators]) + len(nest.accumulators)
    return outer * (inner * bodies * bool(nest.accumulators) + _operations([value for out in nest.outputs for value, _ in out.stores]))


def _operations(roots: list[Expr]) -> int:
    skipped = ("load", "const", "acc", "accindex", "arg", "axis", "select", "cast", "bitcast")
    return sum(expr.type == FLOAT and expr.op not in skipped for expr in walk(roots))


def moved(call: NestCall) -> int:
    """Bytes of all operands, each counted once."""
    return sum(view.type.size * itemsize(view.type.dtype) for view in {*call.inputs, *call.outputs})
