"""Products of rows by columns in compute shaders: the factors of a contraction, its steps, and the
unrolled iterations of a step.

A step is a block of the innermost reduction loop, for one iteration of each of the others.
"""

from dataclasses import replace

from webkiln.codegen.context import Context, Copy, accumulator
from webkiln.codegen.reductions import Reductions
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, Expr, axis, rebuild


def row_and_column(reductions: Reductions, across: str) -> tuple[Expr, Expr]:
    """The factors of a contraction; the second one moves along the vector axis `across`."""
    (body,) = (item.body for item in reductions.nest.accumulators)
    row, column = sorted(body.args, key=lambda factor: depends(factor, across))
    return row, column


def multiply(reductions: Reductions, here: Context, along: str, depth: int) -> None:
    """`depth` iterations of the innermost reduction loop `along`, from its index on, a multiple of
    the vector width. The rows are read in vectors along the loop.
    """
    values, simd, loop = reductions.values, here.simd, axis(along)
    assert simd is not None
    assert here.vector is not None
    row, column = row_and_column(reductions, here.vector)
    turned = replace(here, vector=along)
    for start in range(0, depth, simd.width):
        moved = rebuild(row, {loop: loop + start}.get)
        rows = [values.vector(moved, Copy(turned, t)) for t in range(here.tiles)]
        for lane in range(simd.width):
            below = rebuild(column, {loop: loop + (start + lane)}.get)
            for position, item, copy in reductions.accumulators(here):
                type_ = item.body.type
                factor = simd.lane(rows[copy.t], lane, type_)
                value, total = values.vector(below, copy), accumulator(position, copy)
                reductions.scopes.add(*simd.multiply_add(total, factor, value, type_))


class ProductSteps:
    """The steps of a contraction. `inner`: the loop of which a step has `depth` iterations."""

    def __init__(self, reductions: Reductions, depth: int) -> None:
        self.scopes, self.depth = reductions.scopes, depth
        *self.outer, self.inner = reductions.nest.reduce
        values = reductions.values
        blocks = f"(({values.extent(self.inner)} + {depth - 1}) / {depth})"
        self.sizes = [*map(values.extent, self.outer), blocks]

    def count(self) -> str:
        """Declare the number of steps, and return its name."""
        return self.scopes.declare(0, INT, " * ".join(self.sizes))

    def declare(self, number: str, suffix: str = "") -> None:
        """Declare the indices of a step here: those of the outer loops, and the first one of the
        innermost loop, under the names of the loops with a suffix.
        """
        loops = [*self.outer, self.inner]
        for loop, size in reversed(list(zip(loops, self.sizes, strict=True))):
            text = number if loop is loops[0] else f"{number} % {size}"
            times = f" * {self.depth}" if loop is self.inner else ""
            self.scopes.define(self.scopes.innermost, text + times, loop.axis + suffix)
            if loop is not loops[0]:
                number = self.scopes.declare_here(INT, f"{number} / {size}")
