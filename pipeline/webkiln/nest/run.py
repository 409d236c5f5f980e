"""A numpy interpreter of programs: the oracle of passes, schedules and printers."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.types import Array
from webkiln.nest.expr import NUMPY, Expr, walk
from webkiln.nest.interpret import interpret
from webkiln.nest.nest import load_guard, load_index
from webkiln.nest.procedure import Procedure, Set, Statement, StoreElement, While
from webkiln.nest.program import Program
from webkiln.nest.semantics import compute
from webkiln.nest.steps import (
    Branch,
    Copy,
    DeviceBranch,
    HostCall,
    NestCall,
    Parallel,
    Repeat,
    Step,
    View,
    WhileLoop,
    Workgroups,
)

Memory = dict[str, Array]
"""The elements of each buffer, flat."""
MAX_ITERATIONS = 1 << 20


def run_program(
    program: Program,
    values: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    multiprocessors: int = 0,
) -> Memory:
    """Run a program with these values of its inputs, constants and states, and of placeholders, as
    on a GPU with this number of multiprocessors. Returns the elements of all buffers at its end.
    Raises InternalError for a custom kernel, which has no numpy form.
    """
    memory = {name: np.array(value).ravel() for name, value in values.items()}
    machine = _Machine(memory, dict(sizes or {}), multiprocessors)
    machine.steps(program.init)
    machine.steps(program.steps)
    for name in program.live_out - machine.memory.keys():
        machine.memory[name] = np.zeros(0, program.buffers[name].storage)
    return machine.memory


class _Machine:
    """Memory, and the sizes that the run has computed."""

    def __init__(self, memory: Memory, sizes: dict[str, int], multiprocessors: int) -> None:
        self.memory, self.sizes, self.multiprocessors = memory, sizes, multiprocessors
        self.bounds: dict[str, int] = {}

    def steps(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._step(step)

    def _step(self, step: Step) -> None:
        if step.computes is not None:
            name, bound = step.computes
            self.bounds[name] = self._number(bound)
        for view in step.writes:
            self._reserve(view)
        match step:
            case NestCall():
                with np.errstate(all="ignore"):
                    interpret(
                        step.nest,
                        [self._array(view) for view in step.inputs],
                        self._numbers(step.args),
                        [self._array(view) for view in step.outputs],
                    )
            case Copy():
                source, target = self._array(step.source), self._array(step.target)
                target.reshape(-1)[:] = source.reshape(-1).view(target.dtype)
            case HostCall():
                self._procedure(step)
            case Branch():
                taken = bool(self._array(step.condition).reshape(-1)[0])
                self.steps(step.then if taken else step.otherwise)
            case DeviceBranch():
                self.steps(step.then if self.multiprocessors >= step.least else step.otherwise)
            case Repeat():
                for number in range(self._number(step.count)):
                    self.sizes[step.counter] = number
                    self.steps(step.steps)
            case Parallel():
                self.steps(reversed(step.steps))
            case Workgroups():
                for number in reversed(range(self._number(step.count))):
                    self.sizes[step.counter] = number
                    self.steps(step.steps)
            case WhileLoop():
                self._loop(step)
            case _:
                raise InternalError(f"{step.label}: there is no numpy form")

    def _loop(self, step: WhileLoop) -> None:
        bound = MAX_ITERATIONS if step.bound is None else self._number(step.bound)
        number = 0
        while number < bound and bool(self._array(step.condition).reshape(-1)[0]):
            self.sizes[step.counter] = number
            self.steps(step.steps)
            number += 1
        if step.result is not None:
            self.sizes[step.result[0]] = number

    def _procedure(self, step: HostCall) -> None:
        views = (*step.inputs, *step.outputs)
        operands = [self.memory[view.name] for view in views]
        result = _run_procedure(step.procedure, operands, self._numbers(step.args))
        if step.result is not None and result is not None:
            self.sizes[step.result[0]] = result

    def _number(self, size: Size) -> int:
        return symbols.evaluate(size, self.sizes)

    def _numbers(self, args: Mapping[str, Size]) -> dict[str, int]:
        return {name: self._number(value) for name, value in args.items()}

    def _reserve(self, view: View) -> None:
        """Memory for what a step writes, for the largest sizes that the run may compute."""
        size = symbols.evaluate(view.type.size, {**self.bounds, **self.sizes})
        known = self.memory.get(view.name)
        if known is None or known.size < size:
            self.memory[view.name] = np.zeros(size, view.type.dtype)

    def _array(self, view: View) -> Array:
        sizes = {**self.bounds, **self.sizes}
        shape = tuple(symbols.evaluate(size, sizes) for size in view.shape)
        elements = self.memory[view.name][: int(np.prod(shape))]
        return elements.reshape(shape)


def _run_procedure(
    procedure: Procedure, operands: Sequence[Array], args: Mapping[str, int]
) -> int | None:
    """Run the statements of a procedure. Outputs follow the inputs in `operands`."""
    variables: dict[str, np.generic] = {}

    def value(root: Expr) -> np.generic:
        values: dict[Expr, np.generic] = {}
        for expr in walk([root]):
            values[expr] = step(expr, [values[item] for item in expr.args])
        return values[root]

    def step(expr: Expr, items: Sequence[np.generic]) -> np.generic:
        if expr.op == "local":
            return variables[expr.value]
        if expr.op == "arg":
            return np.int32(args[expr.value])
        if expr.op != "load":
            result: np.generic = NUMPY[expr.type](compute(expr, [np.asarray(x) for x in items]))
            return result
        if load_guard(expr) is not None and not items[-2]:
            return items[-1]
        (index,) = items[: len(load_index(expr))]
        element: np.generic = NUMPY[expr.type](operands[expr.value[0]][int(index)])
        return element

    def run(body: Iterable[Statement]) -> None:
        for item in body:
            if isinstance(item, Set):
                variables[item.name] = value(item.value)
            elif isinstance(item, StoreElement):
                target = operands[len(procedure.inputs) + item.output]
                target[int(value(item.index))] = value(item.value).astype(target.dtype)
            elif isinstance(item, While):
                while value(item.condition):
                    run(item.body)
            else:
                run(item.then if value(item.condition) else item.otherwise)

    with np.errstate(all="ignore"):
        run(procedure.body)
        return None if procedure.result is None else int(value(procedure.result))
