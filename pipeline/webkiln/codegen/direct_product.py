"""Contractions whose factors are read from where they lie. A step is unrolled: its factors are read
first, then multiplied. The parts of a workgroup divide the steps among them.
"""

from dataclasses import replace

from webkiln.codegen.context import Context, Copy, accumulator
from webkiln.codegen.grid import Grid
from webkiln.codegen.product_steps import ProductSteps
from webkiln.codegen.reductions import Reductions
from webkiln.nest.expr import INT, axis, rebuild
from webkiln.nest.schedule import InvocationSchedule


def print_direct_product(
    reductions: Reductions, schedule: InvocationSchedule, grid: Grid, here: Context
) -> None:
    """The reduction of a contraction by one part. The innermost loop has a multiple of the depth of
    a step, and one factor is read in vectors along it.
    """
    values, scopes, simd, shared = (
        reductions.values,
        reductions.scopes,
        here.simd,
        schedule.workgroup,
    )
    assert simd is not None
    assert here.vector is not None
    assert shared is not None
    reductions.start(here, accumulator)
    steps = ProductSteps(reductions, here.vector, shared.depth)
    count, inner = steps.count(), axis(steps.inner.axis)
    first = scopes.declare(0, INT, f"({grid.part}) * {count} / {shared.parts}")
    end = scopes.declare(0, INT, f"({grid.part} + 1) * {count} / {shared.parts}")
    along = replace(here, vector=steps.inner.axis)
    with scopes.loop("step", f"for (var step = {first}; step < {end}; step++) {{"):
        steps.declare("step")
        for start in range(0, shared.depth, simd.width):
            moved = rebuild(steps.row, {inner: inner + start}.get)
            rows = [values.vector(moved, Copy(along, t)) for t in range(here.tiles)]
            for lane in range(simd.width):
                column = rebuild(steps.column, {inner: inner + (start + lane)}.get)
                for position, item, copy in reductions.accumulators(here):
                    type_ = item.body.type
                    factor = simd.lane(rows[copy.t], lane, type_)
                    value, total = values.vector(column, copy), accumulator(position, copy)
                    scopes.add(*simd.multiply_add(total, factor, value, type_))
    reductions.finish(here, accumulator)
