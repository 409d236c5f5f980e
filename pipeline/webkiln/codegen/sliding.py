"""Sliding windows: the turns of the innermost reduction loop are printed one by one, and what
several neighbours on the tile axis read is read once.
"""

from collections.abc import Callable
from functools import reduce

from webkiln.codegen.reductions import Reductions
from webkiln.codegen.values import accumulator
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, Expr, apply, axis, const, load, rebuild
from webkiln.nest.nest import Loop, conjuncts, load_guard, load_index
from webkiln.nest.schedule import Slide


class Sliding(Reductions):
    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if len(loops) == 1 and self.kernel.schedule.slide and self.copies[1] > 1:
            self.window(loops[0].axis, self.kernel.schedule.slide)
        else:
            super().reduction(loops, inside)

    def window(self, along: str, slide: Slide) -> None:
        """All turns: the neighbour `t` multiplies in its turn `n` what the first one would read in
        its turn `n + t * slide.stride`.
        """
        vectors, tiles = self.copies
        (item,) = self.nest.accumulators
        moving = [depends(factor, self.tile or "") for factor in item.body.args]
        (fixed,) = (
            factor for factor, moves in zip(item.body.args, moving, strict=True) if not moves
        )
        (read,) = (factor for factor, moves in zip(item.body.args, moving, strict=True) if moves)
        value = self.vector_value if self.simd else self.scalar
        turned = [rebuild(fixed, {axis(along): const(turn, INT)}.get) for turn in range(slide.taps)]
        inside = rebuild(read, lambda expr: _unguarded(expr, along))
        self.learn([*turned, inside])
        each = [v * self.width for v in range(vectors)]
        factors = {(turn, v): value(turned[turn], 0, v) for turn in range(slide.taps) for v in each}
        for place in range((tiles - 1) * slide.stride + slide.taps):
            with self.loop(along, "{"):
                self.declare(len(self.blocks) - 1, INT, str(place), along)
                turns = ((t, place - t * slide.stride) for t in range(tiles))
                users = [(t, turn) for t, turn in turns if 0 <= turn < slide.taps]
                for v in each if users else ():
                    shared = value(inside if slide.first <= place < slide.end else read, 0, v)
                    for t, turn in users:
                        a, b = (
                            (shared, factors[turn, v]) if moving[0] else (factors[turn, v], shared)
                        )
                        self.here.statements += (self.simd or self.dialect).multiply_add(
                            accumulator(0, t, v), a, b, item.body.type
                        )


def _unguarded(expr: Expr, along: str) -> Expr | None:
    """A load without the conditions that move along an axis."""
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
