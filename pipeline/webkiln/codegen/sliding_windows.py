"""Sliding windows: the iterations of the innermost reduction loop are unrolled, and elements that
several neighbours on the tile axis read are loaded once.
"""

from functools import reduce

from webkiln.codegen.context import Context, accumulator
from webkiln.codegen.reductions import Inside
from webkiln.codegen.values import Values
from webkiln.nest.affine import depends
from webkiln.nest.expr import INT, Expr, apply, axis, const, load, rebuild
from webkiln.nest.nest import Loop, conjuncts, load_guard, load_index
from webkiln.nest.schedule import Slide


def print_sliding_window(
    values: Values, slide: Slide, loop: Loop, here: Context, inside: Inside
) -> None:
    """All iterations of a contraction, instead of a loop around `inside`. In iteration `n`, the
    neighbour `t` multiplies what the first neighbour would read in iteration `n + t *
    slide.stride`.
    """
    along, scopes = loop.axis, values.scopes
    (item,) = values.nest.accumulators
    moving = [depends(factor, here.tile or "") for factor in item.body.args]
    (fixed,) = (factor for factor, moves in zip(item.body.args, moving, strict=True) if not moves)
    (read,) = (factor for factor, moves in zip(item.body.args, moving, strict=True) if moves)
    unguarded = rebuild(read, lambda expr: _unguarded(expr, along))
    first = [copy for copy in here.copies if copy.t == 0]
    factors = {
        (tap, copy.v): values.value(rebuild(fixed, {axis(along): const(tap, INT)}.get), copy)
        for tap in range(slide.taps)
        for copy in first
    }
    for position in range((here.tiles - 1) * slide.stride + slide.taps):
        with scopes.loop(along, "{"):
            scopes.declare_here(INT, str(position), along)
            uses = ((t, position - t * slide.stride) for t in range(here.tiles))
            users = [(t, tap) for t, tap in uses if 0 <= tap < slide.taps]
            for copy in first if users else ():
                in_bounds = slide.first <= position < slide.end
                shared = values.value(unguarded if in_bounds else read, copy)
                for t, tap in users:
                    pair = (shared, factors[tap, copy.v])
                    a, b = pair if moving[0] else reversed(pair)
                    name = accumulator(0, copy._replace(t=t))
                    language = here.simd or values.dialect
                    scopes.add(*language.multiply_add(name, a, b, item.body.type))


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
