"""Bodies of compute shaders: one invocation per point (or tile of points) of the parallel axes,
instead of loops.
"""

from collections.abc import Callable, Iterable

from webkiln.codegen.dialect import Dialect, Threads, plus
from webkiln.codegen.points import Points
from webkiln.codegen.values import accumulator
from webkiln.nest.affine import depends
from webkiln.nest.expr import FLOAT, INT, axis, rebuild
from webkiln.nest.nest import Accumulator, Loop
from webkiln.nest.schedule import InvocationSchedule
from webkiln.plan.kernel import Kernel


class Invocations(Points):
    """One invocation computes one point with all its copies. Copies out of bounds are also
    computed, because loads cannot trap, but not stored.
    """

    def __init__(self, kernel: Kernel, dialect: Dialect, threads: Threads) -> None:
        super().__init__(kernel, dialect)
        self.threads = threads
        assert isinstance(kernel.schedule, InvocationSchedule)
        self.schedule = kernel.schedule
        self.groups = threads.groups if self.schedule.workgroup else None
        self.extents: dict[str, str] = {}

    def parallel(self, loops: list[Loop]) -> None:
        """Decode the number of the invocation. Its chunks are numbered row-major along `loops`."""
        schedule, declared = self.schedule, self.here.declarations
        number = self.threads.number if self.groups is None else self.groups.number
        for loop in reversed(loops):
            name = loop.axis
            self.levels[name] = 0
            extent = self.extents[name] = self.scalar(loop.extent, 0, 0)
            span = schedule.span(name)
            chunks = (
                extent if span == 1 else self.declare(0, INT, f"({extent} + {span - 1}) / {span}")
            )
            chunk_index = number if loop is loops[0] else f"{number} % {chunks}"
            self.declare_axis(name, chunk_index if span == 1 else f"{chunk_index} * {span}")
            if loop is not loops[0]:
                number = self.declare(0, INT, f"{number} / {chunks}")
        declared += self.threads.exit_if(
            f"{self.first(loops[0].axis)} >= {self.extents[loops[0].axis]}"
            if loops
            else f"{number} > 0"
        )
        along = schedule.tile.lanes if self.vector in self.extents else self.width
        self.copies = (along // self.width, schedule.tile.count)
        self.point()

    def declare_axis(self, name: str, start: str) -> None:
        """Declare an axis whose chunk starts at `start`."""
        self.declare(0, INT, start, name)

    def first(self, name: str) -> str:
        """The first index of all invocations that must exit together."""
        return name

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if not loops or loops[0].axis != self.schedule.unroll:
            super().reduction(loops, inside)
            return
        name = loops[0].axis
        self.here.statements.append(self.dialect.counter(name))
        with self.loop(
            name,
            self.dialect.chunks(name, self.scalar(loops[0].extent, 0, 0), self.width, rest=True),
        ):
            self.unrolled_step(name)

    def unrolled_step(self, along: str) -> None:
        """One iteration of a contraction for each lane of a vector."""
        assert self.simd is not None
        assert self.vector is not None
        across = self.vector
        row, column = sorted(
            self.nest.accumulators[0].body.args, key=lambda factor: depends(factor, across)
        )
        self.vector = along
        rows = [self.vector_value(row, t, 0) for t in range(self.copies[1])]
        self.vector = across
        for lane in range(self.width):
            moved = rebuild(column, {axis(along): axis(along) + lane}.get)
            self.analyse([moved])
            for position, t, v in self.accumulators():
                factor = self.simd.splat(self.simd.lane(rows[t], lane, FLOAT), FLOAT)
                value = self.vector_value(moved, t, v)
                self.here.statements += self.simd.multiply_add(
                    accumulator(position, t, v), factor, value, FLOAT
                )

    def spans(self, name: str, extent: str) -> Iterable[tuple[int, str]]:
        if self.groups is None:
            return super().spans(name, extent)
        lanes, group, local = (
            self.schedule.tile.lanes,
            self.schedule.group,
            self.groups.local,
        )
        rest = self.groups.strided(
            name, f"{extent} / {lanes} * {lanes} + {local}", extent, 1, group
        )
        return [
            (lanes, self.groups.strided(name, f"{local} * {lanes}", extent, lanes, lanes * group)),
            (1, rest),
        ]

    def reduce_rows(self) -> None:
        super().reduce_rows()
        if self.groups is not None:
            for position, t, v in self.accumulators():
                item = self.nest.accumulators[position]
                self.here.statements += self.groups.gather(
                    item, accumulator(position, t, v), 1, self.combine
                )

    def combine(self, item: Accumulator, name: str, value: str) -> list[str]:
        return self.dialect.combine(item, name, value, "0")

    def store_conditions(self) -> list[str]:
        """The condition under which an invocation stores what its group has computed together."""
        return [f"{self.groups.local} == 0"] if self.groups is not None else []

    checks_first_copy = False
    """Whether the first copy may also be out of bounds."""

    @property
    def ragged(self) -> bool:
        return self.simd is not None and not self.schedule.whole

    def emit_store(self, statement: str, t: int, v: int) -> None:
        offsets = {
            self.tile: t,
            self.vector: v - v % self.width if self.schedule.whole else v,
        }
        checked = [
            (name, offset)
            for name, offset in offsets.items()
            if name in self.extents and (offset or self.checks_first_copy)
        ]
        conditions = [f"{plus(name, offset)} < {self.extents[name]}" for name, offset in checked]
        conditions += self.store_conditions()
        self.here.statements.append(
            f"if ({' && '.join(conditions)}) {{ {statement} }}" if conditions else statement
        )
