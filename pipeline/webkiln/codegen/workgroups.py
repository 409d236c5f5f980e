"""Workgroups that compute neighbouring points: a square of invocations, whose columns are
neighbours
on the vector axis.

Down the square, the invocations share a reduction and add up what each has found (`Split`), or are
neighbours on the tile axis (`Blocked`).
"""

from collections.abc import Callable

from webkiln.codegen.dialect import Dialect, Threads
from webkiln.codegen.invocations import Invocations
from webkiln.codegen.values import accumulator
from webkiln.nest.expr import INT
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import SIDE
from webkiln.plan.kernel import Kernel


class Grouped(Invocations):
    """`own` says which of the chunks of an axis that the group computes is the invocation's."""

    strays = True

    def __init__(self, kernel: Kernel, dialect: Dialect, threads: Threads) -> None:
        super().__init__(kernel, dialect, threads)
        assert threads.groups is not None
        assert self.vector is not None
        self.square = threads.groups
        self.square_column, self.square_row = (
            f"{self.square.local} % {SIDE}",
            f"{self.square.local} / {SIDE}",
        )
        self.own = {self.vector: self.square_column}

    def begin(self, name: str, start: str) -> None:
        if name not in self.own:
            super().begin(name, start)
            return
        self.declare(0, INT, start, self.first(name))
        self.declare(
            0,
            INT,
            f"{self.first(name)} + {self.own[name]} * {self.kernel.schedule.copies(name)}",
            name,
        )

    def first(self, name: str) -> str:
        return f"{name}_block" if name in self.own else name


class Split(Grouped):
    """The innermost reduction loop is divided among the rows of the square."""

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if len(loops) > 1:
            super().reduction(loops, inside)
            return
        (along,) = loops
        extent = self.scalar(along.extent, 0, 0)
        with self.loop(
            along.axis, self.square.strided(along.axis, self.square_row, extent, 1, SIDE)
        ):
            inside()

    def finish(self, name: Callable[[int, int, int], str]) -> None:
        super().finish(name)
        assert self.simd is not None
        for position, t, v in self.accumulators():
            item = self.nest.accumulators[position]
            self.here.statements += self.square.gather(
                item, accumulator(position, t, v), SIDE, self.simd.combine
            )

    def conditions(self) -> list[str]:
        return [f"{self.square_row} == 0"]
