"""Divide attention of few rows with many keys among more workgroups: each computes a chunk of keys,
with a maximum and a total of its own, and a second launch merges the chunks.

before:
    program g
    buffer q: float32[4,32] input
    buffer k: float32[4,300,32] input
    buffer v: float32[4,300,32] input
    buffer s: float32[4,300]
    buffer p~1: float32[4]
    buffer p: float32[4,300]
    buffer p~2: float32[4]
    buffer y: float32[4,32]
    live y
    s: float32[4,300] = nest(q: float32[4,32], k: float32[4,300,32]) @s
      where p0 = 4; p1 = 300; p2 = 32
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[a0, a1, r0])
      out0[a0, a1] = acc0
    p~1: float32[4] = nest(s: float32[4,300]) @p
      where p0 = 4; p1 = 300
      for a0 < p0
      reduce r0 < p1
      acc0 = max(in0[a0, r0])
      out0[a0] = acc0
    p: float32[4,300] = nest(s: float32[4,300], p~1: float32[4]) @p
      where p0 = 4; p1 = 300
      for a0 < p0, a1 < p1
      out0[a0, a1] = exp(in0[a0, a1] - in1[a0])
    p~2: float32[4] = nest(p: float32[4,300]) @p
      where p0 = 4; p1 = 300
      for a0 < p0
      reduce r0 < p1
      acc0 = sum(in0[a0, r0])
      out0[a0] = acc0
    y: float32[4,32] = nest(p: float32[4,300], v: float32[4,300,32], p~2: float32[4]) @y
      where p0 = 4; p1 = 32; p2 = 300
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[a0, r0, a1])
      out0[a0, a1] = acc0 / in2[a0]

after:
    program g
    buffer q: float32[4,32] input
    buffer k: float32[4,300,32] input
    buffer v: float32[4,300,32] input
    buffer s~64s: float32[64]
    buffer s~64m: float32[]
    buffer s~64w: float32[64]
    buffer s~64t: float32[]
    buffer s~64ms: float32[4,5,4]
    buffer s~64ts: float32[4,5,4]
    buffer s~64ys: float32[4,5,32]
    buffer s~64max: float32[4]
    buffer s~64sum: float32[4]
    buffer y: float32[4,32]
    buffer s: float32[4,300]
    buffer p~1: float32[4]
    buffer p: float32[4,300]
    buffer p~2: float32[4]
    live y
    device 8:
      workgroups i0 < 20 of 128 sharing s~64s, s~64m, s~64w, s~64t:
        s~64s: float32[64] = nest(q: float32[4,32], k: float32[4,300,32]) @s
          where p0 = 64; p1 = 32; p2 = floordiv(i0, 5); p3 = -320*floordiv(i0, 5) + 64*i0
          why by chunks of keys
          schedule kind = "invocations"; order = ["a0"]; tile = {"vector": "r0", "lanes": 32}
          for a0 < p0
          reduce r0 < p1
          %0 = a0 + p3
          %1 = %0 < 300
          acc0 = sum(in0[p2, r0] * in1[p2, %0, r0 if %1 else 0.0])
          out0[a0] = select(%1, acc0, -inf)
        s~64m: float32[] = nest(s~64s: float32[64]) @p
          where p0 = 64
          why by chunks of keys
          schedule kind = "invocations"; tile = {"vector": "r0", "lanes": 16}
          reduce r0 < p0
          acc0 = max(in0[r0])
          out0[] = max(acc0, -3.4028234663852886e+38)
        s~64w: float32[64] = nest(s~64s: float32[64], s~64m: float32[]) @p
          where p0 = 64
          why by chunks of keys
          schedule kind = "invocations"; order = ["a0"]
          for a0 < p0
          out0[a0] = exp(in0[a0] - in1[])
        s~64t: float32[] = nest(s~64w: float32[64]) @p
          where p0 = 64
          why by chunks of keys
          schedule kind = "invocations"; tile = {"vector": "r0", "lanes": 16}
          reduce r0 < p0
          acc0 = sum(in0[r0])
          out0[] = acc0
        s~64ms: float32[4,5,4]; s~64ts: float32[4,5,4] = nest(s~64m: float32[], s~64t: float32[]) @p
          where p0 = 4; p1 = floordiv(i0, 5); p2 = -5*floordiv(i0, 5) + i0
          why by chunks of keys
          schedule kind = "invocations"; order = ["a0"]; tile = {"vector": "a0", "lanes": 4}
          schedule whole = true; aligned = true
          for a0 < p0
          out0[p1, p2, a0] = in0[]
          out1[p1, p2, a0] = in1[]
        s~64ys: float32[4,5,32] = nest(s~64w: float32[64], v: float32[4,300,32]) @y
          where p0 = 32; p1 = 64; p2 = floordiv(i0, 5); p3 = -320*floordiv(i0, 5) + 64*i0
          where p4 = -5*floordiv(i0, 5) + i0
          why by chunks of keys
          schedule kind = "invocations"; order = ["a0"]; tile = {"vector": "a0", "lanes": 4}
          schedule whole = true; aligned = true
          schedule workgroup = {"columns": 8, "parts": 16, "depth": 4}
          for a0 < p0
          reduce r0 < p1
          %0 = r0 + p3
          acc0 = sum(in0[r0] * in1[p2, %0, a0 if %0 < 300 else 0.0])
          out0[p2, p4, a0] = acc0
      workgroups i1 < 4 of 64 sharing s~64max, s~64sum:
        s~64max: float32[4] = nest(s~64ms: float32[4,5,4]) @p
          where p0 = 4; p1 = 5; p2 = i1
          why by chunks of keys
          schedule kind = "invocations"; order = ["a0"]; tile = {"vector": "a0", "lanes": 4}
          schedule whole = true; aligned = true; workgroup = {"columns": 4, "parts": 16}
          for a0 < p0
          reduce r0 < p1
          acc0 = max(in0[p2, r0, a0])
          out0[a0] = acc0
        s~64sum: float32[4] = nest(s~64ms: float32[4,5,4], s~64max: float32[4], s~64ts: float32[4,5,4]) @p
          where p0 = 4; p1 = 5; p2 = i1
          why by chunks of keys
          schedule kind = "invocations"; order = ["a0"]; tile = {"vector": "a0", "lanes": 4}
          schedule whole = true; aligned = true; workgroup = {"columns": 4, "parts": 16}
          for a0 < p0
          reduce r0 < p1
          acc0 = sum(exp(in0[p2, r0, 0] - in1[0]) * in2[p2, r0, a0])
          out0[a0] = acc0
        y: float32[4,32] = nest(s~64ms: float32[4,5,4], s~64max: float32[4], s~64sum: float32[4], s~64ys: float32[4,5,32]) @y
          where p0 = 32; p1 = 5; p2 = i1
          why by chunks of keys
          schedule kind = "invocations"; order = ["a0"]; tile = {"vector": "a0", "lanes": 4}
          schedule whole = true; aligned = true; workgroup = {"columns": 8, "parts": 8}
          for a0 < p0
          reduce r0 < p1
          acc0 = sum(exp(in0[p2, r0, 0] - in1[0]) * in3[p2, r0, a0])
          out0[p2, a0] = acc0 / in2[0]
    else:
      s: float32[4,300] = nest(q: float32[4,32], k: float32[4,300,32]) @s
        where p0 = 4; p1 = 300; p2 = 32
        for a0 < p0, a1 < p1
        reduce r0 < p2
        acc0 = sum(in0[a0, r0] * in1[a0, a1, r0])
        out0[a0, a1] = acc0
      p~1: float32[4] = nest(s: float32[4,300]) @p
        where p0 = 4; p1 = 300
        for a0 < p0
        reduce r0 < p1
        acc0 = max(in0[a0, r0])
        out0[a0] = acc0
      p: float32[4,300] = nest(s: float32[4,300], p~1: float32[4]) @p
        where p0 = 4; p1 = 300
        for a0 < p0, a1 < p1
        out0[a0, a1] = exp(in0[a0, a1] - in1[a0])
      p~2: float32[4] = nest(p: float32[4,300]) @p
        where p0 = 4; p1 = 300
        for a0 < p0
        reduce r0 < p1
        acc0 = sum(in0[a0, r0])
        out0[a0] = acc0
      y: float32[4,32] = nest(p: float32[4,300], v: float32[4,300,32], p~2: float32[4]) @y
        where p0 = 4; p1 = 32; p2 = 300
        for a0 < p0, a1 < p1
        reduce r0 < p2
        acc0 = sum(in0[a0, r0] * in1[a0, r0, a1])
        out0[a0, a1] = acc0 / in2[a0]
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isqrt, prod

from webkiln.ir import dim, symbols
from webkiln.nest.program import Program, free_counter
from webkiln.nest.steps import (
    DeviceBranch,
    NestCall,
    Step,
    Workgroups,
    every_step,
    operand_names,
)
from webkiln.nest.target import WORKGROUP_BYTES, GpuClass, Target
from webkiln.plan.attention_calls import Attention, match_attention
from webkiln.plan.attention_chunks import Chunks
from webkiln.plan.attention_rows import Layout, column_of, layout_of
from webkiln.plan.attention_schedules import chunk_bytes
from webkiln.plan.devices import emulated_steps, steps_below

LONG = 256
"""The keys from which on they are divided."""
NOMINAL = 1024
"""The keys of a cache whose length is not known."""
SHORTEST, LONGEST = 32, 256
"""Keys of a chunk."""
OCCUPYING = 2
"""The workgroups on a multiprocessor that occupy it; more than `MOST` gain nothing."""
MOST = 4


def run(program: Program, target: Target) -> Program:
    classes = target.invocations.classes if target.invocations else ()
    return _Splitting(program, target, classes).program() if classes else program


class _Splitting:
    """The attention of a program. `mentions`: how often steps name each buffer, and `written`: how
    often they write it.
    """

    def __init__(self, program: Program, target: Target, classes: Sequence[GpuClass]) -> None:
        self.source, self.target, self.classes = program, target, classes
        self.counter = free_counter(program)
        every = list(every_step(emulated_steps(program.steps)))
        self.mentions = Counter(name for step in every for name in operand_names(step))
        self.written = Counter(view.name for step in every for view in step.writes)

    def program(self) -> Program:
        return self.source.with_steps(self.block(self.source.steps))

    def block(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The steps, with branches in place of the last calls of attention."""
        plain = [_plain_call(step) for step in steps]
        found = {id(item.product): item for item in self._found(steps, plain)}
        members = {name: key for key, item in found.items() for name in item.results[:-1]}
        own: dict[int, list[Step]] = {key: [] for key in found}
        result: list[Step] = []
        for step, call in zip(steps, plain, strict=True):
            name = None if call is None else call.outputs[0].name
            key = id(call) if id(call) in found else members.get(name or "")
            if key is None:
                is_done = isinstance(step, DeviceBranch | Workgroups)
                result.append(step if is_done else step.map_blocks(self.block))
                continue
            own[key].append(step)
            if key == id(call):
                result += self._split(found[key], own[key])
        return tuple(result)

    def _found(
        self, steps: Sequence[Step], plain: Sequence[NestCall | None]
    ) -> Iterator[Attention]:
        writers = {
            view.name: call
            for call in plain
            if call is not None
            for view in call.outputs
            if self.written[view.name] == 1
            and self.source.buffers[view.name].kind == "local"
            and view.name not in self.source.live_out
        }
        for position, call in enumerate(plain):
            found = match_attention(call, writers, self.mentions) if call is not None else None
            if found is not None and self._is_apart(found, plain[:position], steps):
                yield found

    def _is_apart(
        self, found: Attention, plain: Sequence[NestCall | None], steps: Sequence[Step]
    ) -> bool:
        """Whether only the calls of attention read its results, and no step between them writes
        what they read. `plain`: the calls before the last one.
        """
        results = found.results[:-1]
        members = [call is not None and call.outputs[0].name in results for call in plain]
        calls = [
            *(call for call, inside in zip(plain, members, strict=True) if call and inside),
            found.product,
        ]
        own = Counter(name for call in calls for name in operand_names(call))
        if any(own[name] != self.mentions[name] for name in results):
            return False
        first = members.index(True)
        pairs = zip(steps[first : len(plain)], members[first:], strict=True)
        between = [step for step, is_member in pairs if not is_member]
        written = {view.name for step in every_step(between) for view in step.writes}
        return written.isdisjoint(view.name for call in calls for view in call.inputs)

    def _split(self, found: Attention, own: Sequence[Step]) -> Sequence[Step]:
        """The steps of attention: for each class of GPUs, as they are or by chunks."""
        steps, last = tuple(own), 0
        if not _is_divisible(found):
            return steps
        layout = layout_of(found)
        for gpu in self.classes:
            keys = chunk_keys(found, layout, gpu)
            if keys and keys != last:
                counters = (f"i{self.counter}", f"i{self.counter + 1}")
                self.counter += 2
                chunks = Chunks(found, layout, keys, counters, self.target)
                others = tuple(steps_below(steps, gpu.multiprocessors))
                steps = (DeviceBranch(gpu.multiprocessors, chunks.launches(), others),)
            last = keys
        return steps


def _plain_call(step: Step) -> NestCall | None:
    """The call that an emulated GPU runs for a step, if it is one call."""
    plain = emulated_steps([step])
    return plain[0] if len(plain) == 1 and isinstance(plain[0], NestCall) else None


def _is_divisible(found: Attention) -> bool:
    """Whether there are many keys, in a number other than that of the rows if it is symbolic, and
    whole vectors of values.
    """
    keys, columns = found.keys, column_of(found)
    if columns is None or any(
        view.type.dtype != "float32" for call in found.calls for view in call.outputs
    ):
        return False
    if dim.is_symbolic(keys):
        return bool(symbols.names([keys]) - symbols.names(found.sizes))
    return keys >= LONG


def chunk_keys(found: Attention, layout: Layout, gpu: GpuClass) -> int:
    """The keys of a chunk, or 0 if the rows alone occupy the GPU.

    The time of a chunk grows with its length, and that of the merging launch with their number, so
    that the best length grows with the square root of the keys: on an H100, 64 of 256, 128 of 1,024
    and 256 of 4,096 keys, and half of that for grouped heads. On a smaller GPU, chunks are longer.
    """
    groups = prod(size for size in layout.sizes[: layout.outer] if not dim.is_symbolic(size))
    if layout.block and not dim.is_symbolic(layout.sizes[-1]):
        groups *= -(-layout.sizes[-1] // layout.block)
    if groups >= OCCUPYING * gpu.multiprocessors:
        return 0
    keys = NOMINAL if dim.is_symbolic(found.keys) else found.keys
    rows = prod(layout.shape)
    best = (2 if rows > 1 else 4) * isqrt(keys)
    enough = keys * groups // (MOST * gpu.multiprocessors)
    length = SHORTEST
    columns = column_of(found)
    assert columns is not None

    def fits(keys: int) -> bool:
        return chunk_bytes(rows, keys, columns[1]) <= WORKGROUP_BYTES

    while 4 * length <= 3 * min(LONGEST, max(best, enough)) and fits(2 * length):
        length *= 2
    return length
