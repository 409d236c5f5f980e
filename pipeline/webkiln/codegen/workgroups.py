"""Workgroups that compute neighbouring points: a square of invocations, whose columns are
neighbours on the vector axis.

The rows of the square either share a reduction and add up their partial sums (`SplitReduction`), or
are neighbours on the tile axis (`BlockedContraction`).
"""

from collections.abc import Callable

from webkiln.codegen.dialect import Dialect, Threads
from webkiln.codegen.invocations import Invocations
from webkiln.codegen.values import accumulator
from webkiln.nest.expr import INT
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import SIDE
from webkiln.plan.kernel import Kernel


class GroupedInvocations(Invocations):
    """`own_chunk` maps an axis to this invocation's chunk among those of the group."""

    checks_first_copy = True

    def __init__(self, kernel: Kernel, dialect: Dialect, threads: Threads) -> None:
        super().__init__(kernel, dialect, threads)
        assert threads.groups is not None
        assert self.vector is not None
        self.square = threads.groups
        self.square_column, self.square_row = (
            f"{self.square.local} % {SIDE}",
            f"{self.square.local} / {SIDE}",
        )
        self.own_chunk = {self.vector: self.square_column}

    def declare_axis(self, name: str, start: str) -> None:
        if name not in self.own_chunk:
            super().declare_axis(name, start)
            return
        self.declare(0, INT, start, self.first(name))
        self.declare(
            0,
            INT,
            f"{self.first(name)} + {self.own_chunk[name]} * {self.schedule.tile.copies(name)}",
            name,
        )

    def first(self, name: str) -> str:
        return f"{name}_block" if name in self.own_chunk else name


class SplitReduction(GroupedInvocations):
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

    def store_conditions(self) -> list[str]:
        return [f"{self.square_row} == 0"]
