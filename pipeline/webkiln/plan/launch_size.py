"""The workgroups of the launch of a kernel on a GPU."""

from collections.abc import Mapping
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import Size, known
from webkiln.nest.kernel_template import find_template
from webkiln.nest.nest import Nest
from webkiln.nest.schedule import InvocationSchedule, Schedule, TemplateSchedule
from webkiln.plan.vector_products import MOST_GROUPS, VECTOR_PRODUCT

WORKGROUP = 64
"""The invocations of a workgroup, unless its schedule states them."""


def workgroups(nest: Nest, schedule: Schedule, args: Mapping[str, Size]) -> Size:
    """The number of workgroups that compute the points of a nest."""
    extents = {loop.axis: args[loop.extent.value] for loop in nest.axes}
    if isinstance(schedule, TemplateSchedule):
        template = find_template(schedule.template)
        rows, columns = template.block
        count = prod(extents[name] for name in schedule.split)
        others = prod(extents[name] for name in extents if name not in schedule.split)
        groups = _chunks(count, rows) * _chunks(others, columns)
        if template.step == VECTOR_PRODUCT:
            groups = min(known(groups, template.name), MOST_GROUPS)
        return groups
    assert isinstance(schedule, InvocationSchedule)
    tiles = {name: _chunks(extent, schedule.span(name)) for name, extent in extents.items()}
    if schedule.window:
        assert schedule.workgroup is not None
        image = _chunks(prod(tiles[name] for name in schedule.image), schedule.workgroup.rows)
        return image * tiles[schedule.order[-1]]
    total: Size = prod(tiles.values())
    return total if schedule.workgroup else full_workgroups(total)


def full_workgroups(invocations: Size) -> Size:
    """The number of workgroups of the usual size."""
    return _chunks(invocations, WORKGROUP)


def _chunks(size: Size, span: int) -> Size:
    return dim.floordiv(size + (span - 1), span)
