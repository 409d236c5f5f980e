"""Run independent calls of one kernel in one launch, such as the products that compute queries,
keys and values.

A launch takes longer than many calls, and a GPU runs launches one after another, even if they are
too small to occupy it. So calls of equal nests with equal schedules share a launch if none uses
what another one writes. Calls may be in branches for classes of GPUs; then those of each class
share one. Emulated GPUs keep separate launches, which cost little there.

before:
    program g
    buffer x: float32[8,64] input
    buffer w: float32[64,32] constant
    buffer v: float32[64,48] constant
    buffer k: float32[8,32]
    buffer y: float32[8,32]
    buffer z: float32[8,48]
    live y, z
    k: float32[8,32] = nest(x: float32[8,64], w: float32[64,32]) @keys
      where p0 = 8; p1 = 32; p2 = 64
      why 4 of a1 at a time, 4 of a0
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0
    y: float32[8,32] = nest(k: float32[8,32]) @tanh
      where p0 = 8; p1 = 32
      why 4 of a1 at a time
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4}
      for a0 < p0, a1 < p1
      out0[a0, a1] = tanh(in0[a0, a1])
    z: float32[8,48] = nest(x: float32[8,64], v: float32[64,48]) @values
      where p0 = 8; p1 = 48; p2 = 64
      why 4 of a1 at a time, 4 of a0
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0

after:
    program g
    buffer x: float32[8,64] input
    buffer w: float32[64,32] constant
    buffer v: float32[64,48] constant
    buffer k: float32[8,32]
    buffer z: float32[8,48]
    buffer y: float32[8,32]
    live y, z
    device 8:
      parallel:
        k: float32[8,32] = nest(x: float32[8,64], w: float32[64,32]) @keys
          where p0 = 8; p1 = 32; p2 = 64
          why 4 of a1 at a time, 4 of a0
          schedule kind = "invocations"; order = ["a0", "a1"]
          schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}
          for a0 < p0, a1 < p1
          reduce r0 < p2
          acc0 = sum(in0[a0, r0] * in1[r0, a1])
          out0[a0, a1] = acc0
        z: float32[8,48] = nest(x: float32[8,64], v: float32[64,48]) @values
          where p0 = 8; p1 = 48; p2 = 64
          why 4 of a1 at a time, 4 of a0
          schedule kind = "invocations"; order = ["a0", "a1"]
          schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}
          for a0 < p0, a1 < p1
          reduce r0 < p2
          acc0 = sum(in0[a0, r0] * in1[r0, a1])
          out0[a0, a1] = acc0
    else:
      k: float32[8,32] = nest(x: float32[8,64], w: float32[64,32]) @keys
        where p0 = 8; p1 = 32; p2 = 64
        why 4 of a1 at a time, 4 of a0
        schedule kind = "invocations"; order = ["a0", "a1"]
        schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}
        for a0 < p0, a1 < p1
        reduce r0 < p2
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0
      z: float32[8,48] = nest(x: float32[8,64], v: float32[64,48]) @values
        where p0 = 8; p1 = 48; p2 = 64
        why 4 of a1 at a time, 4 of a0
        schedule kind = "invocations"; order = ["a0", "a1"]
        schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}
        for a0 < p0, a1 < p1
        reduce r0 < p2
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0
    y: float32[8,32] = nest(k: float32[8,32]) @tanh
      where p0 = 8; p1 = 32
      why 4 of a1 at a time
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4}
      for a0 < p0, a1 < p1
      out0[a0, a1] = tanh(in0[a0, a1])
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from webkiln.ir.solve import nominal_size
from webkiln.nest.program import Program
from webkiln.nest.schedule import InvocationSchedule, TemplateSchedule
from webkiln.nest.steps import (
    Block,
    DeviceBranch,
    NestCall,
    Parallel,
    Step,
    Workgroups,
    every_step,
)
from webkiln.nest.target import Target
from webkiln.plan.devices import specialised
from webkiln.plan.launch_groups import gathered
from webkiln.plan.launch_size import workgroups
from webkiln.plan.segments import bindings

MOST = 8
"""The calls of a launch."""
OCCUPIED = 1024
"""The workgroups of a call that occupies a GPU, so that the time of a launch matters little."""


def run(program: Program, target: Target) -> Program:
    return share_launches(program, target, lambda call: True)


def share_launches(program: Program, target: Target, suits: Callable[[NestCall], bool]) -> Program:
    """The program in which those calls that suit share launches."""
    classes = target.invocations.classes if target.invocations else ()
    least = classes[0].multiprocessors if classes else 0
    return program.with_steps(_Merging(suits, least).block(program.steps))


def separated(steps: Block, segments: Mapping[str, int | None]) -> Block:
    """The steps, but that calls share launches only if they bind the same segments. `segments`: the
    one of each buffer.
    """

    def kernel_bindings(step: Step) -> object:
        return bindings([segments[view.name] for view in (*step.reads, *step.writes)])

    result: list[Step] = []
    for step in steps:
        if not isinstance(step, Parallel):
            result.append(step.map_blocks(lambda block: separated(block, segments)))
            continue
        parts: list[list[Step]] = []
        for call in step.steps:
            bound = kernel_bindings(call)
            part = next((part for part in parts if kernel_bindings(part[0]) == bound), None)
            if part is None:
                parts.append([call])
            else:
                part.append(call)
        result += map(_in_one_launch, parts)
    return tuple(result)


class _Merging:
    """`suits`: whether a call may share a launch, if it does not occupy the GPU alone. `least`: the
    multiprocessors of the smallest GPU on which calls share launches.
    """

    def __init__(self, suits: Callable[[NestCall], bool], least: int) -> None:
        self.suits, self.least = suits, least

    def block(self, steps: Block, low: int = 0) -> Block:
        """The steps of devices with at least `low` multiprocessors."""
        inner = [self._inside(step, low) for step in steps]
        groups = gathered(inner, partial(self._pays, low))
        return tuple(step for group in groups for step in self._merged(low, group))

    def _inside(self, step: Step, low: int) -> Step:
        """A step whose blocks share launches."""
        if isinstance(step, Workgroups | Parallel):
            return step
        if not isinstance(step, DeviceBranch):
            return step.map_blocks(partial(self.block, low=low))
        is_shared = max(step.least, low) > self.least
        otherwise = self.block(step.otherwise, low) if is_shared else step.otherwise
        return replace(step, then=self.block(step.then, max(step.least, low)), otherwise=otherwise)

    def _pays(self, low: int, group: Sequence[Step], step: Step) -> bool:
        """Whether a step shares a launch with the first one of a group on some devices."""
        pair = (group[0], step)
        return any(
            len(self._launches(pair, start)) < len(specialised(pair, start))
            for start in self._starts(low, pair)
        )

    def _merged(self, low: int, group: Sequence[Step]) -> Block:
        """The steps of a group, in branches for the devices for which they differ."""
        if len(group) == 1:
            return tuple(group)
        first, *others = self._starts(low, group)
        merged = last = self._launches(group, first)
        for start in others:
            steps = self._launches(group, start)
            if steps != last:
                merged, last = (DeviceBranch(start, steps, merged),), steps
        return merged

    def _launches(self, group: Sequence[Step], multiprocessors: int) -> Block:
        """The steps of a group on devices of this size, where equal kernels share launches."""
        steps = specialised(group, multiprocessors)
        if multiprocessors < self.least:
            return tuple(steps)
        return tuple(map(_in_one_launch, gathered(steps, self._joins)))

    def _starts(self, low: int, steps: Iterable[Step]) -> list[int]:
        """The sizes of devices from which on steps differ, from `low` in ascending order."""
        branches = (step for step in every_step(steps) if isinstance(step, DeviceBranch))
        sizes = {self.least, *(branch.least for branch in branches)}
        return [low, *sorted(size for size in sizes if size > low)]

    def _joins(self, group: Sequence[Step], step: Step) -> bool:
        first = group[0]
        return (
            isinstance(first, NestCall)
            and isinstance(step, NestCall)
            and len(group) < MOST
            and (first.nest, first.schedule) == (step.nest, step.schedule)
            and all(map(self._suits, (first, step)))
        )

    def _suits(self, call: NestCall) -> bool:
        """Whether a launch of the call may be shared."""
        schedule = call.schedule
        if not isinstance(schedule, InvocationSchedule | TemplateSchedule):
            return False
        count = nominal_size(workgroups(call.nest, schedule, call.args))
        return count <= OCCUPIED and self.suits(call)


def _in_one_launch(group: Sequence[Step]) -> Step:
    return group[0] if len(group) == 1 else Parallel(tuple(group))
