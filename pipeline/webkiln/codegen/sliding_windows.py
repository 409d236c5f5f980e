"""Sliding windows: the iterations of the innermost reduction loop are unrolled, and elements that
several neighbours on the tile axis read are loaded once.
"""

from collections.abc import Callable
from functools import reduce

from webkiln.codegen.reductions import Reductions
from webkiln.codegen.values import accumulator
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, Expr, apply, axis, const, load, rebuild
from webkiln.nest.nest import Loop, conjuncts, load_guard, load_index
from webkiln.nest.schedule import LoopSchedule, Slide


class SlidingWindows(Reductions):
    """Prints contractions with sliding windows."""

    schedule: LoopSchedule

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if len(loops) == 1 and self.schedule.slide and self.copies[1] > 1:
            self.window(loops[0].axis, self.schedule.slide)
        else:
            super().reduction(loops, inside)

    def window(self, along: str, slide: Slide) -> None:
        """All iterations. In iteration `n`, the neighbour `t` multiplies what the first neighbour
        would read in iteration `n + t * slide.ahead`.
        """
        vectors, tiles = self.copies
        (item,) = self.nest.accumulators
        moving = [depends(factor, self.tile or "") for factor in item.body.args]
        (fixed,) = (
            factor for factor, moves in zip(item.body.args, moving, strict=True) if not moves
        )
        (read,) = (factor for factor, moves in zip(item.body.args, moving, strict=True) if moves)
        value = self.vector_value if self.simd else self.scalar
        fixed_factors = [
            rebuild(fixed, {axis(along): const(iteration, INT)}.get)
            for iteration in range(slide.taps)
        ]
        unguarded = rebuild(read, lambda expr: _unguarded(expr, along))
        self.analyse([*fixed_factors, unguarded])
        lane_offsets = [v * self.width for v in range(vectors)]
        factors = {
            (iteration, v): value(fixed_factors[iteration], 0, v)
            for iteration in range(slide.taps)
            for v in lane_offsets
        }
        for position in range((tiles - 1) * slide.stride + slide.taps):
            with self.loop(along, "{"):
                self.declare(len(self.blocks) - 1, INT, str(position), along)
                uses = ((t, position - t * slide.stride) for t in range(tiles))
                users = [(t, iteration) for t, iteration in uses if 0 <= iteration < slide.taps]
                for v in lane_offsets if users else ():
                    shared = value(unguarded if slide.first <= position < slide.end else read, 0, v)
                    for t, iteration in users:
                        a, b = (
                            (shared, factors[iteration, v])
                            if moving[0]
                            else (factors[iteration, v], shared)
                        )
                        self.here.statements += (self.simd or self.dialect).multiply_add(
                            accumulator(0, t, v), a, b, item.body.type
                        )


def _unguarded(expr: Expr, along: str) -> Expr | None:
    """A load without the guards that depend on an axis."""
    guard = load_guard(expr) if expr.op == "load" else None
    if guard is None:
        return None
    left = [item for item in conjuncts(guard[0]) if not depends(item, along)]
    if not left:
        return load(expr.value[0], expr.type, load_index(expr))
    return load(
        expr.value[0],
        expr.type,
        load_index(expr),
        reduce(lambda a, b: apply("and", a, b), left),
        guard[1],
    )
