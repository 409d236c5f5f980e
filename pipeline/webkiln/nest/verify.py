"""The verifier of Programs. It runs after every pass in tests, and under `--check`."""

from collections.abc import Iterable
from itertools import combinations
from math import prod
from typing import NoReturn

from webkiln.errors import InternalError
from webkiln.ir import dim, symbols
from webkiln.nest.boxes import are_independent
from webkiln.nest.nest import check
from webkiln.nest.program import Program
from webkiln.nest.steps import (
    NestCall,
    Parallel,
    Repeat,
    Step,
    View,
    Workgroups,
    calls,
    every_step,
    operand_names,
)


def verify(program: Program) -> None:
    """Raise InternalError for the first violation: a read without a write before it, a view that
    does not fit its buffer, an operand that does not fit its nest, an argument without a value, a
    window that does not fit the loops of its nest, a part of a choice that is not described, a step
    or a buffer of workgroups that they cannot have, or calls that cannot run at the same time.
    """
    checker = _Checker(program)
    written = {name for name, buffer in program.buffers.items() if buffer.kind != "local"}
    written = checker.block(program.init, written, frozenset())
    written = checker.block(program.steps, written, frozenset())
    for name in sorted(program.live_out):
        if name not in written:
            checker.fail(f"{name} is read after the last step, and no step writes it")


class _Checker:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.counters = {name for step in every_step(program.steps) for name in step.defines}

    def fail(self, what: str) -> NoReturn:
        raise InternalError(f"program {self.program.name}: {what}")

    def block(self, steps: Iterable[Step], written: set[str], counters: frozenset[str]) -> set[str]:
        """Check steps, given the buffers that are written before. Returns those written after."""
        written = set(written)
        for step in steps:
            self._reads(step, written)
            inner = counters | set(step.defines)
            results = [self.block(block, written, inner) for block in step.blocks]
            if results:
                written = set.intersection(*results)
            for view in step.writes:
                self._view(view, step)
                written.add(view.name)
            if isinstance(step, NestCall):
                self._call(step, counters)
                if step.part_of and step.part_of not in self.program.decided:
                    self.fail(f"{step.label} is part of a choice that is not described")
            if isinstance(step, Workgroups):
                self._workgroups(step)
            if isinstance(step, Parallel):
                self._parallel(step)
        return written

    def _workgroups(self, step: Workgroups) -> None:
        for inner in every_step(step.steps):
            if not isinstance(inner, NestCall | Repeat):
                self.fail(f"{inner.label} cannot be a step of workgroups")
        written = {view.name for call in calls(step.steps) for view in call.outputs}
        mentions = [name for inner in every_step(step.steps) for name in operand_names(inner)]
        everywhere = [
            name for other in every_step(self.program.steps) for name in operand_names(other)
        ]
        for name in step.shared:
            if name not in written or name in self.program.live_out:
                self.fail(f"{name} is in workgroup memory, but is not local to its workgroups")
            if mentions.count(name) != everywhere.count(name):
                self.fail(f"{name} is in workgroup memory, but is used outside of its workgroups")

    def _parallel(self, step: Parallel) -> None:
        for inner in step.steps:
            if not isinstance(inner, NestCall):
                self.fail(f"{inner.label} cannot run at the same time as others")
        for first, second in combinations(calls(step.steps), 2):
            if not are_independent(first, second):
                self.fail(f"{first.label} and {second.label} are not independent")

    def _reads(self, step: Step, written: set[str]) -> None:
        for view in step.reads:
            self._view(view, step)
            if view.name not in written:
                self.fail(f"{step.label} reads {view.name} before a step writes it")

    def _view(self, view: View, step: Step) -> None:
        buffer = self.program.buffers.get(view.name)
        if buffer is None:
            self.fail(f"{step.label} uses {view.name}, which is no buffer")
        if dim.is_nonzero(view.type.size - buffer.type.size) and buffer.kind != "local":
            self.fail(f"{step.label} uses {view.name} as {view.type}, but it is {buffer.type}")

    def _call(self, call: NestCall, counters: frozenset[str]) -> None:
        check(call.nest)
        views = (*call.inputs, *call.outputs)
        operands = (*call.nest.inputs, *(out.operand for out in call.nest.outputs))
        for view, operand in zip(views, operands, strict=True):
            if view.type.rank != operand.rank:
                self.fail(f"{call.label} uses {view.name} as {view.type}, expected {operand}")
        loops = (*call.nest.axes, *call.nest.reduce)
        names = {
            expr.value
            for expr in (*(loop.extent for loop in loops), *call.nest.nodes)
            if expr.op == "arg"
        }
        if missing := sorted(names - call.args.keys()):
            self.fail(f"{call.label} has no value for {', '.join(missing)}")
        self._window(call)
        used = symbols.names(call.args.values()) & self.counters
        if outside := sorted(used - counters):
            self.fail(f"{call.label} uses the counter {outside[0]} outside of its loop")

    def _window(self, call: NestCall) -> None:
        """The window of a form has the iterations of the innermost reduction loops, and workgroups
        stage all terms of the sum.
        """
        form = call.form
        if form is None or form.window is None:
            return
        sizes = [call.args.get(loop.extent.value) for loop in call.nest.reduce]
        taps = [*form.window.taps]
        if (
            form.window.axis not in {loop.axis for loop in call.nest.axes}
            or not taps
            or sizes[-len(taps) :] != taps
            or form.group.depth != prod(size or 0 for size in sizes)
        ):
            self.fail(f"{call.label} has a window that does not fit its loops")
