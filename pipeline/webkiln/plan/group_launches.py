"""Compute several calls in one launch, where their rows are independent: a layer normalisation, a
softmax, attention, a recurrence whose steps one workgroup computes.

A launch takes longer than many calls. Neighbouring calls that share rows (`plan/shared_rows.py`)
become the steps of workgroups, each of which computes a block of rows. Calls without common rows
share a single workgroup if they are small. Small results that nothing else reads are in workgroup
memory.

before:
    program g
    buffer x: float32[96,256] input
    buffer m: float32[96]
    buffer y: float32[96,256]
    live y
    m: float32[96] = nest(x: float32[96,256]) @norm
      where p0 = 96; p1 = 256
      why 4 of r0 at a time, by 64 invocations
      schedule kind = "invocations"; order = ["a0"]; tile = {"vector": "r0", "lanes": 4}
      schedule workgroup = {"parts": 64}
      for a0 < p0
      reduce r0 < p1
      acc0 = max(in0[a0, r0])
      out0[a0] = acc0
    y: float32[96,256] = nest(x: float32[96,256], m: float32[96]) @norm
      where p0 = 96; p1 = 256
      why 4 of a1 at a time
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4}; whole = true; aligned = true
      for a0 < p0, a1 < p1
      out0[a0, a1] = in0[a0, a1] - in1[a0]

after:
    program g
    buffer x: float32[96,256] input
    buffer m~group: float32[1]
    buffer y: float32[96,256]
    buffer m: float32[96]
    live y
    device 8:
      workgroups i0 < 96 of 32 sharing m~group:
        m~group: float32[1] = nest(x: float32[96,256]) @norm
          where p1 = 256; p2 = i0
          why one of several in a launch
          schedule kind = "invocations"; tile = {"vector": "r0", "lanes": 4}
          schedule workgroup = {"parts": 32}
          reduce r0 < p1
          acc0 = max(in0[p2, r0])
          out0[0] = acc0
        y: float32[96,256] = nest(x: float32[96,256], m~group: float32[1]) @norm
          where p1 = 256; p2 = i0
          why one of several in a launch
          schedule kind = "invocations"; order = ["a1"]; tile = {"vector": "a1", "lanes": 4}
          schedule whole = true; aligned = true
          for a1 < p1
          out0[p2, a1] = in0[p2, a1] - in1[0]
    else:
      m: float32[96] = nest(x: float32[96,256]) @norm
        where p0 = 96; p1 = 256
        why 4 of r0 at a time, by 64 invocations
        schedule kind = "invocations"; order = ["a0"]; tile = {"vector": "r0", "lanes": 4}
        schedule workgroup = {"parts": 64}
        for a0 < p0
        reduce r0 < p1
        acc0 = max(in0[a0, r0])
        out0[a0] = acc0
      y: float32[96,256] = nest(x: float32[96,256], m: float32[96]) @norm
        where p0 = 96; p1 = 256
        why 4 of a1 at a time
        schedule kind = "invocations"; order = ["a0", "a1"]
        schedule tile = {"vector": "a1", "lanes": 4}; whole = true; aligned = true
        for a0 < p0, a1 < p1
        out0[a0, a1] = in0[a0, a1] - in1[a0]
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import Size
from webkiln.ir.solve import nominal_size
from webkiln.nest.expr import INT, arg, axis, const, load
from webkiln.nest.nest import Loop, Nest, Operand, Output
from webkiln.nest.program import Program, free_counter
from webkiln.nest.schedule import InvocationSchedule
from webkiln.nest.steps import (
    Copy,
    DeviceBranch,
    NestCall,
    Repeat,
    Step,
    View,
    Workgroups,
    calls,
    every_step,
    operand_names,
)
from webkiln.nest.target import WORKGROUP_BYTES, Target
from webkiln.plan.devices import emulated_steps
from webkiln.plan.group_blocks import (
    block_rows,
    factors,
    launches,
    moves_vectors,
    parts_bytes,
    share_sums,
    work_of,
    workgroup_size,
)
from webkiln.plan.row_blocks import Blocks, blocked_steps, row_dimensions
from webkiln.plan.schedule import choose
from webkiln.plan.shared_rows import Rows, RowSpace

PARALLEL = 64
"""Workgroups among which a call would be divided, at least, in a launch of its own."""
STORED = ("float32", "int32", "uint32")
"""The dtypes of elements that are words."""


def run(program: Program, target: Target) -> Program:
    grouping = _Grouping(program, target)
    return program.with_steps(grouping.block(program.steps))


@dataclass(frozen=True, slots=True)
class Group:
    """Steps from a position on that share rows, in blocks of `block` rows."""

    rows: Rows
    block: int

    @property
    def gain(self) -> float:
        """The time that is saved, in launches, less what fewer workgroups lose."""
        count = nominal_size(Blocks(self.rows.sizes, self.block, "i0").count)
        work = sum(map(work_of, self.rows.steps))
        lost = work * max(0.0, 1 / max(count, 1) - 1 / PARALLEL)
        return sum(map(launches, self.rows.steps)) - 1 - lost


class _Grouping:
    """The groups of a program. `mentions`: how often steps name each buffer."""

    def __init__(self, program: Program, target: Target) -> None:
        self.program, self.target = program, target
        self.counter = free_counter(program)
        self.constants = program.constants
        self.mentions = Counter(
            name
            for step in every_step(emulated_steps(program.steps))
            for name in operand_names(step)
        )
        self.classes = target.invocations.classes if target.invocations else ()

    def block(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        plain = [[] if _is_group(step) else emulated_steps([step]) for step in steps]
        position, group = 0, self._best(plain)
        while position < len(steps):
            later = self._best(plain[position + 1 :])
            if group is None or (later is not None and later.gain > group.gain):
                result.append(self._outside(steps[position]))
                position, group = position + 1, later
            else:
                end = position
                covered: list[Step] = []
                while len(covered) < len(group.rows.steps):
                    covered += plain[end]
                    end += 1
                result.append(self._launch(group, covered))
                position, group = end, self._best(plain[end:])
        return tuple(result)

    def _outside(self, step: Step) -> Step:
        """A step that is in no group. Small devices may take a branch that contains groups."""
        if isinstance(step, DeviceBranch) and _is_group(step):
            is_large = step.least > self.classes[0].multiprocessors
            return replace(step, otherwise=self.block(step.otherwise)) if is_large else step
        done = isinstance(step, Workgroups | DeviceBranch)
        return step if done else step.map_blocks(self.block)

    def _launch(self, group: Group, plain: Sequence[Step]) -> Step:
        """The launch of a group. Emulated GPUs run the steps one by one, which is as fast there."""
        launched = self._workgroups(group)
        if not self.classes:
            return launched
        own = self._own(plain)

        def renamed(view: View) -> View:
            return replace(view, name=_inside(view.name)) if view.name in own else view

        shared = tuple(map(_inside, launched.shared))
        launched = replace(launched.map_views(renamed), shared=shared)
        return DeviceBranch(self.classes[0].multiprocessors, (launched,), tuple(plain))

    def _own(self, steps: Sequence[Step]) -> set[str]:
        """The local buffers that no other step mentions."""
        inside = Counter(name for step in every_step(steps) for name in operand_names(step))
        known = self.constants | self.program.live_out
        return {
            name
            for name, count in inside.items()
            if count == self.mentions[name]
            and self.program.buffers[name].kind == "local"
            and name not in known
        }

    def _best(self, plain: Sequence[Sequence[Step]]) -> Group | None:
        """The group of the first steps that gains most, along as many loops as possible. `plain`:
        the steps that an emulated GPU runs for each step; a group has all of them.
        """
        if not plain or not plain[0]:
            return None
        found: list[Group] = []
        prepared = self._prepared(plain[0][0])
        if prepared is None:
            return None
        first = next(calls([prepared]))
        names = [
            loop.axis
            for loop in first.nest.axes
            if first.args[loop.extent.value] != 1 and loop.axis != first.schedule.tile.vector
        ]
        for count in reversed(range(len(names) + 1)):
            group = self._group(plain, partial(RowSpace, first, names[:count]))
            if group is not None:
                found.append(group)
        return max(found, key=lambda group: group.gain, default=None)

    def _group(
        self, plain: Sequence[Sequence[Step]], make_space: Callable[[], RowSpace]
    ) -> Group | None:
        """The group of as many steps as share rows. If it ends within the steps for one, it is
        found again without these.
        """
        space, whole = make_space(), 0
        for steps in plain:
            if not steps or not all(self._joins(step, space) for step in steps):
                break
            whole += 1
        if space.count > sum(map(len, plain[:whole])):
            return self._group(plain[:whole], make_space) if whole else None
        rows = space.rows()
        if sum(map(launches, rows.steps)) < 2 or moves_vectors(rows):
            return None
        group = Group(rows, block_rows(rows))
        return group if group.gain > 0 else None

    def _joins(self, step: Step, space: RowSpace) -> bool:
        """Whether a step shares the rows of those before it."""
        prepared = self._prepared(step)
        return prepared is not None and self._suits(prepared, space) and space.add(prepared)

    def _prepared(self, step: Step) -> Step | None:
        """The step with calls in place of copies, or None if it needs a launch of its own."""
        if isinstance(step, Copy):
            return self._copying(step)
        if isinstance(step, Repeat):
            inner = [self._prepared(item) for item in step.steps]
            found = tuple(item for item in inner if item is not None)
            return replace(step, steps=found) if found and len(found) == len(inner) else None
        if not isinstance(step, NestCall) or not isinstance(step.schedule, InvocationSchedule):
            return None
        workgroup = step.schedule.workgroup
        stores_words = all(view.type.dtype in STORED for view in step.outputs)
        return step if stores_words and not (workgroup and workgroup.depth) else None

    def _copying(self, step: Copy) -> NestCall | None:
        """The call of a nest that copies."""
        dtype, shape = step.target.type.dtype, step.target.shape
        if dtype not in STORED or step.source.type.dtype != dtype:
            return None
        names = {d: f"a{d}" for d, size in enumerate(shape) if size != 1}
        index = tuple(axis(names[d]) if d in names else const(0, INT) for d in range(len(shape)))
        operand = Operand(dtype, len(shape))
        nest = Nest(
            (operand,),
            (Output(operand, load(0, operand.type, index), index),),
            tuple(Loop(name, arg(f"p{d}")) for d, name in names.items()),
        )
        args = {f"p{d}": shape[d] for d in names}
        source = step.source.reshaped(shape)
        call = NestCall(nest, (source,), (step.target,), args, step.layer)
        return replace(call, choice=choose(call, self.target, ()))

    def _suits(self, step: Step, space: RowSpace) -> bool:
        """Whether a step should share rows. Weights, which all rows multiply, are better read by
        larger blocks; only a small product may read them, or a recurrence of small rows.
        """
        parts = nominal_size(prod(space.sizes)) if isinstance(step, Repeat) else 1
        if work_of(step) <= launches(step) * parts:
            return True
        if not space.sizes:
            return False
        return not any(
            call.nest.is_contraction and any(view.name in self.constants for view in factors(call))
            for call in calls([step])
        )

    def _workgroups(self, group: Group) -> Workgroups:
        rows = group.rows
        blocks = Blocks(rows.sizes, group.block, f"i{self.counter}")
        self.counter += 1
        size = workgroup_size(rows, group.block)
        shared = self._shared(rows, group.block, size)
        steps = blocked_steps(rows, blocks, shared)
        scheduled = tuple(share_sums(step, group.block, size) for step in steps)
        return Workgroups(blocks.counter, blocks.count, scheduled, size, shared)

    def _shared(self, rows: Rows, block: int, size: int) -> tuple[str, ...]:
        """The buffers in workgroup memory, smallest first."""
        members = list(zip(calls(rows.steps), rows.covers, strict=True))
        own = self._own(rows.steps)
        bytes_of: dict[str, Size] = {}
        refused = set[str]()
        for call, cover in members:
            for position, view in enumerate((*call.inputs, *call.outputs)):
                dims = row_dimensions(call, cover, position) if cover else {}
                if dims is None or view.type.dtype not in STORED:
                    refused.add(view.name)
                    continue
                if position >= len(call.inputs):
                    other = prod(n for d, n in enumerate(view.shape) if d not in dims)
                    bytes_of[view.name] = 4 * other * (block if cover else 1)
        left, found = WORKGROUP_BYTES - parts_bytes(rows.steps, size), list[str]()
        for name, amount in sorted(bytes_of.items(), key=lambda item: nominal_size(item[1])):
            if name not in own - refused:
                continue
            if not dim.is_symbolic(amount) and 0 < amount <= left:
                found.append(name)
                left -= amount
        return tuple(found)


def _is_group(step: Step) -> bool:
    """Whether a step is or contains the launch of a group, for some devices at least."""
    return any(isinstance(item, Workgroups) for item in every_step([step]))


def _inside(name: str) -> str:
    """The name of a buffer in the launch of a group, where it may have another shape."""
    return f"{name}~group"
