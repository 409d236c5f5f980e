"""A large contraction by workgroups: both factors of a block of points are brought to the memory of the group, some depth at a time.

One factor moves along the tile axis, the other along the vector axis.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from webkiln.codegen.dialect import Dialect, Threads
from webkiln.codegen.grouped import Grouped
from webkiln.codegen.values import accumulator
from webkiln.nest.affine import depends
from webkiln.nest.expr import FLOAT, INT, Expr, apply, axis, const, rebuild, select
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import SIDE
from webkiln.plan.kernel import Kernel

ROWS, COLUMNS = "rows", "columns"
"""The factors in the memory of a group: elements [row][depth], and vectors [depth][column]."""


class Blocked(Grouped):
    def __init__(self, kernel: Kernel, dialect: Dialect, threads: Threads) -> None:
        super().__init__(kernel, dialect, threads)
        assert self.vector is not None
        assert self.tile is not None
        self.across, self.down = self.vector, self.tile
        self.own[self.down] = self.square_row

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
            count = self.kernel.schedule.copies(self.down) * SIDE
            with self.fill(count * depth) as place:
                taken = {self.down: f"{self.first(self.down)} + {place} / {depth}", along.axis: f"{start} + {place} % {depth}"}
                value = self.scalar(self.inside(row, along, taken), 0, 0)
                self.here.statements.append(f"{ROWS}[{place}] = {value};")
            width = self.kernel.schedule.lanes // self.width * SIDE
            with self.fill(width * depth) as place:
                across = f"{self.first(self.across)} + {place} % {width} * {self.width}"
                taken = {self.across: across, along.axis: f"{start} + {place} / {width}"}
                factor = self.inside(column, along, taken)
                self.vector = _moved(self.across)
                self.here.statements.append(f"{COLUMNS}[{place}] = {self.vector_value(factor, 0, 0)};")
                self.vector = self.across
            self.here.statements.append(self.square.barrier)
            with self.loop("depth", self.dialect.loop("depth", str(depth))):
                self.multiply(depth, width)
            self.here.statements.append(self.square.barrier)

    def conditions(self) -> list[str]:
        return []

    @contextmanager
    def fill(self, size: int) -> Iterator[str]:
        """A loop in which the invocations of the group share `size` places."""
        with self.loop("place", self.square.strided("place", self.square.local, str(size), 1, self.kernel.schedule.group)):
            yield "place"

    def inside(self, factor: Expr, along: Loop, taken: dict[str, str]) -> Expr:
        """A factor at other values of the axes in `taken`, and 0 beyond the end of the reduction."""
        moved = rebuild(factor, lambda expr: axis(_moved(expr.value)) if expr.op == "axis" and expr.value in taken else None)
        within = apply("lt", axis(_moved(along.axis)), along.extent)
        value = select(within, moved, const(0, FLOAT))
        self.learn([value])
        for name, text in taken.items():
            self.declare(len(self.blocks) - 1, INT, text, _moved(name))
            self.levels[_moved(name)] = len(self.blocks) - 1
        return value

    def multiply(self, depth: int, width: int) -> None:
        assert self.simd is not None
        statements, count = self.here.statements, self.kernel.schedule.copies(self.down)
        for position, t, v in self.accumulators():
            row = f"{ROWS}[({self.square_row} * {count} + {t}) * {depth} + depth]"
            column = f"{COLUMNS}[depth * {width} + {self.square_column} * {self.kernel.schedule.lanes // self.width} + {v // self.width}]"
            statements += self.simd.multiply_add(accumulator(position, t, v), self.simd.splat(row, FLOAT), column, FLOAT)


def _moved(name: str) -> str:
    return f"{name}_in"
