"""Keys under which measurements of kernels are stored."""

from collections.abc import Collection, Sequence

from webkiln.canonical import key as digest
from webkiln.ir.dim import abbreviate
from webkiln.ir.notation import size_to_json
from webkiln.nest.expr import INT, Expr, arg, axis, const, rebuild
from webkiln.nest.nest import exprs_to_json
from webkiln.nest.steps import NestCall

ON = " on "
Facts = Sequence[bool | int | str]


def tuning_key(
    kind: str, call: NestCall, constants: Collection[str], device: str = "", facts: Facts = ()
) -> str:
    """A key of the reduction that a call computes, from its sizes, index expressions and dtypes,
    independent of its epilogue. `device`: the class of GPUs that runs the call, if others do not.
    `facts`: what else limits the candidates.
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
    where = f"{ON}{device}" if device else ""
    return f"{kind} {outer} of {inner}{where} #{digest([*described, *facts])[:12]}"


def device_of(key: str) -> str:
    """The class of GPUs in a key; empty if there is none."""
    return key.partition(ON)[2].partition(" #")[0]


def without_device(key: str) -> str:
    """The key of the same call where all devices run it."""
    return key.replace(f"{ON}{device_of(key)}", "") if device_of(key) else key
