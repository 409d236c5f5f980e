"""Contractions whose factors are read from where they lie. A step is unrolled: its factors are read
first, then multiplied. The parts of a workgroup divide the steps among them.
"""

from webkiln.codegen.context import Context, accumulator
from webkiln.codegen.grid import Grid
from webkiln.codegen.product_steps import ProductSteps, multiply
from webkiln.codegen.reductions import Reductions
from webkiln.nest.expr import INT
from webkiln.nest.schedule import InvocationSchedule


def print_direct_product(
    reductions: Reductions, schedule: InvocationSchedule, grid: Grid, here: Context
) -> None:
    """The reduction of a contraction by one part. The innermost loop has a multiple of the depth of
    a step, and one factor is read in vectors along it.
    """
    scopes, shared = reductions.scopes, schedule.workgroup
    assert shared is not None
    reductions.start(here, accumulator)
    steps = ProductSteps(reductions, shared.depth)
    count = steps.count()
    first = scopes.declare(0, INT, f"({grid.part}) * {count} / {shared.parts}")
    end = scopes.declare(0, INT, f"({grid.part} + 1) * {count} / {shared.parts}")
    with scopes.loop("step", f"for (var step = {first}; step < {end}; step++) {{"):
        steps.declare("step")
        multiply(reductions, here, steps.inner.axis, shared.depth)
    reductions.finish(here, accumulator)
