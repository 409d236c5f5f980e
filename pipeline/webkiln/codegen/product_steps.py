"""The steps of a contraction that a workgroup computes: blocks of the innermost reduction loop, for
all iterations of the other loops.
"""

from webkiln.codegen.reductions import Reductions
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, Expr


class ProductSteps:
    """`across`: the vector axis. `row` and `column`: the factors, of which the second one moves
    along it. `inner`: the loop of which a step computes `depth` iterations.
    """

    def __init__(self, reductions: Reductions, across: str, depth: int) -> None:
        self.values, self.scopes, self.depth = reductions.values, reductions.scopes, depth
        *self.outer, self.inner = reductions.nest.reduce
        (body,) = (item.body for item in reductions.nest.accumulators)
        self.row, self.column = self._sorted(body, across)

    @staticmethod
    def _sorted(body: Expr, across: str) -> list[Expr]:
        return sorted(body.args, key=lambda factor: depends(factor, across))

    def count(self) -> str:
        """Declare the number of steps, and return its name."""
        extent = self.values.extent(self.inner)
        sizes = [self.values.extent(loop) for loop in self.outer]
        blocks = f"(({extent} + {self.depth - 1}) / {self.depth})"
        return self.scopes.declare(0, INT, " * ".join([*sizes, blocks]))

    def declare(self, number: str, suffix: str = "") -> None:
        """Declare the indices of a step here: those of the outer loops, and the first one of the
        innermost loop, under the names of the loops with a suffix.
        """
        scopes = self.scopes
        loops, sizes = [*self.outer, self.inner], list(map(self.values.extent, self.outer))
        sizes.append(f"(({self.values.extent(self.inner)} + {self.depth - 1}) / {self.depth})")
        for loop, size in reversed(list(zip(loops, sizes, strict=True))):
            text = number if loop is loops[0] else f"{number} % {size}"
            times = f" * {self.depth}" if loop is self.inner else ""
            name = scopes.declare_here(INT, text + times, loop.axis + suffix)
            scopes.levels[name] = scopes.innermost
            if loop is not loops[0]:
                number = scopes.declare_here(INT, f"{number} / {size}")
