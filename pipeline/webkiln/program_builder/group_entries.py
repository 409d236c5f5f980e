"""The kernel and the launch of workgroups that compute several nests."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.notation import size_to_json
from webkiln.nest.affine import depends
from webkiln.nest.nest import Operand, load_index
from webkiln.nest.schedule import InvocationSchedule, panel_of
from webkiln.nest.steps import NestCall, Repeat, Step, View, Workgroups, calls
from webkiln.plan import kernel as kernels
from webkiln.plan.alignment import fits
from webkiln.plan.cost import moved, operations
from webkiln.plan.group_kernel import GroupKernel, Member, MemberRepeat, MemberStep, Place
from webkiln.plan.kernel import Kernel
from webkiln.plan.segments import bindings

Operands = dict[tuple[str, str], int]
"""The numbers of operands, by the name of the buffer and the dtype that a member reads or writes.
"""


def group_kernel(step: Workgroups) -> tuple[GroupKernel, list[str], list[Size]]:
    """The kernel of a launch, the buffers of its operands, and the values of its arguments."""
    return _Builder(step).kernel()


class _Builder:
    def __init__(self, step: Workgroups) -> None:
        self.step = step
        self.operands: Operands = {}
        self.types: list[Operand] = []
        self.arrays = {name: number for number, name in enumerate(step.shared)}
        self.elements = [0 for _ in step.shared]
        self.counters: dict[str, Size] = {step.counter: symbols.counter("i0")}
        self.arguments: dict[str, Size] = {}

    def kernel(self) -> tuple[GroupKernel, list[str], list[Size]]:
        step = self.step
        steps = tuple(map(self._step, step.steps))
        kernel = GroupKernel(
            step.size,
            self._size(step.count),
            steps,
            tuple(self.types),
            tuple(self.elements),
            tuple(f"u{number}" for number, _ in enumerate(self.arguments)),
            all(_is_aligned(call, step.shared) for call in calls(step.steps)),
        )
        names = [name for name, _ in self.operands]
        return kernel, names, [symbols.from_name(name) for name in self.arguments]

    def _step(self, step: Step) -> MemberStep:
        if isinstance(step, Repeat):
            name = f"i{len(self.counters)}"
            self.counters[step.counter] = symbols.counter(name)
            steps = tuple(map(self._step, step.steps))
            return MemberRepeat(name, self._size(step.count), steps)
        assert isinstance(step, NestCall)
        kernel, views = Kernel(step.nest, step.schedule), (*step.inputs, *step.outputs)
        pairs = zip(views, kernel.operands, strict=True)
        places = tuple(self._place(view, operand) for view, operand in pairs)
        values = kernels.values(kernel, views, step.args)
        return Member(kernel, places, tuple(map(self._size, values)))

    def _place(self, view: View, operand: Operand) -> Place:
        if view.name in self.arrays:
            number = self.arrays[view.name]
            size = view.type.size
            assert isinstance(size, int)
            self.elements[number] = max(self.elements[number], size)
            return Place(number, shared=True)
        key = (view.name, operand.dtype)
        if key not in self.operands:
            self.operands[key] = len(self.types)
            self.types.append(operand)
        return Place(self.operands[key])

    def _size(self, size: Size) -> Size:
        """The size in the names of the kernel."""
        renamed: dict[str, Size] = {}
        for name in sorted(symbols.names([size])):
            if name in self.counters:
                renamed[name] = self.counters[name]
                continue
            self.arguments.setdefault(name, symbols.data_dependent(f"u{len(self.arguments)}"))
            renamed[name] = self.arguments[name]
        return symbols.substitute(size, renamed)


def group_entry(
    step: Workgroups,
    addresses: Callable[[Iterable[View]], list[Any]],
    segments_of: Callable[[Iterable[View]], list[int | None]],
) -> tuple[GroupKernel, dict[str, Any]]:
    """The kernel and the launch of workgroups. `addresses` of buffers, and their segments."""
    kernel, names, arguments = group_kernel(step)
    members = list(calls(step.steps))
    views = {view.name: view for call in members for view in (*call.inputs, *call.outputs)}
    passes = dict.fromkeys(name for call in members for name in call.passes)
    places, segments = bindings(segments_of(views[name] for name in names))
    kernel = replace(kernel, segments=places)
    return kernel, {
        "kernel": kernel.name,
        "layer": "+".join(dict.fromkeys(call.layer for call in members if call.layer)),
        "operands": addresses(views[name] for name in names),
        **({"segments": segments} if segments else {}),
        "args": list(map(size_to_json, arguments)),
        "groups": size_to_json(step.count),
        "why": f"{len(members)} nests in one launch, by workgroups of {step.size} invocations",
        "passes": list(passes),
        "flops": size_to_json(_total(step, operations)),
        "bytes": size_to_json(_total(step, moved)),
    }


def _total(step: Workgroups, cost: Callable[[NestCall], Size]) -> Size:
    """The sum of a cost over all iterations. Sizes that depend on an iteration count as in the
    first one.
    """
    return step.count * _sum(step.steps, cost, {step.counter: 0})


def _sum(
    steps: Iterable[Step], cost: Callable[[NestCall], Size], first: Mapping[str, Size]
) -> Size:
    total: Size = 0
    for step in steps:
        if isinstance(step, Repeat):
            total += step.count * _sum(step.steps, cost, {**first, step.counter: 0})
        elif isinstance(step, NestCall):
            total += symbols.substitute(cost(step), first)
    return total


def _is_aligned(call: NestCall, shared: tuple[str, ...]) -> bool:
    """Whether all vectors of a call that lie in the arena start at multiples of four elements, and
    it stores nothing else there.
    """
    schedule = call.schedule
    assert isinstance(schedule, InvocationSchedule)
    vector = schedule.tile.vector
    if any(view.name not in shared for view in call.outputs) and not schedule.aligned:
        return False
    if schedule.aligned:
        return True
    axes = [name for name in (vector, schedule.unroll) if name is not None]
    for expr in call.nest.loads:
        position, index = expr.value[0], load_index(expr)
        view, panel = call.inputs[position], panel_of(schedule.panels, position)
        if view.name in shared:
            continue
        if view.type.dtype == "float16":
            return False
        moving = [name for name in axes if any(depends(item, name) for item in index)]
        if not all(fits(call, view, index, panel, name, stored=False) for name in moving):
            return False
    return True
