"""Kernels: a nest with its schedule, parametrised by sizes, strides and offsets, so that many
layers share one kernel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any

from webkiln.canonical import key
from webkiln.ir.dim import Size, floordiv
from webkiln.nest import nest as nests
from webkiln.nest import schedule as schedules
from webkiln.nest.expr import walk
from webkiln.nest.nest import Nest, Operand
from webkiln.nest.schedule import (
    FragmentSchedule,
    InvocationSchedule,
    LoopSchedule,
    Panel,
    Schedule,
    TemplateSchedule,
    Workgroup,
    panel_of,
)
from webkiln.nest.steps import View

PART = ("part_from", "part_to")
TEXEL = 4
"""Elements of a texel."""
NONE: Mapping[str, int] = MappingProxyType({})
"""No Variable is stored in quarters."""


@dataclass(frozen=True)
class Kernel:
    """A nest with its schedule. Its name is derived from the digest of both. `segments`: the
    binding of each operand, unless all are in the arena (`plan/segments.py`).
    """

    nest: Nest
    schedule: Schedule
    segments: tuple[int, ...] = ()

    @cached_property
    def name(self) -> str:
        return f"k_{key(to_json(self))[:16]}"

    @property
    def by_rows(self) -> bool:
        """Whether the vector axis is a reduction loop."""
        return any(loop.axis == self.schedule.tile.vector for loop in self.nest.reduce)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.nest.inputs, *(out.operand for out in self.nest.outputs))

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The nest's own arguments, then the strides `s<operand>_<dim>` that the layout does not
        determine, then the texels `q<operand>` of a quarter of each operand stored in quarters.
        """
        extents = [loop.extent for loop in (*self.nest.axes, *self.nest.reduce)]
        names = {e.value for e in walk((*extents, *self.nest.roots)) if e.op == "arg"}
        strides = [
            f"s{position}_{dim}"
            for position in range(len(self.operands))
            for dim in self.strided(position)
        ]
        quarters = self.schedule.quarters if isinstance(self.schedule, FragmentSchedule) else ()
        return (
            *sorted(names, key=lambda name: int(name[1:])),
            *strides,
            *(f"q{position}" for position in quarters),
        )

    @property
    def part(self) -> tuple[str, ...]:
        """The arguments that bound a thread's part of the split loop."""
        schedule = self.schedule
        if not isinstance(schedule, LoopSchedule | TemplateSchedule) or not schedule.split:
            return ()
        return PART

    @property
    def multiplies_float16(self) -> bool:
        """Whether a device that supports it multiplies float16."""
        return self.workgroup is not None and self.workgroup.float16

    @property
    def multiplies_matrices(self) -> bool:
        """Whether a device that supports it multiplies subgroup matrices of float16."""
        if self.workgroup is None or not self.workgroup.matrices:
            return False
        factors = self.nest.accumulators[0].body.args
        return all(
            factor.op == "load" and self.nest.inputs[factor.value[0]].dtype == "float16"
            for factor in factors
        )

    @property
    def workgroup(self) -> Workgroup | None:
        """The invocations that compute points together, if several do."""
        return self.schedule.workgroup if isinstance(self.schedule, InvocationSchedule) else None

    def strided(self, position: int) -> tuple[int, ...]:
        """The dimensions of an operand whose stride is an argument."""
        rank = self.operands[position].rank
        panel = self.panel(position)
        if panel is None:
            return tuple(range(rank - 1))
        return (panel.dim, *panel.order[:-1]) if panel.order and panel.together == 1 else ()

    def panel(self, position: int) -> Panel | None:
        return panel_of(self.schedule.panels, position)


def strides(view: View, panel: Panel | None) -> dict[int, Size]:
    """The elements between neighbours along each dimension. For the dimension that a panel divides,
    the elements between its blocks.
    """
    shape = view.shape
    result: dict[int, Size] = {}
    if panel is None:
        for dim in range(len(shape)):
            result[dim] = prod(shape[dim + 1 :])
        return result
    size: Size = panel.block
    for dim in reversed(panel.order):
        result[dim] = size
        size *= shape[dim]
    result[panel.dim] = size
    return result


def values(
    kernel: Kernel,
    views: Sequence[View],
    args: Mapping[str, Size],
    quarters: Mapping[str, Size] = NONE,
) -> list[Size]:
    """The value of every argument for operands with the given views. `quarters`: the elements of a
    quarter of each operand stored in quarters.
    """
    result: list[Size] = []
    for name in kernel.arguments:
        if name.startswith("s"):
            position, dim = map(int, name[1:].split("_"))
            result.append(strides(views[position], kernel.panel(position))[dim])
        elif name.startswith("q"):
            result.append(floordiv(quarters[views[int(name[1:])].name], TEXEL))
        else:
            result.append(args[name])
    return result


def to_json(kernel: Kernel) -> dict[str, Any]:
    return {
        "nest": nests.to_json(kernel.nest),
        "schedule": schedules.to_json(kernel.schedule),
        **({"segments": list(kernel.segments)} if kernel.segments else {}),
    }


def from_json(data: dict[str, Any]) -> Kernel:
    nest, schedule = nests.from_json(data["nest"]), schedules.from_json(data["schedule"])
    return Kernel(nest, schedule, tuple(data.get("segments", ())))
