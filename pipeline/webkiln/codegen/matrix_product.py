"""Contractions of float16 factors by subgroup matrices, with float32 sums (gpuweb,
proposals/subgroup-matrix.md). A workgroup stages blocks of both factors as it does without
matrices; each subgroup multiplies a region of the results.

Of the forms that were measured on an H100 under Chromium 156, eight subgroups with regions of 16 by
32 and steps of 32 terms took 1.00 and 1.09 of the least time of all, for 512 x 768 x 3072 and
1024 x 1024 x 1024.
"""

from dataclasses import replace

from webkiln.codegen.context import Context, accumulator
from webkiln.codegen.staged_product import COLUMNS, ROWS, Slot, StagedProduct
from webkiln.nest.schedule import InvocationSchedule, Workgroup

HALF = "f16"
SUMS = "sums"
"""The results of one band of the block: rows of as many elements as the block has columns, each
followed by `SUMS_PADDING` unused ones.
"""
DEPTH = 32
"""The terms of a sum in a step."""
SIDE = 4
"""The rows and columns of the results that an invocation stores."""
REGION_ROWS, REGION_COLUMNS = 16, 32
"""The results of a subgroup. A band is as high as a region."""
PADDING, SUMS_PADDING = 8, 4
"""Elements after each line in workgroup memory: lines start at multiples of 16 bytes, in different
banks.
"""


class MatrixProduct(StagedProduct):
    """Prints the reduction of a contraction by subgroup matrices: ROWS [row][depth] and COLUMNS
    [depth][column] are elements, and sums are matrices until the end. Subgroups without a region,
    if these are smaller than 32 invocations, only stage.
    """

    def start(self, here: Context) -> None:
        scopes, matrix = self.scopes, self.groups.matrix
        across = self.shared.columns * self.schedule.tile.lanes // REGION_COLUMNS
        self._declare(f"i32(subgroup) / {across} * {REGION_ROWS}", "region_row")
        self._declare(f"i32(subgroup) % {across} * {REGION_COLUMNS}", "region_column")
        type_ = f"subgroup_matrix_result<f32, {matrix}, {matrix}>"
        scopes.add(*(f"var {name}: {type_};" for name, _, _ in self._matrices()))

    def _matrices(self) -> list[tuple[str, int, int]]:
        """The sums of a subgroup: the name of each, its row and its column in the region."""
        size = self.groups.matrix
        return [
            (f"sum_{row}_{column}", row, column)
            for row in range(0, REGION_ROWS, size)
            for column in range(0, REGION_COLUMNS, size)
        ]

    def column_of(self, place: str) -> str:
        return place

    def place(self, number: str, line: str, within: str, *, is_row: bool) -> str:
        lines = _lines(self.schedule)
        return f"{line} * {lines[ROWS if is_row else COLUMNS][1]} + {within} * {SIDE}"

    def stage(self, slot: Slot) -> str:
        stores = (f"{slot.array}[at + {n}] = halves[{n}];" for n in range(SIDE))
        halves = self.groups.cast(slot.variable, HALF)
        return f"{{ let halves = {halves}; let at = {slot.place}; {' '.join(stores)} }}"

    def multiply_step(self, here: Context) -> None:
        """Multiply the staged factors in the region of a subgroup."""
        size, scopes, lines = self.groups.matrix, self.scopes, _lines(self.schedule)
        (rows, row_line), (_, column_line) = lines[ROWS], lines[COLUMNS]
        sides = {"left": range(0, REGION_ROWS, size), "right": range(0, REGION_COLUMNS, size)}
        places = {
            "left": (ROWS, f"(region_row + {{}}) * {row_line} + depth", row_line),
            "right": (COLUMNS, f"depth * {column_line} + region_column + {{}}", column_line),
        }
        multiply = "subgroupMatrixMultiplyAccumulate"
        header = f"for (var depth = 0; depth < {DEPTH}; depth += {size}) {{"
        with (
            scopes.loop("inside", f"if (region_row < {rows}) {{"),
            scopes.loop("depth", header),
        ):
            for side, starts in sides.items():
                array, place, line = places[side]
                load = f"subgroupMatrixLoad<subgroup_matrix_{side}<{HALF}, {size}, {size}>"
                scopes.add(
                    *(
                        f"let {side}_{start} = {load}, row_major>(&{array},"
                        f" {place.format(start)}, {line});"
                        for start in starts
                    )
                )
            scopes.add(
                *(
                    f"{name} = {multiply}(left_{row}, right_{column}, {name});"
                    for name, row, column in self._matrices()
                )
            )

    def finish(self, here: Context) -> None:
        """Pass the sums to the invocations that store them, one band after another."""
        assert here.simd is not None
        scopes, barrier, grid = self.scopes, self.groups.barrier, self.grid
        self.reductions.start(here, accumulator)
        rows, line = _lines(self.schedule)[ROWS][0], _lines(self.schedule)[SUMS][1]
        high = REGION_ROWS // SIDE
        header = f"for (var band = 0; band < {rows}; band += {REGION_ROWS}) {{"
        with scopes.loop("band", header):
            with scopes.loop("storing", "if (region_row == band) {"):
                scopes.add(
                    *(
                        f"subgroupMatrixStore<row_major>(&{SUMS}, {row * line} + region_column"
                        f" + {column}, {name}, {line});"
                        for name, row, column in self._matrices()
                    )
                )
            scopes.add(barrier)
            with scopes.loop("reading", f"if (({grid.row}) / {high} * {REGION_ROWS} == band) {{"):
                first = f"({grid.row}) % {high} * {SIDE * line} + ({grid.column}) * {SIDE}"
                scopes.define(scopes.innermost, first, "first")
                for _, _, copy in self.reductions.accumulators(here):
                    places = (f"{SUMS}[first + {copy.t * line + n}]" for n in range(SIDE))
                    scopes.add(f"{accumulator(0, copy)} = {self.groups.vector(list(places))};")
            scopes.add(barrier)
        self.reductions.finish(here, accumulator)


def matrix_schedule(schedule: InvocationSchedule) -> InvocationSchedule:
    """A staged schedule of the same block with the invocations of a `MatrixProduct`."""
    tile, shared = schedule.tile, schedule.workgroup
    assert shared is not None
    rows, columns = shared.rows * tile.count, shared.columns * tile.lanes
    workgroup = Workgroup(columns // SIDE, rows // SIDE, depth=DEPTH, staged=True, matrices=True)
    return replace(schedule, tile=replace(tile, lanes=SIDE, count=SIDE), workgroup=workgroup)


def _lines(schedule: InvocationSchedule) -> dict[str, tuple[int, int]]:
    """The lines of each array, and the elements from one to the next."""
    tile, shared = schedule.tile, schedule.workgroup
    assert shared is not None
    rows, columns = shared.rows * tile.count, shared.columns * tile.lanes
    return {
        ROWS: (rows, shared.depth + PADDING),
        COLUMNS: (shared.depth, columns + PADDING),
        SUMS: (REGION_ROWS, columns + SUMS_PADDING),
    }


def matrix_arrays(schedule: InvocationSchedule) -> dict[str, str]:
    """The arrays in workgroup memory: name -> type and size."""
    types = {ROWS: HALF, COLUMNS: HALF, SUMS: "f32"}
    lines = _lines(schedule).items()
    return {name: f"{types[name]}, {count * length}" for name, (count, length) in lines}
