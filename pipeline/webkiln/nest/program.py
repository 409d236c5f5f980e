"""The loop IR: buffers, and steps over views of them. A graph is lowered to it, and passes rewrite
it until its kernels are printed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.types import Type
from webkiln.nest.schedule import Panel
from webkiln.nest.steps import NestCall, Step, calls, every_step, operand_names

Kind = Literal["input", "constant", "state", "local"]
"""What gives a buffer its first value: the caller, the weights, the preceding run, or a step."""


@dataclass(frozen=True, slots=True)
class PanelLayout:
    """The layout of a constant of `shape` that its readers request as a panel."""

    shape: tuple[int, ...]
    panel: Panel

    @property
    def elements(self) -> int:
        """The elements in memory, including padding."""
        panel = self.panel
        group = panel.block * panel.together
        return panel.blocks(self.shape) * panel.groups(self.shape) * group


@dataclass(frozen=True, slots=True)
class TexelLayout:
    """Four elements along the last dimension to a texel. If each quarter is in a layer of its own,
    `quarter` is the number of its elements.
    """

    quarter: Size | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """The memory of a Variable. `storage` is the dtype that lies in memory; without a `layout`,
    elements are in row-major order. `address` is a byte offset, or the number of a texture; the
    offset is one in `segment`, if the buffer is not in the arena.
    """

    name: str
    type: Type
    storage: str
    kind: Kind = "local"
    layout: PanelLayout | TexelLayout | None = None
    address: Size | None = None
    segment: int | None = None


@dataclass(frozen=True, slots=True)
class State:
    """A value that persists between runs: the buffer that a run reads, the one with the value
    before the first run, and the one with the value for the next run.
    """

    input: str
    initial: str
    output: str


@dataclass(frozen=True)
class Program:
    """Steps in execution order.

    `live_out` are the buffers that are read after the last step. `roots` maps every Variable of the
    graph that is no buffer to the buffer that has its elements. `init` are the calls that compute
    constants once, when the model is loaded. `decided` describes each choice between algorithms or
    forms, by the key that its calls are `part_of`. `caches` are the buffers that lie in memory in
    their own dtype, whatever the backend stores otherwise. `memory` is what the buffers need, once
    they have addresses (docs/formats.md, program.json).
    """

    name: str
    buffers: Mapping[str, Buffer]
    steps: tuple[Step, ...]
    live_out: frozenset[str]
    roots: Mapping[str, str] = field(default_factory=dict)
    init: tuple[NestCall, ...] = ()
    decided: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    states: tuple[State, ...] = ()
    caches: frozenset[str] = frozenset()
    memory: Mapping[str, Any] | None = None

    @property
    def calls(self) -> tuple[NestCall, ...]:
        """All calls of nests, in order."""
        return tuple(calls(self.steps))

    def root(self, name: str) -> str:
        """The buffer that has the elements of a Variable."""
        return self.roots.get(name, name)

    @property
    def constants(self) -> frozenset[str]:
        """The buffers that have the same elements in every run."""
        own = {name for name, buffer in self.buffers.items() if buffer.kind == "constant"}
        return frozenset(own | {view.name for call in self.init for view in call.outputs})

    @property
    def repackable(self) -> frozenset[str]:
        """The constants that only calls of nests read, so that they may have another layout."""
        others = {
            view.name
            for step in every_step(self.steps)
            if not isinstance(step, NestCall)
            for view in step.reads
        }
        return self.constants - self.live_out - others

    @property
    def bounds(self) -> dict[str, Size]:
        """The upper bound of each data-dependent size, in the order in which steps compute them."""
        bounds: dict[str, Size] = {}
        for step in every_step(self.steps):
            if step.computes is not None:
                name, bound = step.computes
                bounds[name] = symbols.substitute(bound, bounds)
        return bounds

    def with_steps(self, steps: Iterable[Step]) -> "Program":
        """The program with other steps. Local buffers are those that the steps write, with the
        shape and the storage of the last write.
        """
        steps = tuple(steps)
        buffers = {name: item for name, item in self.buffers.items() if item.kind != "local"}
        for step in every_step((*self.init, *steps)):
            for view in step.writes:
                if view.name not in buffers or buffers[view.name].kind == "local":
                    default = Buffer(view.name, view.type, view.type.dtype)
                    known = self.buffers.get(view.name, default)
                    type_ = Type(known.type.dtype, view.shape)
                    buffers[view.name] = replace(known, type=type_, storage=view.type.dtype)
        return replace(self, steps=steps, buffers=buffers)


def free_counter(program: Program) -> int:
    """The number of the first counter `i<number>` that no loop of the program has."""
    counters = [
        int(name.removeprefix("i")) for step in every_step(program.steps) for name in step.defines
    ]
    return max(counters, default=-1) + 1


Run = Callable[[Sequence[NestCall], frozenset[str]], Sequence[Step]]
"""Rewrites neighbouring calls. The second argument are the buffers that others read."""


def map_runs(program: Program, change: Run) -> Program:
    """Rewrite each run of neighbouring calls, also in nested blocks."""
    live = program.live_out | _shared(program.steps)

    def block(steps: Iterable[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        for run, between in _runs(steps):
            result += change(run, live) if run else ()
            result += (step.map_blocks(block) for step in between)
        return tuple(result)

    return program.with_steps(block(program.steps))


def map_calls(program: Program, change: Callable[[NestCall], Sequence[Step]]) -> Program:
    """Replace each call by steps."""

    def block(steps: Iterable[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        for step in steps:
            result += change(step) if isinstance(step, NestCall) else [step.map_blocks(block)]
        return tuple(result)

    return program.with_steps(block(program.steps))


def _runs(steps: Iterable[Step]) -> Iterator[tuple[list[NestCall], list[Step]]]:
    """Each run of neighbouring calls, and the other steps after it."""
    for _, group in groupby(steps, lambda step: isinstance(step, NestCall)):
        group_steps = list(group)
        yield (
            [step for step in group_steps if isinstance(step, NestCall)],
            [step for step in group_steps if not isinstance(step, NestCall)],
        )


def _shared(steps: Iterable[Step]) -> set[str]:
    """The buffers that more than one run of calls, or another step, mentions."""
    shared: set[str] = set()
    earlier: set[str] = set()

    def visit(steps: Iterable[Step]) -> None:
        for run, between in _runs(steps):
            mentioned = {view.name for call in run for view in (*call.inputs, *call.outputs)}
            shared.update(mentioned & earlier)
            earlier.update(mentioned)
            for step in between:
                shared.update(operand_names(step))
                for inner in step.blocks:
                    visit(inner)

    visit(steps)
    return shared
