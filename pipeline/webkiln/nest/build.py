"""How a lowering writes nests: operands by name, sizes as run-time arguments, axes of size 1 left
out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod

from webkiln.errors import InternalError
from webkiln.ir import dim, symbols
from webkiln.ir.graph import Graph
from webkiln.ir.types import Type
from webkiln.nest.custom_kernel import CustomKernel, written
from webkiln.nest.expr import (
    INT,
    UINT,
    Expr,
    acc,
    accindex,
    apply,
    arg,
    axis,
    bitcast,
    const,
    load,
    select,
)
from webkiln.nest.nest import COMPUTE, Accumulator, Nest, Operand, Output, check
from webkiln.nest.nest import Loop as Axis
from webkiln.nest.procedure import Procedure, ProcedureWriter


@dataclass(frozen=True, slots=True)
class View:
    """A Variable seen with a shape of the same size (dense, row-major)."""

    name: str
    type: Type

    def __getitem__(self, position: int) -> int:
        return self.type.shape[position]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    def reshaped(self, shape: Sequence[int]) -> "View":
        if dim.never_zero(prod(shape) - self.type.size):
            raise InternalError(f"{self.name}: {self.type} cannot be seen with shape {list(shape)}")
        return View(self.name, Type(self.type.dtype, tuple(shape)))


@dataclass(frozen=True, slots=True)
class NestCall:
    """A nest applied to Variables, with the values of its arguments. `part_of` names the
    convolution
    that it computes a part of, or all, where there is a choice how. `exact`: what follows makes its
    errors larger, so that float32 stays where others are computed in less.
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
    """Copies the elements of one Variable to another of the same size."""

    source: View
    target: View
    layer: str = ""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A counted loop over steps; their arguments may mention `counter`, which starts at 0."""

    counter: str
    count: int
    steps: tuple["Step", ...]


@dataclass(frozen=True, slots=True)
class HostCall:
    """A procedure applied to Variables. `result`: the data_dependent size that its return value
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
    """`then` where the bool `condition` holds, else `otherwise`."""

    condition: View
    then: tuple["Step", ...]
    otherwise: tuple["Step", ...]
    layer: str = ""


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """A while loop over steps, at most `bound` iterations if there is one; `counter` starts at 0.
    `result`: the data_dependent size that the number of iterations defines, and an upper bound of
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
    """A kernel that a plugin wrote, applied to Variables; one output."""

    kernel: CustomKernel
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    args: Mapping[str, int]
    layer: str = ""


Step = NestCall | CustomCall | Copy | Repeat | HostCall | Branch | WhileLoop
Inline = Callable[[Graph, Sequence[View], int], tuple[list[Step], list[View]]]
"""Lowers a graph whose inputs are seen as the given views, that many repeats deep, to steps and the
views of its outputs.
"""


def inside(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The blocks of steps within a step."""
    if isinstance(step, Repeat | WhileLoop):
        return (step.steps,)
    return (step.then, step.otherwise) if isinstance(step, Branch) else ()


def map_inside(step: Step, change: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> Step:
    """The step with every block within it changed."""
    if isinstance(step, Repeat | WhileLoop):
        return replace(step, steps=change(step.steps))
    if isinstance(step, Branch):
        return replace(step, then=change(step.then), otherwise=change(step.otherwise))
    return step


def reads(step: Step) -> tuple[View, ...]:
    """What a step itself reads, without the steps within it."""
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
    return (
        step.outputs
        if isinstance(step, NestCall | CustomCall | HostCall)
        else (step.target,)
        if isinstance(step, Copy)
        else ()
    )


def calls(steps: Iterable[Step]) -> Iterator[NestCall]:
    """Every call, those inside other steps too, in order."""
    for step in steps:
        if isinstance(step, NestCall):
            yield step
        for block in inside(step):
            yield from calls(block)


class Lowering:
    """The operands of one operator and the steps written so far.

    `literals` holds the scalars known at compile time; `inline` and `depth` (of repeats around the
    operator) serve graphs inside it.
    """

    def __init__(
        self,
        inputs: Sequence[View],
        outputs: Sequence[View],
        layer: str,
        literals: Mapping[str, float] | None = None,
        inline: Inline | None = None,
        depth: int = 0,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.layer = layer
        self.literals = {} if literals is None else literals
        self.steps: list[Step] = []
        self._inline = inline
        self._depth = depth
        self._temporaries = 0

    @property
    def calls(self) -> list[NestCall]:
        return list(calls(self.steps))

    def temporary(self, dtype: str, shape: Sequence[int]) -> View:
        self._temporaries += 1
        return View(f"{self.outputs[0].name}~{self._temporaries}", Type(dtype, tuple(shape)))

    def nest(self) -> "NestBuilder":
        return NestBuilder(self)

    def materialized(self, view: View) -> View:
        """`view`, or, for a scalar that is written into kernels, a Variable that holds it."""
        if view.name not in self.literals:
            return view
        out = self.temporary(view.type.dtype, view.shape)
        self.copy(view, out)
        return out

    def copy(self, source: View, target: View) -> None:
        if source.name not in self.literals:
            self.steps.append(Copy(source, target, self.layer))
            return
        nest = self.nest()
        index = nest.axes(target.shape)
        nest.store(target, nest.load(source, index), index)
        nest.done()

    def inline(self, graph: Graph, inputs: Sequence[View]) -> list[View]:
        """Append the steps of a graph; the views of its outputs."""
        if self._inline is None:
            raise InternalError(
                f"{self.layer}: graphs inside operators are lowered with the graph around them"
            )
        steps, outputs = self._inline(graph, inputs, self._depth)
        self.steps += steps
        return outputs

    def written(self, texts: Mapping[str, str], args: Mapping[str, int] | None = None) -> None:
        """Append a kernel that is given as text for each backend; it computes the operator's only
        output.
        """
        inputs, (out,) = [self.materialized(view) for view in self.inputs], self.outputs
        kernel = written(
            tuple(view.type.dtype for view in inputs), out.type.dtype, tuple(args or ()), texts
        )
        self.steps.append(
            CustomCall(
                kernel, tuple(inputs), (out,), {"count": out.type.size, **(args or {})}, self.layer
            )
        )

    def host(
        self,
        writer: ProcedureWriter,
        inputs: Sequence[View],
        outputs: Sequence[View],
        result: tuple[Expr, str, int] | None = None,
    ) -> None:
        """Append what `writer` wrote; `result`: what it returns, the data_dependent size which that
        is, and what it is at most.
        """
        made = writer.done(result[0] if result else None)
        data_dependent = result[1:] if result else None
        self.steps.append(
            HostCall(
                made, tuple(inputs), tuple(outputs), dict(writer.args), self.layer, data_dependent
            )
        )

    @contextmanager
    def _block(self) -> Iterator[list[Step]]:
        outside, self.steps = self.steps, []
        block = self.steps
        yield block
        self.steps = outside

    def branch(
        self, condition: View, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """What one of two functions appends happens, by the bool `condition`."""
        with self._block() as yes:
            then()
        with self._block() as no:
            otherwise()
        self.steps.append(Branch(condition, tuple(yes), tuple(no), self.layer))

    @contextmanager
    def loop(
        self, condition: View, bound: int | None, result: tuple[str, int] | None = None
    ) -> Iterator[int]:
        """What is appended inside happens while the bool `condition` holds; gives the number of the
        repetition, from 0.
        """
        name = f"i{self._depth}"
        self._depth += 1
        with self._block() as steps:
            yield symbols.counter(name)
        self._depth -= 1
        self.steps.append(WhileLoop(name, condition, bound, tuple(steps), self.layer, result))

    @contextmanager
    def repeat(self, count: int) -> Iterator[int]:
        """What is appended inside happens `count` times; gives the number of the repetition, from
        0.
        """
        name = f"i{self._depth}"
        self._depth += 1
        with self._block() as steps:
            yield symbols.counter(name)
        self._depth -= 1
        self.steps.append(Repeat(name, count, tuple(steps)))


class NestBuilder:
    """Builds one nest; `done` checks it and appends the call to its Lowering."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._inputs: list[View] = []
        self._outputs: list[tuple[View, Output]] = []
        self._axes: list[Axis] = []
        self._reduce: list[Axis] = []
        self._accumulators: list[Accumulator] = []
        self._indices: tuple[Expr, ...] = ()
        self._args: dict[str, int] = {}

    def number(self, value: int) -> Expr:
        """A structural integer: 0 and 1 are part of the kernel, everything else is an argument."""
        return const(value, INT) if value in (0, 1) else self.argument(value)

    def argument(self, value: int) -> Expr:
        """An integer that is never part of the kernel, so that calls which differ in it alone share
        one.
        """
        name = f"p{len(self._args)}"
        self._args[name] = value
        return arg(name)

    def _loop(self, size: int, prefix: str, loops: list[Axis]) -> Expr:
        if size == 1:
            return const(0, INT)
        name = f"{prefix}{len(loops)}"
        loops.append(Axis(name, self.number(size) if size else self.argument(0)))
        return axis(name)

    def axes(self, shape: Sequence[int]) -> tuple[Expr, ...]:
        """Open parallel loops over `shape`; they are the default store index."""
        self._indices = tuple(self._loop(size, "a", self._axes) for size in shape)
        return self._indices

    def reduce(self, size: int) -> Expr:
        """Open a reduction loop."""
        return self._loop(size, "r", self._reduce)

    def load(
        self, view: View, index: Sequence[Expr], guard: Expr | None = None, other: float = 0
    ) -> Expr:
        """Read one element; where `guard` is false nothing is read and the value is `other`."""
        type_ = COMPUTE[view.type.dtype]
        if view.name in self._lowering.literals:
            value = const(self._lowering.literals[view.name], type_)
            return value if guard is None else select(guard, value, const(other, type_))
        if view not in self._inputs:
            self._inputs.append(view)
        return load(
            self._inputs.index(view),
            type_,
            index,
            guard,
            const(other, type_) if guard is not None else None,
        )

    def element(self, view: View, index: Sequence[Expr]) -> Expr:
        """Read with numpy's broadcasting: trailing dimensions aligned, size 1 repeated."""
        trailing = index[len(index) - len(view.shape) :]
        return self.load(
            view,
            [
                const(0, INT) if size == 1 else item
                for size, item in zip(view.shape, trailing, strict=True)
            ],
        )

    def inside(self, index: Expr, size: int | Expr) -> Expr:
        """Whether 0 <= index < size, as one unsigned comparison."""
        return apply(
            "lt",
            bitcast(index, UINT),
            bitcast(size if isinstance(size, Expr) else self.number(size), UINT),
        )

    def accumulate(self, combiner: str, body: Expr) -> Expr:
        """Reduce `body` over all reduction loops; a reduction over nothing but sizes of 1 is the
        body itself.
        """
        self._accumulators.append(Accumulator(combiner, body))
        return acc(len(self._accumulators) - 1, body.type)

    def found(self, value: Expr) -> Expr:
        """Where an argmax or argmin accumulator has its value: the position on the (single)
        reduction loop.
        """
        return accindex(value.value)

    def store(self, view: View, value: Expr, index: Sequence[Expr] | None = None) -> None:
        """Write one element; a view may be written several times, at other places or the same one
        again.
        """
        place = self._indices if index is None else tuple(index)
        for number, (written_, out) in enumerate(self._outputs):
            if written_ == view:
                self._outputs[number] = (view, replace(out, also=(*out.also, (value, place))))
                return
        self._outputs.append((view, Output(Operand(view.type.dtype, len(place)), value, place)))

    def done(self) -> None:
        nest = Nest(
            inputs=tuple(Operand(view.type.dtype, view.type.rank) for view in self._inputs),
            outputs=tuple(output for _, output in self._outputs),
            axes=tuple(self._axes),
            reduce=tuple(self._reduce),
            accumulators=tuple(self._accumulators),
        )
        check(nest)
        views = tuple(view for view, _ in self._outputs)
        self._lowering.steps.append(
            NestCall(nest, tuple(self._inputs), views, dict(self._args), self._lowering.layer)
        )
