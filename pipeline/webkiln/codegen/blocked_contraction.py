"""Blocked contractions by workgroups: tiles of both factors are staged in workgroup memory, `depth`
steps of the reduction at a time.

One factor moves along the tile axis, the other along the vector axis. The staged type may differ
from float32; the products and the sums of these steps then have that type too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from webkiln.codegen.dialect import Dialect, Threads
from webkiln.codegen.values import accumulator
from webkiln.codegen.workgroups import GroupedInvocations
from webkiln.nest.affine import depends
from webkiln.nest.expr import FLOAT, INT, Expr, apply, axis, const, rebuild, select
from webkiln.nest.float16 import clamp_to_float16
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import SIDE
from webkiln.plan.kernel import Kernel

ROWS, COLUMNS = "rows", "columns"
"""The staged factors: vectors [row][depth] along the reduction, and [depth][column] along the
vector axis.
"""

REACHED = "reached"
"""The position on the reduction loop of the first element of a vector. Either all its elements are
in bounds or none.
"""


class BlockedContraction(GroupedInvocations):
    """Prints a contraction whose factors are staged in workgroup memory."""

    def __init__(self, kernel: Kernel, dialect: Dialect, threads: Threads) -> None:
        super().__init__(kernel, dialect, threads)
        assert self.vector is not None
        assert self.tile is not None
        self.across, self.down = self.vector, self.tile
        self.own_chunk[self.down] = self.square_row
        self.converts = self.square.staged != FLOAT

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        """Loop over blocks of the reduction. In each, the group stages a tile of both factors,
        waits, and multiplies them; in between, a barrier protects the tiles from being overwritten.
        """
        if len(loops) > 1:
            super().reduction(loops, inside)
            return
        assert self.schedule.workgroup is not None
        (along,), depth = loops, self.schedule.workgroup.depth
        extent = self.scalar(along.extent, 0, 0)
        start = f"{along.axis}_block"
        (body,) = (item.body for item in self.nest.accumulators)
        row, column = sorted(body.args, key=lambda factor: depends(factor, self.across))
        with self.loop(start, self.square.strided(start, "0", extent, 1, depth)):
            steps, rows = depth // self.width, self.schedule.tile.copies(self.down) * SIDE
            with self.fill(rows * steps) as slot:
                down = f"{self.first(self.down)} + {slot} / {steps}"
                values = {self.down: down, along.axis: f"{start} + {slot} % {steps} * {self.width}"}
                self.stage(
                    f"{ROWS}[{slot}]",
                    self.along_reduction(self.substituted(row, along, values), along.axis),
                )
            width = self.schedule.tile.lanes // self.width * SIDE
            with self.fill(width * depth) as slot:
                across = f"{self.first(self.across)} + {slot} % {width} * {self.width}"
                values = {self.across: across, along.axis: f"{start} + {slot} / {width}"}
                self.stage(
                    f"{COLUMNS}[{slot}]",
                    self.along(self.substituted(column, along, values), self.across),
                )
            self.here.statements.append(self.square.barrier)
            totals = [accumulator(*slot) for slot in self.accumulators()]
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

    def stage(self, slot: str, value: str) -> None:
        self.here.statements.append(
            f"{slot} = {self.square.cast(value, self.square.staged) if self.converts else value};"
        )

    def along(self, value: Expr, name: str) -> str:
        """A vector of neighbours along an axis that `substituted` has replaced."""
        across, self.vector = self.vector, _moved(name)
        text = self.vector_value(value, 0, 0)
        self.vector = across
        return text

    def along_reduction(self, value: Expr, name: str) -> str:
        """A vector of neighbours along the reduction, loaded at once if they are contiguous."""
        if self.schedule.unroll:
            return self.along(value, name)
        bases = (axis(_moved(name)), axis(REACHED))
        steps = [
            rebuild(value, {base: base + step for base in bases}.get) for step in range(self.width)
        ]
        self.analyse(steps)
        return self.square.vector([self.scalar(step, 0, 0) for step in steps])

    def store_conditions(self) -> list[str]:
        return []

    @contextmanager
    def fill(self, size: int) -> Iterator[str]:
        """A loop in which the invocations of the group share `size` slots."""
        with self.loop(
            "place",
            self.square.strided("place", self.square.local, str(size), 1, self.schedule.group),
        ):
            yield "place"

    def substituted(self, factor: Expr, along: Loop, values: dict[str, str]) -> Expr:
        """A factor with the axes in `values` replaced, and 0 beyond the end of the reduction.
        Clamped to the range of float16 if that type is staged.
        """
        moved = rebuild(
            factor,
            lambda expr: (
                axis(_moved(expr.value)) if expr.op == "axis" and expr.value in values else None
            ),
        )
        if self.converts and not (
            moved.op == "load" and self.nest.inputs[moved.value[0]].dtype == "float16"
        ):
            moved = clamp_to_float16(moved)
        value = select(apply("lt", axis(REACHED), along.extent), moved, const(0, FLOAT))
        self.analyse([value])
        for name, text in [
            *((_moved(name), text) for name, text in values.items()),
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
            self.schedule,
        )
        count, vectors = schedule.tile.copies(self.down), schedule.tile.lanes // self.width
        rows = [
            self.declare(
                level, type_, f"{ROWS}[({self.square_row} * {count} + {t}) * {steps} + depth]"
            )
            for t in range(count)
        ]
        for lane in range(self.width):
            start = f"(depth * {self.width} + {lane}) * {width} + {self.square_column} * {vectors}"
            columns = [
                self.declare(level, type_, f"{COLUMNS}[{start} + {v}]") for v in range(vectors)
            ]
            for (_, t, v), name in zip(self.accumulators(), sums, strict=True):
                factor = self.simd.splat(self.simd.lane(rows[t], lane, staged), staged)
                self.here.statements += self.simd.multiply_add(
                    name, factor, columns[v // self.width], staged
                )


def _moved(name: str) -> str:
    return f"{name}_in"
