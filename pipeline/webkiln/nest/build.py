"""How a lowering writes nests: operands by name, sizes as run-time arguments, axes of size 1 left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from webkiln.errors import InternalError
from webkiln.ir.types import Type
from webkiln.nest.expr import INT, UINT, Expr, acc, accindex, apply, arg, axis, bitcast, const, load, select
from webkiln.nest.nest import COMPUTE, Accumulator, Loop, Nest, Operand, Output, check


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
        if prod(shape) != self.type.size:
            raise InternalError(f"{self.name}: {self.type} cannot be seen with shape {list(shape)}")
        return View(self.name, Type(self.type.dtype, tuple(shape)))


@dataclass(frozen=True, slots=True)
class Call:
    """A nest applied to Variables, with the values of its arguments."""

    nest: Nest
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    args: Mapping[str, int]
    layer: str = ""


class Lowering:
    """The operands of one operator and the calls written so far. `literals` holds the scalars known at compile time."""

    def __init__(self, inputs: Sequence[View], outputs: Sequence[View], layer: str, literals: Mapping[str, float] | None = None) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.layer = layer
        self.literals = literals or {}
        self.calls: list[Call] = []
        self._temporaries = 0

    def temporary(self, dtype: str, shape: Sequence[int]) -> View:
        self._temporaries += 1
        return View(f"{self.outputs[0].name}~{self._temporaries}", Type(dtype, tuple(shape)))

    def nest(self) -> "NestBuilder":
        return NestBuilder(self)


class NestBuilder:
    """Builds one nest; `done` checks it and appends the call to its Lowering."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._inputs: list[View] = []
        self._outputs: list[tuple[View, Output]] = []
        self._axes: list[Loop] = []
        self._reduce: list[Loop] = []
        self._accumulators: list[Accumulator] = []
        self._indices: tuple[Expr, ...] = ()
        self._args: dict[str, int] = {}

    def number(self, value: int) -> Expr:
        """A structural integer: 0 and 1 are part of the kernel, everything else is an argument."""
        return const(value, INT) if value in (0, 1) else self.argument(value)

    def argument(self, value: int) -> Expr:
        """An integer that is never part of the kernel, so that calls which differ in it alone share one."""
        name = f"p{len(self._args)}"
        self._args[name] = value
        return arg(name)

    def _loop(self, size: int, prefix: str, loops: list[Loop]) -> Expr:
        if size == 1:
            return const(0, INT)
        name = f"{prefix}{len(loops)}"
        loops.append(Loop(name, self.number(size) if size else self.argument(0)))
        return axis(name)

    def axes(self, shape: Sequence[int]) -> tuple[Expr, ...]:
        """Open parallel loops over `shape`; they are the default store index."""
        self._indices = tuple(self._loop(size, "a", self._axes) for size in shape)
        return self._indices

    def reduce(self, size: int) -> Expr:
        """Open a reduction loop."""
        return self._loop(size, "r", self._reduce)

    def load(self, view: View, index: Sequence[Expr], guard: Expr | None = None, other: float = 0) -> Expr:
        """Read one element; where `guard` is false nothing is read and the value is `other`."""
        type_ = COMPUTE[view.type.dtype]
        if view.name in self._lowering.literals:
            value = const(self._lowering.literals[view.name], type_)
            return value if guard is None else select(guard, value, const(other, type_))
        if view not in self._inputs:
            self._inputs.append(view)
        return load(self._inputs.index(view), type_, index, guard, const(other, type_) if guard is not None else None)

    def element(self, view: View, index: Sequence[Expr]) -> Expr:
        """Read with numpy's broadcasting: trailing dimensions aligned, size 1 repeated."""
        trailing = index[len(index) - len(view.shape) :]
        return self.load(view, [const(0, INT) if size == 1 else item for size, item in zip(view.shape, trailing, strict=True)])

    def inside(self, index: Expr, size: int) -> Expr:
        """Whether 0 <= index < size, as one unsigned comparison."""
        return apply("lt", bitcast(index, UINT), bitcast(self.number(size), UINT))

    def accumulate(self, combiner: str, body: Expr) -> Expr:
        """Reduce `body` over all reduction loops; a reduction over nothing but sizes of 1 is the body itself."""
        self._accumulators.append(Accumulator(combiner, body))
        return acc(len(self._accumulators) - 1, body.type)

    def found(self, value: Expr) -> Expr:
        """Where an argmax or argmin accumulator has its value: the position on the (single) reduction loop."""
        return accindex(value.value)

    def store(self, view: View, value: Expr, index: Sequence[Expr] | None = None) -> None:
        place = self._indices if index is None else tuple(index)
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
        self._lowering.calls.append(Call(nest, tuple(self._inputs), views, dict(self._args), self._lowering.layer))
