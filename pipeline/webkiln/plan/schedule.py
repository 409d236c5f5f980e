"""Choose a schedule for each call, of the kind that the target runs.

A rule that rejects an axis returns the reason, which `webkiln explain` prints.
"""

from collections.abc import Collection

from webkiln.errors import InternalError
from webkiln.nest.choice import Choice
from webkiln.nest.schedule import InvocationSchedule, LoopSchedule
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Draws, Invocations, Target
from webkiln.plan.cost import expected
from webkiln.plan.invocations import schedule_invocations
from webkiln.plan.kernel_templates import template_choices
from webkiln.plan.loops import scalar_loops, schedule_loops
from webkiln.plan.vector_axis import vector_axis
from webkiln.plan.vectors import Rejection
from webkiln.plan.window_forms import schedule_window


def plain(call: NestCall, target: Target, why: str) -> Choice:
    """The scalar schedule: one element at a time, in one thread."""
    order = tuple(loop.axis for loop in call.nest.axes)
    return Choice(InvocationSchedule(order) if target.invocations else LoopSchedule(order), why)


def choose(call: NestCall, target: Target, constants: Collection[str]) -> Choice:
    """The schedule of `call` on a backend: loops, or the template that is expected to be faster.
    Operands named in `constants` may be repacked.
    """
    loops = _choose_loops(call, target, constants)
    templates = () if call.form else template_choices(call, target, constants, _choose_loops)
    choices: list[Choice] = [loops, *templates]
    if len(choices) == 1:
        return loops
    return min(choices, key=lambda choice: expected(call, choice.schedule, target))


def _choose_loops(call: NestCall, target: Target, constants: Collection[str]) -> Choice:
    axis = vector_axis(call, target, constants)
    runs = target.runs
    if isinstance(runs, Draws):
        raise InternalError(f"{target.backend} schedules draws by the layouts of their textures")
    if call.form is not None and call.form.window is not None:
        windows = schedule_window(call, axis, call.form)
        return Choice(windows, ", ".join(_explanation(call, windows)))
    if isinstance(axis, Rejection):
        if isinstance(runs, Invocations):
            return plain(call, target, axis.reason)
        return Choice(scalar_loops(call, runs), axis.reason)
    schedule = (
        schedule_invocations(call, axis, target, runs)
        if isinstance(runs, Invocations)
        else schedule_loops(call, axis, target, runs)
    )
    rejected = f" ({'; '.join(axis.rejected)})" if axis.rejected else ""
    return Choice(schedule, ", ".join(_explanation(call, schedule)) + rejected)


def _explanation(call: NestCall, schedule: LoopSchedule | InvocationSchedule) -> list[str]:
    """The vector axis, how invocations share work, the tile and the panels."""
    tile = schedule.tile
    parts = [f"{tile.lanes} of {tile.vector} at a time"]
    workgroup = schedule.workgroup if isinstance(schedule, InvocationSchedule) else None
    if isinstance(schedule, InvocationSchedule) and schedule.window:
        parts.append("with the weights in workgroup memory")
    elif workgroup and workgroup.depth:
        parts.append(
            f"in blocks of a workgroup, {workgroup.depth}"
            f" deep{', in float16 where the device can' if workgroup.float16 else ''}"
        )
    elif workgroup:
        parts.append(f"by {workgroup.size} invocations")
    if tile.axis is not None:
        parts.append(f"{tile.count} of {tile.axis}")
    return parts + [
        f"{call.inputs[panel.source].name} in panels of {panel.block}" for panel in schedule.panels
    ]
