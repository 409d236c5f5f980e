"""Divide attention of few rows with many keys among more workgroups: each computes a chunk of keys,
with a maximum and a total of its own, and a second launch merges the chunks.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isqrt, prod

from webkiln.ir import dim, symbols
from webkiln.nest.program import Program, free_counter
from webkiln.nest.steps import (
    DeviceBranch,
    NestCall,
    Repeat,
    Step,
    Workgroups,
    every_step,
    operand_names,
)
from webkiln.nest.target import GpuClass, Target
from webkiln.plan.attention_calls import Attention, match_attention
from webkiln.plan.attention_chunks import Chunks
from webkiln.plan.attention_rows import Layout, column_of, layout_of
from webkiln.plan.device_steps import emulated_steps, steps_below

LONG = 256
"""The keys from which on they are divided."""
NOMINAL = 1024
"""The keys of a cache whose length is not known."""
SHORTEST, LONGEST = 32, 256
"""Keys of a chunk."""
OCCUPYING = 2
"""The workgroups on a multiprocessor that occupy it; more than `MOST` gain nothing."""
MOST = 4
ELEMENTS = 1024
"""Scores of a workgroup, at most."""


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
        found = {item.calls[-1].outputs[0].name: item for item in self._found(steps)}
        members = {call.outputs[0].name: name for name, item in found.items() for call in item.calls}
        own: dict[str, list[Step]] = {name: [] for name in found}
        result: list[Step] = []
        for step in steps:
            call = _plain_call(step)
            name = members.get(call.outputs[0].name) if call is not None else None
            if call is None or name is None:
                is_done = isinstance(step, DeviceBranch | Workgroups | Repeat)
                result.append(step if is_done else step.map_blocks(self.block))
                continue
            own[name].append(step)
            if call.outputs[0].name == name:
                result += self._split(found[name], own[name])
        return tuple(result)

    def _found(self, steps: Sequence[Step]) -> Iterator[Attention]:
        plain = [_plain_call(step) for step in steps]
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
            found = match_attention(call, writers) if call is not None else None
            if found is not None and self._is_apart(found, plain[:position], steps):
                yield found

    def _is_apart(
        self, found: Attention, plain: Sequence[NestCall | None], steps: Sequence[Step]
    ) -> bool:
        """Whether only the calls of attention read its results, and no step between them writes
        what they read. `plain`: the calls before the last one.
        """
        own = Counter(name for call in found.calls for name in operand_names(call))
        if any(own[name] != self.mentions[name] for name in found.between):
            return False
        first = next(number for number, call in enumerate(plain) if call is found.scores)
        between = [
            step
            for step, call in zip(steps[first:], plain[first:], strict=False)
            if not any(call is item for item in found.calls)
        ]
        written = {view.name for step in every_step(between) for view in step.writes}
        return written.isdisjoint(own)

    def _split(self, found: Attention, own: Sequence[Step]) -> Sequence[Step]:
        """The steps of attention: for each class of GPUs, as they are or by chunks."""
        layout = layout_of(found) if _is_divisible(found) else None
        steps, last = tuple(own), 0
        for gpu in self.classes if layout is not None else ():
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
    """Whether there are many keys, more than rows if their number is not known, and whole vectors
    of values.
    """
    keys, rows = found.keys, found.sizes
    columns = [loop for loop in found.product.nest.axes]
    if len(columns) < 1:
        return False
    _, width = column_of(found)
    is_long = keys >= LONG if not dim.is_symbolic(keys) else bool(
        symbols.names([keys]) - symbols.names(rows)
    )
    dtypes = [view.type.dtype for call in found.calls for view in call.outputs]
    return (
        is_long and set(dtypes) == {"float32"} and not dim.is_symbolic(width) and width % 4 == 0
    )


def chunk_keys(found: Attention, layout: Layout, gpu: GpuClass) -> int:
    """The keys of a chunk, or 0 if the rows alone occupy the GPU. The time of a chunk grows with its
    length and that of the merging launch with their number, so that the best length grows with the
    square root of the keys. On a smaller GPU, chunks are longer.
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
    while length < min(LONGEST, max(best, enough)) and 2 * length * rows <= ELEMENTS:
        length *= 2
    return length
