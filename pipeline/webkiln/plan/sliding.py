"""Sliding windows: contractions of which neighbours on the tile axis read the same elements in
later turns of the innermost reduction loop.
"""

from functools import reduce

import numpy as np

from webkiln.ir.dim import is_symbolic
from webkiln.nest.affine import depends, stride
from webkiln.nest.expr import INT, Expr, apply, arg, axis, const, rebuild, walk
from webkiln.nest.interpret import interpret
from webkiln.nest.nest import Loop, Nest, Operand, conjuncts, load_guard, make_output
from webkiln.nest.schedule import Slide
from webkiln.nest.steps import NestCall

TURNS = range(2, 8)
"""Turns that are printed one by one."""
ARITHMETIC = frozenset({"add", "sub", "mul", "axis"})


def slide(call: NestCall, tile: str, vector: str, count: int = 1) -> Slide | None:
    """How the windows of `count` neighbours slide, where a factor read for one is read for the next
    one, too; None where it is not.
    """
    nest = call.nest
    if (
        not nest.is_contraction
        or not nest.reduce
        or any(loop.axis == vector for loop in nest.reduce)
    ):
        return None
    along, turns = nest.reduce[-1], call.args[nest.reduce[-1].extent.value]
    (body,) = (item.body for item in nest.accumulators)
    moving = [factor for factor in body.args if depends(factor, tile)]
    if len(moving) != 1 or is_symbolic(turns) or turns not in TURNS:
        return None
    found = _ratios(moving[0], tile, along.axis, call)
    if len(found) != 1 or None in found:
        return None
    (ahead,) = found
    if ahead is None or not 0 < ahead < turns:
        return None
    return Slide(turns, ahead, *_inside(call, moving[0], tile, count, (count - 1) * ahead + turns))


def _inside(call: NestCall, read: Expr, tile: str, count: int, places: int) -> tuple[int, int]:
    """The longest run of places in a window at which no window is beyond an end of the tile axis."""
    along = call.nest.reduce[-1].axis
    loads = (load_guard(expr) for expr in walk([read]) if expr.op == "load")
    guards = [
        item
        for guard in loads
        if guard is not None
        for item in conjuncts(guard[0])
        if depends(item, along)
    ]
    names = {item.value for guard in guards for item in walk([guard]) if item.op == "axis"}
    sizes = [
        call.args[item.value] for guard in guards for item in walk([guard]) if item.op == "arg"
    ]
    (extent,) = (call.args[loop.extent.value] for loop in call.nest.axes if loop.axis == tile)
    if not guards:
        return 0, places
    if names - {tile, along} or any(map(is_symbolic, (*sizes, extent))):
        return 0, 0
    windows = {axis(tile): apply("mul", axis(tile), const(count, INT))}
    value = rebuild(reduce(lambda a, b: apply("and", a, b), guards), windows.get)
    held = np.zeros((extent // count, places), bool)
    stores = make_output(Operand("bool", 2), [(value, (axis(tile), axis(along)))])
    loops = (Loop(tile, arg("windows")), Loop(along, arg("places")))
    interpret(
        Nest((), (stores,), loops),
        (),
        {**call.args, "windows": len(held), "places": places},
        (held,),
    )
    runs = [
        (first, end)
        for first in range(places)
        for end in range(first, places + 1)
        if held[:, first:end].all()
    ]
    return max(runs, key=lambda run: run[1] - run[0])


def _ratios(expr: Expr, tile: str, along: str, call: NestCall) -> set[int | None]:
    """By how many turns each index in `expr` moves when the tile axis does; None of one that does
    not move like that.
    """
    if not depends(expr, tile) and not depends(expr, along):
        return set()
    if expr.op not in ARITHMETIC:
        return set().union(*(_ratios(item, tile, along, call) for item in expr.args))
    moves = [stride(expr, name, call.args) for name in (tile, along)]
    if None in moves or not moves[1] or moves[0] is None or moves[0] % moves[1]:
        return {None}
    return {moves[0] // moves[1]}
