"""The steps of a lowered program: nests, copies, loops and branches over views of Variables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from webkiln.errors import InternalError
from webkiln.ir import dim
from webkiln.ir.types import Type
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.nest import Nest, Operand
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


def map_views(step: Step, change: Callable[[View], View]) -> Step:
    """Change the views of a step and of its nested blocks. The operands of its nest, procedure or
    kernel get the dtypes of the views, whose ranks must stay.
    """

    def block(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(map_views(item, change) for item in steps)

    match step:
        case NestCall() | HostCall() | CustomCall():
            inputs, outputs = (tuple(map(change, views)) for views in (step.inputs, step.outputs))
            dtypes = ([view.type.dtype for view in views] for views in (inputs, outputs))
            return _with_operands(replace(step, inputs=inputs, outputs=outputs), *dtypes)
        case Copy():
            return replace(step, source=change(step.source), target=change(step.target))
        case Branch() | WhileLoop():
            step = replace(step, condition=change(step.condition))
    return map_blocks(step, block)


def _with_operands(
    step: NestCall | HostCall | CustomCall, inputs: Sequence[str], outputs: Sequence[str]
) -> Step:
    """The step with operands of these dtypes."""
    match step:
        case NestCall():
            operands = tuple(map(_retyped, step.nest.inputs, inputs))
            results = tuple(
                replace(out, operand=_retyped(out.operand, dtype))
                for out, dtype in zip(step.nest.outputs, outputs, strict=True)
            )
            return replace(step, nest=replace(step.nest, inputs=operands, outputs=results))
        case HostCall():
            procedure = replace(
                step.procedure,
                inputs=tuple(map(_retyped, step.procedure.inputs, inputs)),
                outputs=tuple(map(_retyped, step.procedure.outputs, outputs)),
            )
            return replace(step, procedure=procedure)
        case CustomCall(kernel):
            kernel = replace(
                kernel,
                inputs=tuple(map(_retyped, kernel.inputs, inputs)),
                output=_retyped(kernel.output, outputs[0]),
            )
            return replace(step, kernel=kernel)


def _retyped(operand: Operand, dtype: str) -> Operand:
    return Operand(dtype, operand.rank)


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
