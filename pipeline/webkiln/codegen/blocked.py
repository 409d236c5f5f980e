"""Blocked contractions by workgroups: tiles of both factors are staged in workgroup memory, `depth`
steps of the reduction at a time.

One factor moves along the tile axis, the other along the vector axis. What is staged may be of a
type of its own, as are then the products and the sums of these steps.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from webkiln.codegen.dialect import Dialect, Threads
from webkiln.codegen.values import accumulator
from webkiln.codegen.workgroups import Grouped
from webkiln.nest.affine import depends
from webkiln.nest.expr import FLOAT, INT, Expr, apply, axis, const, rebuild, select
from webkiln.nest.float16 import clamp_to_float16
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import SIDE
from webkiln.plan.kernel import Kernel

ROWS, COLUMNS = "rows", "columns"
"""The factors in the memory of a group: vectors [row][depth], along the reduction, and
[depth][column], along the vector axis.
"""

REACHED = "reached"
"""The place on the reduction loop of the first element of a vector: all its elements are within the
end, or none.
"""


class Blocked(Grouped):
    def __init__(self, kernel: Kernel, dialect: Dialect, threads: Threads) -> None:
        super().__init__(kernel, dialect, threads)
        assert self.vector is not None
        assert self.tile is not None
        self.across, self.down = self.vector, self.tile
        self.own[self.down] = self.square_row
        self.converts = self.square.staged != FLOAT

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if len(loops) > 1:
            super().reduction(loops, inside)
            return
        (along,), depth = loops, self.kernel.schedule.depth
        extent = self.scalar(along.extent, 0, 0)
        start = f"{along.axis}_block"
        (body,) = (item.body for item in self.nest.accumulators)
        row, column = sorted(body.args, key=lambda factor: depends(factor, self.across))
        with self.loop(start, self.square.strided(start, "0", extent, 1, depth)):
            steps, rows = depth // self.width, self.kernel.schedule.copies(self.down) * SIDE
            with self.fill(rows * steps) as place:
                down = f"{self.first(self.down)} + {place} / {steps}"
                taken = {self.down: down, along.axis: f"{start} + {place} % {steps} * {self.width}"}
                self.stage(
                    f"{ROWS}[{place}]", self.turned(self.inside(row, along, taken), along.axis)
                )
            width = self.kernel.schedule.lanes // self.width * SIDE
            with self.fill(width * depth) as place:
                across = f"{self.first(self.across)} + {place} % {width} * {self.width}"
                taken = {self.across: across, along.axis: f"{start} + {place} / {width}"}
                self.stage(
                    f"{COLUMNS}[{place}]",
                    self.along(self.inside(column, along, taken), self.across),
                )
            self.here.statements.append(self.square.barrier)
            totals = [accumulator(*place) for place in self.accumulators()]
            sums = [f"{name}_here" for name in totals] if self.converts else totals
            if self.converts:
                self.here.statements += [self.square.zeros(name) for name in sums]
            with self.loop("depth", self.dialect.loop("depth", str(steps))):
                self.multiply(steps, width, sums)
            if self.converts:
                self.here.statements += [
                    f"{total} += {self.square.cast(name, FLOAT)};"
                    for total, name in zip(totals, sums, strict=True)
                ]
            self.here.statements.append(self.square.barrier)

    def stage(self, place: str, value: str) -> None:
        self.here.statements.append(
            f"{place} = {self.square.cast(value, self.square.staged) if self.converts else value};"
        )

    def along(self, value: Expr, name: str) -> str:
        """A vector of neighbours on an axis that `inside` has moved."""
        across, self.vector = self.vector, _moved(name)
        text = self.vector_value(value, 0, 0)
        self.vector = across
        return text

    def turned(self, value: Expr, name: str) -> str:
        """A vector of neighbours on the reduction loop, read at once where they lie so."""
        if self.kernel.schedule.unroll:
            return self.along(value, name)
        places = (axis(_moved(name)), axis(REACHED))
        turns = [
            rebuild(value, {place: place + turn for place in places}.get)
            for turn in range(self.width)
        ]
        self.learn(turns)
        return self.square.vector([self.scalar(turn, 0, 0) for turn in turns])

    def conditions(self) -> list[str]:
        return []

    @contextmanager
    def fill(self, size: int) -> Iterator[str]:
        """A loop in which the invocations of the group share `size` places."""
        with self.loop(
            "place",
            self.square.strided(
                "place", self.square.local, str(size), 1, self.kernel.schedule.group
            ),
        ):
            yield "place"

    def inside(self, factor: Expr, along: Loop, taken: dict[str, str]) -> Expr:
        """A factor at other values of the axes in `taken`, and 0 beyond the end of the reduction;
        within what float16 holds, where that is staged.
        """
        moved = rebuild(
            factor,
            lambda expr: (
                axis(_moved(expr.value)) if expr.op == "axis" and expr.value in taken else None
            ),
        )
        if self.converts and not (
            moved.op == "load" and self.nest.inputs[moved.value[0]].dtype == "float16"
        ):
            moved = clamp_to_float16(moved)
        value = select(apply("lt", axis(REACHED), along.extent), moved, const(0, FLOAT))
        self.learn([value])
        for name, text in [
            *((_moved(name), text) for name, text in taken.items()),
            (REACHED, _moved(along.axis)),
        ]:
            self.declare(len(self.blocks) - 1, INT, text, name)
            self.levels[name] = len(self.blocks) - 1
        return value

    def multiply(self, steps: int, width: int, sums: list[str]) -> None:
        assert self.simd is not None
        staged = self.square.staged
        level, type_, schedule = (
            len(self.blocks) - 1,
            self.simd.vector(staged),
            self.kernel.schedule,
        )
        count, vectors = schedule.copies(self.down), schedule.lanes // self.width
        rows = [
            self.declare(
                level, type_, f"{ROWS}[({self.square_row} * {count} + {t}) * {steps} + depth]"
            )
            for t in range(count)
        ]
        for turn in range(self.width):
            start = f"(depth * {self.width} + {turn}) * {width} + {self.square_column} * {vectors}"
            columns = [
                self.declare(level, type_, f"{COLUMNS}[{start} + {v}]") for v in range(vectors)
            ]
            for (_, t, v), name in zip(self.accumulators(), sums, strict=True):
                factor = self.simd.splat(self.simd.lane(rows[t], turn, staged), staged)
                self.here.statements += self.simd.multiply_add(
                    name, factor, columns[v // self.width], staged
                )


def _moved(name: str) -> str:
    return f"{name}_in"
