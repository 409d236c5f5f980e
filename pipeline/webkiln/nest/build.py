"""Builders of nests for the lowerings of operators.

Sizes become run-time arguments, so that kernels are shared between calls; axes of size 1 are
omitted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.graph import Graph
from webkiln.ir.types import Type
from webkiln.nest.custom_kernel import make_custom_kernel
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
from webkiln.nest.nest import COMPUTE, Accumulator, Loop, Nest, Operand, Output, check
from webkiln.nest.procedure import ProcedureWriter
from webkiln.nest.steps import (
    Branch,
    Copy,
    CustomCall,
    HostCall,
    NestCall,
    Repeat,
    Step,
    View,
    WhileLoop,
    calls,
)

Inline = Callable[[Graph, Sequence[View], int], tuple[list[Step], list[View]]]
"""Lowers a nested graph: (graph, the views of its inputs, the number of enclosing loops) -> (steps,
the views of its outputs).
"""


class Lowering:
    """The operands of one operator, and the steps of its lowering.

    `literals` maps the names of constant scalars to their values, which are inlined into kernels.
    `inline` and `depth`, the number of enclosing loops, are used to lower nested graphs. `is_init`:
    the operator runs when the model is loaded, where one call has to write its entire result.
    """

    def __init__(
        self,
        inputs: Sequence[View],
        outputs: Sequence[View],
        layer: str,
        literals: Mapping[str, float] | None = None,
        inline: Inline | None = None,
        depth: int = 0,
        *,
        is_init: bool = False,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.layer, self.is_init = layer, is_init
        self.literals = {} if literals is None else literals
        self.steps: list[Step] = []
        self._inline = inline
        self._depth = depth
        self._temporaries = 0

    @property
    def calls(self) -> list[NestCall]:
        return list(calls(self.steps))

    def temporary(self, dtype: str, shape: Sequence[Size]) -> View:
        self._temporaries += 1
        return View(f"{self.outputs[0].name}~{self._temporaries}", Type(dtype, tuple(shape)))

    def nest(self) -> "NestBuilder":
        return NestBuilder(self)

    def materialize(self, view: View) -> View:
        """`view` itself, or, for an inlined scalar, a Variable that stores it."""
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
        """Append the steps of a nested graph, and return the views of its outputs."""
        if self._inline is None:
            raise InternalError(
                f"{self.layer}: a nested graph can only be lowered with the graph that contains it"
            )
        steps, outputs = self._inline(graph, inputs, self._depth)
        self.steps += steps
        return outputs

    def custom_kernel(
        self, texts: Mapping[str, str], args: Mapping[str, Size] | None = None
    ) -> None:
        """Append a custom kernel, with its source for each backend in `texts`. It computes the only
        output of the operator.
        """
        inputs, (out,) = [self.materialize(view) for view in self.inputs], self.outputs
        kernel = make_custom_kernel(
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
        result: tuple[Expr, str, Size] | None = None,
    ) -> None:
        """Append a call of the procedure that `writer` wrote. `result` is its return value, the
        name of the data-dependent size that this defines, and an upper bound of the size.
        """
        procedure = writer.done(result[0] if result else None)
        size = result[1:] if result else None
        self.steps.append(
            HostCall(procedure, tuple(inputs), tuple(outputs), dict(writer.args), self.layer, size)
        )

    @contextmanager
    def _block(self) -> Iterator[list[Step]]:
        outer, self.steps = self.steps, []
        block = self.steps
        yield block
        self.steps = outer

    def branch(
        self, condition: View, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Append a branch on the bool `condition`; the functions append the steps of its blocks."""
        with self._block() as then_steps:
            then()
        with self._block() as otherwise_steps:
            otherwise()
        self.steps.append(Branch(condition, tuple(then_steps), tuple(otherwise_steps), self.layer))

    @contextmanager
    def loop(
        self, condition: View, bound: Size | None, result: tuple[str, Size] | None = None
    ) -> Iterator[Size]:
        """Append a while loop on the bool `condition`; its body is appended in the block. Yields
        the iteration number, from 0.
        """
        name = f"i{self._depth}"
        self._depth += 1
        with self._block() as steps:
            yield symbols.counter(name)
        self._depth -= 1
        self.steps.append(WhileLoop(name, condition, bound, tuple(steps), self.layer, result))

    @contextmanager
    def repeat(self, count: Size) -> Iterator[Size]:
        """Append a loop of `count` iterations; its body is appended in the block. Yields the
        iteration number, from 0.
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
        self._axes: list[Loop] = []
        self._reduce: list[Loop] = []
        self._accumulators: list[Accumulator] = []
        self._indices: tuple[Expr, ...] = ()
        self._args: dict[str, Size] = {}

    def number(self, value: Size) -> Expr:
        """An integer that becomes an argument, except for 0 and 1, which become constants."""
        return (
            self.argument(value) if is_symbolic(value) or value not in (0, 1) else const(value, INT)
        )

    def argument(self, value: Size) -> Expr:
        """An integer as a run-time argument, so that calls with other values share the kernel."""
        name = f"p{len(self._args)}"
        self._args[name] = value
        return arg(name)

    def _loop(self, size: Size, prefix: str, loops: list[Loop]) -> Expr:
        if size == 1:
            return const(0, INT)
        name = f"{prefix}{len(loops)}"
        loops.append(Loop(name, self.number(size) if size else self.argument(0)))
        return axis(name)

    def axes(self, shape: Sequence[Size]) -> tuple[Expr, ...]:
        """Open parallel loops over `shape`. Returns their indices, the default index of stores."""
        self._indices = tuple(self._loop(size, "a", self._axes) for size in shape)
        return self._indices

    def reduce(self, size: Size) -> Expr:
        """Open a reduction loop."""
        return self._loop(size, "r", self._reduce)

    def load(
        self, view: View, index: Sequence[Expr], guard: Expr | None = None, other: float = 0
    ) -> Expr:
        """Load one element. Where `guard` is false, nothing is read and the value is `other`."""
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
        """Load one element with numpy's broadcasting: align trailing axes, repeat size 1."""
        trailing = index[len(index) - len(view.shape) :]
        return self.load(
            view,
            [
                const(0, INT) if size == 1 else item
                for size, item in zip(view.shape, trailing, strict=True)
            ],
        )

    def in_bounds(self, index: Expr, size: Size | Expr) -> Expr:
        """Whether 0 <= index < size, as one unsigned comparison."""
        return apply(
            "lt",
            bitcast(index, UINT),
            bitcast(size if isinstance(size, Expr) else self.number(size), UINT),
        )

    def accumulate(self, combiner: str, body: Expr) -> Expr:
        """Reduce `body` over all reduction loops with a combiner of `nest.COMBINERS`."""
        self._accumulators.append(Accumulator(combiner, body))
        return acc(len(self._accumulators) - 1, body.type)

    def index_of(self, value: Expr) -> Expr:
        """The index of the result of an argmax or argmin accumulator on the only reduction loop."""
        return accindex(value.value)

    def store(self, view: View, value: Expr, index: Sequence[Expr] | None = None) -> None:
        """Store one element. Several stores to one view are executed in order, and may overlap."""
        target = self._indices if index is None else tuple(index)
        for number, (stored, out) in enumerate(self._outputs):
            if stored == view:
                self._outputs[number] = (view, replace(out, also=(*out.also, (value, target))))
                return
        self._outputs.append((view, Output(Operand(view.type.dtype, len(target)), value, target)))

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
