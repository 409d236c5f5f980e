"""An invocation decodes its points from its number, and stores those in bounds."""

import pytest

from tests.codegen.nests import PRODUCT, kernel_of, lines, printed, values_of
from webkiln.codegen.context import Context, Copy
from webkiln.codegen.grid import Grid
from webkiln.codegen.wgsl import Wgsl
from webkiln.codegen.wgsl_memory import WORDS
from webkiln.codegen.wgsl_workgroups import ANYWHERE
from webkiln.nest.schedule import InvocationSchedule, Tile, Workgroup

TILE = Tile("a1", 4, "a0", 2)


def grid_of(schedule):
    dialect = Wgsl(WORDS, ANYWHERE)
    kernel = kernel_of(PRODUCT, schedule)
    values = values_of(kernel, dialect)
    grid = Grid(values, schedule, dialect)
    return grid, printed(values, lambda: grid.print(kernel.nest.axes))


def test_an_invocation_computes_a_tile():
    _, text = grid_of(InvocationSchedule(tile=TILE))
    assert text == lines("""
        let v1 = (p1 + 3) / 4;
        let a1 = invocation % v1 * 4;
        let v2 = invocation / v1;
        let v3 = (p0 + 1) / 2;
        let a0 = v2 * 2;
        if (a0 >= p0) { return; }
    """)


def test_columns_of_a_workgroup_are_neighbours_on_the_vector_axis():
    _, text = grid_of(InvocationSchedule(tile=TILE, workgroup=Workgroup(8, parts=8)))
    assert "let a1_block = workgroup % v1 * 32;\nlet a1 = a1_block + local % 8 * 4;\n" in text
    assert text.endswith("if (a0 >= p0) { return; }")


def test_all_invocations_of_a_block_exit_together():
    _, text = grid_of(
        InvocationSchedule(tile=TILE, workgroup=Workgroup(8, 8, depth=16, staged=True))
    )
    assert "let a0 = a0_block + local / 8 * 2;" in text
    assert text.endswith("if (a0_block >= p0) { return; }")


@pytest.mark.parametrize(
    ("workgroup", "t", "v", "condition"),
    [
        (None, 0, 0, ""),
        (None, 1, 0, "a0 + 1 < p0"),
        (None, 1, 2, "a0 + 1 < p0 && a1 + 2 < p1"),
        (Workgroup(8, parts=8), 0, 0, "a1 < p1 && local / 8 == 0"),
        (Workgroup(4, 4, 4), 0, 0, "a0 < p0 && a1 < p1 && local / 16 == 0"),
        (Workgroup(parts=64), 0, 0, "local == 0"),
        (Workgroup(8, 8, depth=16), 0, 0, "a0 < p0 && a1 < p1"),
    ],
)
def test_stores_are_guarded(workgroup, t, v, condition):
    grid, _ = grid_of(InvocationSchedule(tile=TILE, workgroup=workgroup))
    expected = f"if ({condition}) {{ store; }}" if condition else "store;"
    assert grid.guard("store;", Copy(Context(), t, v)) == expected
