"""Blocked contractions by workgroups: tiles of both factors are staged in workgroup memory, `depth`
steps of the reduction at a time.

One factor moves along the tile axis, the other along the vector axis. The staged type may differ
from float32; the products and the sums of these steps then have that type too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from webkiln.codegen.context import SCALAR, Context, Copy, accumulator
from webkiln.codegen.dialect import Groups
from webkiln.codegen.grid import Grid
from webkiln.codegen.reductions import Inside, Reductions
from webkiln.nest.affine import depends
from webkiln.nest.expr import FLOAT, INT, Expr, apply, axis, const, rebuild, select
from webkiln.nest.float16 import clamp_to_float16
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import SIDE, InvocationSchedule

ROWS, COLUMNS = "rows", "columns"
"""The staged factors: vectors [row][depth] along the reduction, and [depth][column] along the
vector axis.
"""

REACHED = "reached"
"""The position on the reduction loop of the first element of a vector. Either all its elements are
in bounds or none.
"""


class BlockedContraction:
    """Prints the innermost loop of a contraction whose factors are staged in workgroup memory."""

    def __init__(
        self, reductions: Reductions, schedule: InvocationSchedule, groups: Groups, grid: Grid
    ) -> None:
        self.reductions, self.schedule = reductions, schedule
        self.values, self.scopes = reductions.values, reductions.scopes
        self.groups, self.grid = groups, grid
        self.converts = groups.staged != FLOAT

    def print(self, loop: Loop, here: Context, inside: Inside) -> None:
        """Loop over blocks of the reduction, instead of a loop around `inside`. In each, the group
        stages a tile of both factors, waits, and multiplies them; in between, a barrier protects
        the tiles from being overwritten.
        """
        tile, workgroup = self.schedule.tile, self.schedule.workgroup
        assert here.simd is not None
        assert workgroup is not None
        assert tile.vector is not None
        assert tile.axis is not None
        along, extent, start = loop.axis, self.values.extent(loop), f"{loop.axis}_block"
        (body,) = (item.body for item in self.values.nest.accumulators)
        across, down, width = tile.vector, tile.axis, here.width
        row, column = sorted(body.args, key=lambda factor: depends(factor, across))
        depth, steps = workgroup.depth, workgroup.depth // width
        with self.scopes.loop(start, self.groups.strided(start, "0", extent, 1, depth)):
            with self._fill(tile.count * SIDE * steps) as slot:
                offsets = {
                    down: f"{self.grid.first(down)} + {slot} / {steps}",
                    along: f"{start} + {slot} % {steps} * {width}",
                }
                value = self._substituted(row, loop, offsets)
                self._stage(f"{ROWS}[{slot}]", self._along_reduction(value, along, here))
            columns = tile.lanes // width * SIDE
            with self._fill(columns * depth) as slot:
                offsets = {
                    across: f"{self.grid.first(across)} + {slot} % {columns} * {width}",
                    along: f"{start} + {slot} / {columns}",
                }
                value = self._substituted(column, loop, offsets)
                self._stage(f"{COLUMNS}[{slot}]", self._vector(value, across, here))
            self._multiply_block(here, steps, columns)

    def _multiply_block(self, here: Context, steps: int, columns: int) -> None:
        """Multiply the staged tiles, between two barriers."""
        dialect, groups, scopes = self.values.dialect, self.groups, self.scopes
        scopes.add(groups.barrier)
        totals = [accumulator(0, copy) for copy in here.copies]
        sums = [f"{name}_here" for name in totals] if self.converts else totals
        if self.converts:
            scopes.add(*map(groups.zeros, sums))
        with scopes.loop("depth", dialect.loop("depth", str(steps))):
            self._multiply(here, steps, columns, sums)
        if self.converts:
            pairs = zip(totals, sums, strict=True)
            scopes.add(*(f"{total} += {groups.cast(name, FLOAT)};" for total, name in pairs))
        scopes.add(groups.barrier)

    def _stage(self, slot: str, value: str) -> None:
        staged = self.groups.cast(value, self.groups.staged) if self.converts else value
        self.scopes.add(f"{slot} = {staged};")

    def _vector(self, value: Expr, name: str, here: Context) -> str:
        """A vector of neighbours along an axis that `_substituted` has replaced."""
        return self.values.vector(value, Copy(replace(here, vector=_moved(name))))

    def _along_reduction(self, value: Expr, name: str, here: Context) -> str:
        """A vector of neighbours along the reduction, loaded at once if they are contiguous."""
        if self.schedule.unroll:
            return self._vector(value, name, here)
        bases = (axis(_moved(name)), axis(REACHED))
        steps = [
            rebuild(value, {base: base + step for base in bases}.get) for step in range(here.width)
        ]
        return self.groups.vector([self.values.scalar(step, SCALAR) for step in steps])

    @contextmanager
    def _fill(self, size: int) -> Iterator[str]:
        """A loop in which the invocations of the group share `size` slots."""
        group = self.schedule.group
        header = self.groups.strided("place", self.groups.local, str(size), 1, group)
        with self.scopes.loop("place", header):
            yield "place"

    def _substituted(self, factor: Expr, along: Loop, offsets: dict[str, str]) -> Expr:
        """A factor with the axes in `offsets` replaced, and 0 beyond the end of the reduction.
        Clamped to the range of float16 if that type is staged.
        """
        moved = rebuild(
            factor,
            lambda expr: (
                axis(_moved(expr.value)) if expr.op == "axis" and expr.value in offsets else None
            ),
        )
        if self.converts and not (
            moved.op == "load" and self.values.nest.inputs[moved.value[0]].dtype == "float16"
        ):
            moved = clamp_to_float16(moved)
        for name, text in [
            *((_moved(name), text) for name, text in offsets.items()),
            (REACHED, _moved(along.axis)),
        ]:
            self.scopes.declare_here(INT, text, name)
            self.scopes.levels[name] = self.scopes.innermost
        return select(apply("lt", axis(REACHED), along.extent), moved, const(0, FLOAT))

    def _multiply(self, here: Context, steps: int, columns: int, sums: list[str]) -> None:
        """The products of one vector of each staged row with the columns."""
        simd, staged, tile = here.simd, self.groups.staged, self.schedule.tile
        assert simd is not None
        type_, vectors, grid = simd.vector(staged), here.vectors, self.grid
        rows = [
            self.scopes.declare_here(
                type_, f"{ROWS}[({grid.row} * {tile.count} + {t}) * {steps} + depth]"
            )
            for t in range(tile.count)
        ]
        for lane in range(here.width):
            start = f"(depth * {here.width} + {lane}) * {columns} + {grid.column} * {vectors}"
            loaded = [
                self.scopes.declare_here(type_, f"{COLUMNS}[{start} + {v}]") for v in range(vectors)
            ]
            for copy, name in zip(here.copies, sums, strict=True):
                factor = simd.splat(simd.lane(rows[copy.t], lane, staged), staged)
                product = simd.multiply_add(name, factor, loaded[copy.v // here.width], staged)
                self.scopes.add(*product)


def _moved(name: str) -> str:
    return f"{name}_in"
