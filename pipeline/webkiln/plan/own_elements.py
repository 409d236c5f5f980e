"""Members of a kernel that access the same elements from the same invocations, so that no barrier
is needed between them.
"""

from collections.abc import Mapping
from typing import Any

from webkiln.ir.dim import Size
from webkiln.nest.expr import Expr
from webkiln.nest.nest import load_index
from webkiln.nest.schedule import InvocationSchedule
from webkiln.plan.group_kernel import Member, Place

Access = tuple[Any, ...]
"""The tiles of a member by invocation, and the element that each point accesses."""


def keeps_elements(first: Member, second: Member, place: Place) -> bool:
    """Whether each invocation accesses only elements of a buffer in the second member that it alone
    accesses in the first one.
    """
    accesses = _accesses(first, place) | _accesses(second, place)
    return len(accesses) == 1 and None not in accesses


def _accesses(member: Member, place: Place) -> set[Access | None]:
    """What distinguishes the accesses of a member to a buffer; None: an access that may belong to
    another invocation.
    """
    kernel, schedule = member.kernel, member.kernel.schedule
    nest = kernel.nest
    assert isinstance(schedule, InvocationSchedule)
    if schedule.workgroup is not None:
        return {None}
    values = dict(zip(kernel.arguments, member.values, strict=True))
    numbers = {name: number for number, name in enumerate(schedule.order)}
    extents = {loop.axis: values[loop.extent.value] for loop in nest.axes}
    tiles = tuple((extents[name], schedule.tile.copies(name)) for name in schedule.order)
    found: set[Access | None] = set()
    for position, other in enumerate(member.places):
        if other != place:
            continue
        if position < len(nest.inputs):
            indices = [load_index(expr) for expr in nest.loads if expr.value[0] == position]
        else:
            indices = [index for _, index in nest.outputs[position - len(nest.inputs)].stores]
        strides = tuple(
            values.get(f"s{position}_{dim}", 1) for dim in range(kernel.operands[position].rank)
        )
        for index in indices:
            items = tuple(_item(expr, numbers, values) for expr in index)
            used = {item[1] for item in items if item is not None and item[0] == "axis"}
            is_own = None not in items and used == set(numbers.values())
            found.add((tiles, items, strides) if is_own else None)
    return found


def _item(
    expr: Expr, numbers: Mapping[str, int], values: Mapping[str, Size]
) -> tuple[str, Any] | None:
    """An index that is a parallel axis, or the same at all points."""
    if expr.op == "axis":
        return ("axis", numbers[expr.value]) if expr.value in numbers else None
    if expr.op == "const":
        return ("size", expr.value)
    return ("size", values[expr.value]) if expr.op == "arg" else None
