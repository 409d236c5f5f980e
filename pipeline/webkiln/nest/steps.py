"""The steps of a lowered program: nests, copies, loops and branches over views of Variables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from webkiln.errors import InternalError
from webkiln.ir import dim
from webkiln.ir.types import Type
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.nest import Nest
from webkiln.nest.procedure import Procedure


@dataclass(frozen=True, slots=True)
class View:
    """A Variable reinterpreted with another shape of the same size (dense, row-major)."""

    name: str
    type: Type

    def __getitem__(self, position: int) -> int:
        return self.type.shape[position]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    def reshaped(self, shape: Sequence[int]) -> "View":
        if dim.is_nonzero(prod(shape) - self.type.size):
            raise InternalError(f"{self.name}: {self.type} cannot have the shape {list(shape)}")
        return View(self.name, Type(self.type.dtype, tuple(shape)))


@dataclass(frozen=True, slots=True)
class NestCall:
    """A nest applied to Variables, with the values of its arguments.

    `part_of` is the key of the convolution that the call belongs to, if its algorithm is tunable.
    `exact` calls are computed in float32 on every target, because later steps amplify their errors.
    """

    nest: Nest
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    args: Mapping[str, int]
    layer: str = ""
    part_of: str = ""
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the elements of a Variable to another one of the same size."""

    source: View
    target: View
    layer: str = ""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A counted loop. Arguments of its steps may contain the symbol `counter`, the iteration number
    from 0.
    """

    counter: str
    count: int
    steps: tuple["Step", ...]


@dataclass(frozen=True, slots=True)
class HostCall:
    """A procedure applied to Variables. `result` is the data-dependent size that its return value
    defines, and an upper bound of it.
    """

    procedure: Procedure
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    args: Mapping[str, int]
    layer: str = ""
    result: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch on the bool `condition`."""

    condition: View
    then: tuple["Step", ...]
    otherwise: tuple["Step", ...]
    layer: str = ""


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """A while loop of at most `bound` iterations; `counter` is the iteration number from 0.

    `result` is the data-dependent size that the number of iterations defines, and an upper bound of
    it.
    """

    counter: str
    condition: View
    bound: int | None
    steps: tuple["Step", ...]
    layer: str = ""
    result: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class CustomCall:
    """A custom kernel of a plugin, applied to Variables. It has one output."""

    kernel: CustomKernel
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    args: Mapping[str, int]
    layer: str = ""


Step = NestCall | CustomCall | Copy | Repeat | HostCall | Branch | WhileLoop


def nested_blocks(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The nested blocks of a step."""
    if isinstance(step, Repeat | WhileLoop):
        return (step.steps,)
    return (step.then, step.otherwise) if isinstance(step, Branch) else ()


def map_blocks(step: Step, change: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> Step:
    """Apply `change` to the nested blocks of a step."""
    if isinstance(step, Repeat | WhileLoop):
        return replace(step, steps=change(step.steps))
    if isinstance(step, Branch):
        return replace(step, then=change(step.then), otherwise=change(step.otherwise))
    return step


def reads(step: Step) -> tuple[View, ...]:
    """The Variables that a step reads, without those of nested blocks."""
    if isinstance(step, Branch | WhileLoop):
        return (step.condition,)
    return (
        step.inputs
        if isinstance(step, NestCall | CustomCall | HostCall)
        else (step.source,)
        if isinstance(step, Copy)
        else ()
    )


def writes(step: Step) -> tuple[View, ...]:
    """The Variables that a step writes, without those of nested blocks."""
    return (
        step.outputs
        if isinstance(step, NestCall | CustomCall | HostCall)
        else (step.target,)
        if isinstance(step, Copy)
        else ()
    )


def calls(steps: Iterable[Step]) -> Iterator[NestCall]:
    """All calls of nests, in order, including those in nested blocks."""
    for step in steps:
        if isinstance(step, NestCall):
            yield step
        for block in nested_blocks(step):
            yield from calls(block)
