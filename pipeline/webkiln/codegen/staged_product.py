"""Contractions whose factors a workgroup stages in workgroup memory, one step at a time. While a
step is computed, invocations load the factors of the next one into variables.

The staged type may differ from float32; the products and the sums of a step then have that type
too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from webkiln.codegen.context import SCALAR, Context, Copy, accumulator
from webkiln.codegen.dialect import Groups
from webkiln.codegen.grid import Grid
from webkiln.codegen.product_steps import ProductSteps, row_and_column
from webkiln.codegen.reductions import Reductions
from webkiln.nest.expr import FLOAT, Expr, apply, axis, const, rebuild, select
from webkiln.nest.float16 import clamp_to_float16
from webkiln.nest.schedule import InvocationSchedule

ROWS, COLUMNS = "rows", "columns"
"""The staged factors: vectors [row][depth] along the reduction, each row followed by an unused
vector, and [depth][vector of a tile][column] along the vector axis. So invocations that execute
together read different banks of the memory.
"""
AHEAD = "_ahead"
"""What follows the names of the loops in those of the indices of the next step."""
REACHED = "reached"
"""The position on the innermost loop of the first element of a vector. Either all its elements are
in bounds or none.
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """A vector that an invocation stages: the variable that contains it until then, its place in
    the array of its factor, and the number that distinguishes its indices.
    """

    variable: str
    place: str
    number: str
    is_row: bool

    @property
    def array(self) -> str:
        return ROWS if self.is_row else COLUMNS


class StagedProduct:
    """Prints the reduction of a contraction whose factors are staged in workgroup memory."""

    def __init__(
        self, reductions: Reductions, schedule: InvocationSchedule, groups: Groups, grid: Grid
    ) -> None:
        assert schedule.workgroup is not None
        assert schedule.tile.vector is not None
        assert schedule.tile.axis is not None
        self.reductions, self.schedule = reductions, schedule
        self.values, self.scopes = reductions.values, reductions.scopes
        self.groups, self.grid, self.shared = groups, grid, schedule.workgroup
        self.across, self.down = schedule.tile.vector, schedule.tile.axis
        self.steps = ProductSteps(reductions, self.shared.depth)
        self.row, self.column = row_and_column(reductions, self.across)
        self.converts = groups.staged != FLOAT

    def print(self, here: Context) -> None:
        """A loop over steps. The iteration before the first step only loads its factors. Barriers
        separate staging from multiplying.
        """
        assert here.simd is not None
        scopes, barrier = self.scopes, self.groups.barrier
        self.start(here)
        count, slots = self.steps.count(), list(self._slots(here))
        scopes.add(*(self.groups.zeros(slot.variable, FLOAT) for slot in slots))
        with scopes.loop("step", f"for (var step = -1; step < {count}; step++) {{"):
            for slot in slots:
                scopes.add(self.stage(slot))
            scopes.add(barrier)
            with scopes.loop("loading", "{"):
                self.steps.declare(f"min(step + 1, {count} - 1)", AHEAD)
                for slot in slots:
                    scopes.add(f"{slot.variable} = {self._load(slot, here)};")
            with scopes.loop("multiplying", "if (step >= 0) {"):
                self.multiply_step(here)
            scopes.add(barrier)
        self.finish(here)

    def start(self, here: Context) -> None:
        """Declare the sums."""
        self.reductions.start(here, accumulator)

    def finish(self, here: Context) -> None:
        self.reductions.finish(here, accumulator)

    def stage(self, slot: Slot) -> str:
        """Write the vector of a slot to workgroup memory."""
        return f"{slot.array}[{slot.place}] = {self._staged(slot.variable)};"

    def place(self, number: str, line: str, within: str, *, is_row: bool) -> str:
        """Where a vector lies: number `within` of a line, numbered by `number` in all."""
        return f"{number} + {line}" if is_row else number

    def _slots(self, here: Context) -> Iterator[Slot]:
        """The vectors that an invocation stages, and their indices, which do not move in the loop
        over steps.
        """
        tile, shared, width = self.schedule.tile, self.shared, here.width
        deep, columns = shared.depth // width, tile.lanes // width * shared.columns
        for name, total, per_line in (
            (ROWS, tile.count * shared.rows * deep, deep),
            (COLUMNS, columns * shared.depth, columns),
        ):
            for start in range(0, total, shared.size):
                number = f"{name}{start // shared.size}"
                place = self._declare(f"{self.groups.local} + {start}", f"place_{number}")
                if total % shared.size:
                    place = self._declare(f"min({place}, {total - 1})", f"last_{number}")
                line, within = f"{place} / {per_line}", f"{place} % {per_line}"
                is_row = name == ROWS
                parallel, along = (line, within) if is_row else (self.column_of(within), line)
                moves, first = (self.down, "") if is_row else (self.across, f" * {width}")
                text = f"{self.grid.first(moves)} + {parallel}{first}"
                self._declare(text, f"{moves}_{number}")
                self._declare(along + (f" * {width}" if is_row else ""), f"depth_{number}")
                place = self.place(place, line, within, is_row=is_row)
                yield Slot(f"next_{number}", place, number, is_row)

    def column_of(self, place: str) -> str:
        """The vector of a workgroup's columns that has a place in a row of them."""
        columns, vectors = self.shared.columns, self.schedule.tile.lanes // 4
        if vectors == 1:
            return place
        return f"({place} % {columns} * {vectors} + {place} / {columns})"

    def _declare(self, text: str, name: str) -> str:
        """Declare an index that does not move in the loop over steps, and return its name."""
        self.scopes.define(0, text, name)
        return name

    def _load(self, slot: Slot, here: Context) -> str:
        """The vector of a slot in the next step."""
        factor = self.row if slot.is_row else self.column
        inner, moves = self.steps.inner.axis, self.down if slot.is_row else self.across
        names = {loop.axis: loop.axis + AHEAD for loop in self.steps.outer}
        names |= {moves: f"{moves}_{slot.number}", inner: f"{inner}_{slot.number}"}
        reached = f"{REACHED}_{slot.number}"
        for name in (names[inner], reached):
            text = f"{inner}{AHEAD} + depth_{slot.number}"
            self.scopes.define(self.scopes.innermost, text, name)
        moved = self._clamped(_renamed(factor, names))
        inside = apply("lt", axis(reached), self.steps.inner.extent)
        value = select(inside, moved, const(0, FLOAT))
        if not slot.is_row:
            return self._vector(value, names[moves], here)
        if self.schedule.unroll:
            return self._vector(value, names[inner], here)
        bases = (axis(names[inner]), axis(reached))
        lanes = [
            rebuild(value, {base: base + step for base in bases}.get) for step in range(here.width)
        ]
        return self.groups.vector([self.values.scalar(lane, SCALAR) for lane in lanes])

    def _clamped(self, value: Expr) -> Expr:
        """A factor within the range of float16 if it is staged as float16."""
        is_float16 = (
            value.op == "load" and self.values.nest.inputs[value.value[0]].dtype == "float16"
        )
        return clamp_to_float16(value) if self.converts and not is_float16 else value

    def _vector(self, value: Expr, name: str, here: Context) -> str:
        """A vector of neighbours along an axis."""
        return self.values.vector(value, Copy(replace(here, vector=name)))

    def _staged(self, vector: str) -> str:
        return self.groups.cast(vector, self.groups.staged) if self.converts else vector

    def multiply_step(self, here: Context) -> None:
        """Multiply the staged factors."""
        groups, scopes = self.groups, self.scopes
        totals = [accumulator(0, copy) for copy in here.copies]
        sums = [f"{name}_here" for name in totals] if self.converts else totals
        if self.converts:
            scopes.add(*(groups.zeros(name, groups.staged) for name in sums))
        header = self.values.dialect.loop("depth", str(self.shared.depth // here.width))
        with scopes.loop("depth", header):
            self._multiply(here, sums)
        if self.converts:
            pairs = zip(totals, sums, strict=True)
            scopes.add(*(f"{total} += {groups.cast(name, FLOAT)};" for total, name in pairs))

    def _multiply(self, here: Context, sums: list[str]) -> None:
        """The products of one vector of each staged row with the columns."""
        simd, staged, tile = here.simd, self.groups.staged, self.schedule.tile
        assert simd is not None
        type_, vectors, grid = simd.vector(staged), here.vectors, self.grid
        deep, columns = self.shared.depth // here.width, vectors * self.shared.columns
        rows = [
            self.scopes.declare_here(
                type_,
                f"{ROWS}[({grid.row}) * {tile.count * (deep + 1)} + {t * (deep + 1)} + depth]",
            )
            for t in range(tile.count)
        ]
        for lane in range(here.width):
            start = f"(depth * {here.width} + {lane}) * {columns} + ({grid.column})"
            loaded = [
                self.scopes.declare_here(type_, f"{COLUMNS}[{start} + {v * self.shared.columns}]")
                for v in range(vectors)
            ]
            for copy, name in zip(here.copies, sums, strict=True):
                factor = simd.lane(rows[copy.t], lane, staged)
                product = simd.multiply_add(name, factor, loaded[copy.v // here.width], staged)
                self.scopes.add(*product)


def staged_vectors(schedule: InvocationSchedule) -> dict[str, int]:
    """The vectors of four of each array in workgroup memory."""
    tile, shared = schedule.tile, schedule.workgroup
    assert shared is not None
    if schedule.window:
        return {COLUMNS: shared.columns * shared.depth}
    return {
        ROWS: shared.rows * tile.count * (shared.depth // 4 + 1),
        COLUMNS: shared.columns * tile.lanes // 4 * shared.depth,
    }


def _renamed(factor: Expr, names: dict[str, str]) -> Expr:
    """A factor with other names of axes."""
    return rebuild(
        factor,
        lambda expr: axis(names[expr.value]) if expr.op == "axis" and expr.value in names else None,
    )
