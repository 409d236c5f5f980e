"""The steps of a program: nests, copies, loops and branches over views of buffers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Self

from webkiln.errors import InternalError
from webkiln.ir import dim
from webkiln.ir.dim import Shape, Size
from webkiln.ir.types import Type
from webkiln.nest.choice import Choice
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.nest import Nest, Operand
from webkiln.nest.procedure import Procedure
from webkiln.nest.schedule import Form, Schedule


@dataclass(frozen=True, slots=True)
class View:
    """A Variable reinterpreted with another shape of the same size (dense, row-major)."""

    name: str
    type: Type

    def __getitem__(self, position: int) -> Size:
        return self.type.shape[position]

    @property
    def shape(self) -> Shape:
        return self.type.shape

    def reshaped(self, shape: Sequence[Size]) -> "View":
        if dim.is_nonzero(prod(shape) - self.type.size):
            raise InternalError(f"{self.name}: {self.type} cannot have the shape {list(shape)}")
        return View(self.name, Type(self.type.dtype, tuple(shape)))


ViewChange = Callable[[View], View]
Block = tuple["Step", ...]


class Step:
    """What every kind of step answers. The defaults are those of a step without operands and
    without nested blocks; a kind of step overrides what differs.
    """

    __slots__ = ()
    iterates = False
    """Whether the nested blocks run any number of times, instead of at most once."""
    concurrent = False
    """Whether the steps or the iterations of the nested blocks run at the same time."""

    @property
    def label(self) -> str:
        """The name in messages."""
        layer = getattr(self, "layer", "") or type(self).__name__
        return f"{layer} ({type(self).__name__})"

    @property
    def reads(self) -> tuple[View, ...]:
        """What the step reads, without its nested blocks."""
        return ()

    @property
    def writes(self) -> tuple[View, ...]:
        """What the step writes, without its nested blocks."""
        return ()

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ()

    @property
    def defines(self) -> tuple[str, ...]:
        """The symbols that have a value in the nested blocks only: loop counters."""
        return ()

    @property
    def computes(self) -> tuple[str, Size] | None:
        """The data-dependent size that the step computes, and an upper bound of it."""
        return None

    def with_blocks(self, blocks: Sequence[Block]) -> Self:
        """The step with other nested blocks, in the same number."""
        return self

    def with_views(self, change: ViewChange) -> Self:
        """The step with changed views, outside of its nested blocks. The operands of its nest,
        procedure or kernel get the dtypes of the views, whose ranks must stay.
        """
        return self

    def map_blocks(self, change: Callable[[Block], Block]) -> Self:
        """Apply `change` to the nested blocks."""
        return self.with_blocks([change(block) for block in self.blocks])

    def map_views(self, change: ViewChange) -> Self:
        """Change the views of the step and of its nested blocks."""
        return self.with_views(change).map_blocks(
            lambda block: tuple(step.map_views(change) for step in block)
        )


class _Call(Step):
    """A step with operands in the order of those of its nest, procedure or kernel."""

    __slots__ = ()
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]

    @property
    def reads(self) -> tuple[View, ...]:
        return self.inputs

    @property
    def writes(self) -> tuple[View, ...]:
        return self.outputs


def _retyped(operands: Sequence[Operand], views: Sequence[View]) -> tuple[Operand, ...]:
    """The operands with the dtypes of views."""
    return tuple(
        Operand(view.type.dtype, operand.rank)
        for operand, view in zip(operands, views, strict=True)
    )


@dataclass(frozen=True, slots=True)
class NestCall(_Call):
    """A nest applied to Variables, with the values of its arguments.

    `part_of` is the key of the convolution or product that the call belongs to, if its algorithm or
    its form is tunable.
    `exact` calls are computed in float32 on every target, because later steps amplify their errors.
    `form` is how invocations compute a contraction, if a pass has chosen it. `choice` is how the
    call runs, once it is scheduled. `passes` are those that changed the call.
    """

    nest: Nest
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    args: Mapping[str, Size]
    layer: str = ""
    part_of: str = ""
    exact: bool = False
    form: Form | None = None
    choice: Choice | None = None
    passes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def schedule(self) -> Schedule:
        """The schedule of a scheduled call."""
        if self.choice is None:
            raise InternalError(f"{self.label} has no schedule yet")
        return self.choice.schedule

    def with_views(self, change: ViewChange) -> "NestCall":
        inputs, outputs = tuple(map(change, self.inputs)), tuple(map(change, self.outputs))
        results = _retyped([out.operand for out in self.nest.outputs], outputs)
        nest = replace(
            self.nest,
            inputs=_retyped(self.nest.inputs, inputs),
            outputs=tuple(
                replace(out, operand=operand)
                for out, operand in zip(self.nest.outputs, results, strict=True)
            ),
        )
        return replace(self, nest=nest, inputs=inputs, outputs=outputs)


@dataclass(frozen=True, slots=True)
class HostCall(_Call):
    """A procedure applied to Variables. `result` is the data-dependent size that its return value
    defines, and an upper bound of it.
    """

    procedure: Procedure
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    args: Mapping[str, Size]
    layer: str = ""
    result: tuple[str, Size] | None = None

    @property
    def computes(self) -> tuple[str, Size] | None:
        return self.result

    def with_views(self, change: ViewChange) -> "HostCall":
        inputs, outputs = tuple(map(change, self.inputs)), tuple(map(change, self.outputs))
        procedure = replace(
            self.procedure,
            inputs=_retyped(self.procedure.inputs, inputs),
            outputs=_retyped(self.procedure.outputs, outputs),
        )
        return replace(self, procedure=procedure, inputs=inputs, outputs=outputs)


@dataclass(frozen=True, slots=True)
class CustomCall(_Call):
    """A custom kernel of a plugin, applied to Variables. It has one output."""

    kernel: CustomKernel
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    args: Mapping[str, Size]
    layer: str = ""

    def with_views(self, change: ViewChange) -> "CustomCall":
        inputs, outputs = tuple(map(change, self.inputs)), tuple(map(change, self.outputs))
        (output,) = _retyped([self.kernel.output], outputs)
        kernel = replace(self.kernel, inputs=_retyped(self.kernel.inputs, inputs), output=output)
        return replace(self, kernel=kernel, inputs=inputs, outputs=outputs)


@dataclass(frozen=True, slots=True)
class Copy(Step):
    """A copy of the elements of a Variable to another one of the same size."""

    source: View
    target: View
    layer: str = ""

    @property
    def reads(self) -> tuple[View, ...]:
        return (self.source,)

    @property
    def writes(self) -> tuple[View, ...]:
        return (self.target,)

    def with_views(self, change: ViewChange) -> "Copy":
        return replace(self, source=change(self.source), target=change(self.target))


class _Loop(Step):
    """A step that repeats a block."""

    __slots__ = ()
    iterates = True
    counter: str
    steps: Block

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.steps,)

    @property
    def defines(self) -> tuple[str, ...]:
        return (self.counter,)


@dataclass(frozen=True, slots=True)
class Repeat(_Loop):
    """A counted loop. Arguments of its steps may contain the symbol `counter`, the iteration number
    from 0.
    """

    counter: str
    count: Size
    steps: Block

    def with_blocks(self, blocks: Sequence[Block]) -> "Repeat":
        return replace(self, steps=blocks[0])


@dataclass(frozen=True, slots=True)
class Workgroups(_Loop):
    """A launch of `count` workgroups of `size` invocations. Iterations are independent, and each is
    computed by one workgroup, whose invocations share every step and meet before the next. The
    buffers `shared` are in workgroup memory: each iteration has its own. The blocks contain calls
    of nests and repeats.
    """

    concurrent = True
    counter: str
    count: Size
    steps: Block
    size: int
    shared: tuple[str, ...] = ()

    def with_blocks(self, blocks: Sequence[Block]) -> "Workgroups":
        return replace(self, steps=blocks[0])


@dataclass(frozen=True, slots=True)
class Parallel(Step):
    """Calls of nests in one launch. Each of them is computed by workgroups of its own, at the same
    time as the others, so that none uses what another one writes.
    """

    concurrent = True
    steps: Block

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.steps,)

    def with_blocks(self, blocks: Sequence[Block]) -> "Parallel":
        return replace(self, steps=blocks[0])


@dataclass(frozen=True, slots=True)
class Branch(Step):
    """A branch on the bool `condition`."""

    condition: View
    then: Block
    otherwise: Block
    layer: str = ""

    @property
    def reads(self) -> tuple[View, ...]:
        return (self.condition,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.then, self.otherwise)

    def with_blocks(self, blocks: Sequence[Block]) -> "Branch":
        then, otherwise = blocks
        return replace(self, then=then, otherwise=otherwise)

    def with_views(self, change: ViewChange) -> "Branch":
        return replace(self, condition=change(self.condition))


@dataclass(frozen=True, slots=True)
class DeviceBranch(Step):
    """A branch on the size of the GPU: `then` runs if it has at least `least` multiprocessors. Both
    blocks compute the same.
    """

    least: int
    then: Block
    otherwise: Block

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.then, self.otherwise)

    def with_blocks(self, blocks: Sequence[Block]) -> "DeviceBranch":
        then, otherwise = blocks
        return replace(self, then=then, otherwise=otherwise)


@dataclass(frozen=True, slots=True)
class WhileLoop(_Loop):
    """A while loop of at most `bound` iterations; `counter` is the iteration number from 0.

    `result` is the data-dependent size that the number of iterations defines, and an upper bound of
    it.
    """

    counter: str
    condition: View
    bound: Size | None
    steps: Block
    layer: str = ""
    result: tuple[str, Size] | None = None

    @property
    def reads(self) -> tuple[View, ...]:
        return (self.condition,)

    @property
    def computes(self) -> tuple[str, Size] | None:
        return self.result

    def with_blocks(self, blocks: Sequence[Block]) -> "WhileLoop":
        return replace(self, steps=blocks[0])

    def with_views(self, change: ViewChange) -> "WhileLoop":
        return replace(self, condition=change(self.condition))


def every_step(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps and those of their nested blocks."""
    for step in steps:
        yield step
        for block in step.blocks:
            yield from every_step(block)


def calls(steps: Iterable[Step]) -> Iterator[NestCall]:
    """All calls of nests, in order, including those in nested blocks."""
    return (step for step in every_step(steps) if isinstance(step, NestCall))


def operand_names(step: Step) -> list[str]:
    """The Variables that a step reads or writes, without its nested blocks."""
    return [view.name for view in (*step.reads, *step.writes)]


def closed_under_copies(names: Iterable[str], copies: Iterable[tuple[str, str]]) -> set[str]:
    """The largest subset of `names` such that every copy has both ends in it, or neither. Copies
    keep elements as they lie in memory, so that both ends have one storage.
    """
    remaining, pairs = set(names), list(copies)
    while split := remaining.intersection(
        name for pair in pairs if not remaining.issuperset(pair) for name in pair
    ):
        remaining -= split
    return remaining
