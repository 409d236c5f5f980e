"""Keys under which measurements of kernels are stored."""

from collections.abc import Collection

from webkiln.canonical import key as digest
from webkiln.ir.dim import abbreviate
from webkiln.ir.notation import size_to_json
from webkiln.nest.expr import INT, Expr, arg, axis, const, rebuild
from webkiln.nest.nest import exprs_to_json
from webkiln.nest.steps import NestCall


def tuning_key(kind: str, call: NestCall, constants: Collection[str]) -> str:
    """A key of the reduction that a call computes, from its sizes, index expressions and dtypes,
    independent of its epilogue.
    """
    nest = call.nest
    axis_names = {loop.axis: f"a{n}" for n, loop in enumerate(nest.axes)} | {
        loop.axis: f"r{n}" for n, loop in enumerate(nest.reduce)
    }
    operand_order: list[int] = []

    def change(expr: Expr) -> Expr | None:
        if expr.op == "axis":
            return axis(axis_names[expr.value])
        if expr.op == "arg":
            size = size_to_json(call.args[expr.value])
            return const(size, INT) if isinstance(size, int) else arg(str(size))
        if expr.op == "load" and expr.value[0] not in operand_order:
            operand_order.append(expr.value[0])
        return None

    bodies = [rebuild(item.body, change) for item in nest.accumulators]
    views = [call.inputs[position] for position in operand_order]
    sizes = [[call.args[loop.extent.value] for loop in loops] for loops in (nest.axes, nest.reduce)]
    described = [
        [[size_to_json(size) for size in row] for row in sizes],
        [item.combiner for item in nest.accumulators],
        exprs_to_json(bodies)[0],
        [
            [list(map(size_to_json, view.shape)), view.type.dtype, view.name in constants]
            for view in views
        ],
        [out.operand.dtype for out in nest.outputs],
    ]
    outer, inner = ("x".join(map(abbreviate, row)) for row in sizes)
    return f"{kind} {outer} of {inner} #{digest(described)[:12]}"
