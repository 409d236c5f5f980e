"""Sliding windows: contractions whose neighbours on the tile axis read the same elements in later
iterations of the innermost reduction loop.
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

UNROLLED_ITERATIONS = range(2, 8)
"""Numbers of iterations that are unrolled."""
ARITHMETIC = frozenset({"add", "sub", "mul", "axis"})


def match_sliding_window(call: NestCall, tile: str, vector: str, count: int = 1) -> Slide | None:
    """How the windows of `count` neighbours slide, if a factor read for one is also read for the
    next. None if it is not.
    """
    nest = call.nest
    if (
        not nest.is_contraction
        or not nest.reduce
        or any(loop.axis == vector for loop in nest.reduce)
    ):
        return None
    along, iterations = nest.reduce[-1], call.args[nest.reduce[-1].extent.value]
    (body,) = (item.body for item in nest.accumulators)
    moving = [factor for factor in body.args if depends(factor, tile)]
    if len(moving) != 1 or is_symbolic(iterations) or iterations not in UNROLLED_ITERATIONS:
        return None
    shifts = _shifts(moving[0], tile, along.axis, call)
    if len(shifts) != 1 or None in shifts:
        return None
    (shift,) = shifts
    if shift is None or not 0 < shift < iterations:
        return None
    return Slide(
        iterations,
        shift,
        *_unguarded_run(call, moving[0], tile, count, (count - 1) * shift + iterations),
    )


def _unguarded_run(
    call: NestCall, read: Expr, tile: str, count: int, positions: int
) -> tuple[int, int]:
    """The longest run of positions in a window at which the guards hold for every tile."""
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
        return 0, positions
    if names - {tile, along} or any(map(is_symbolic, sizes)) or is_symbolic(extent):
        return 0, 0
    known_args = {name: size for name, size in call.args.items() if not is_symbolic(size)}
    windows = {axis(tile): apply("mul", axis(tile), const(count, INT))}
    value = rebuild(reduce(lambda a, b: apply("and", a, b), guards), windows.get)
    valid = np.zeros((extent // count, positions), bool)
    stores = make_output(Operand("bool", 2), [(value, (axis(tile), axis(along)))])
    loops = (Loop(tile, arg("windows")), Loop(along, arg("positions")))
    interpret(
        Nest((), (stores,), loops),
        (),
        {**known_args, "windows": len(valid), "positions": positions},
        (valid,),
    )
    runs = [
        (first, end)
        for first in range(positions)
        for end in range(first, positions + 1)
        if valid[:, first:end].all()
    ]
    return max(runs, key=lambda run: run[1] - run[0])


def _shifts(expr: Expr, tile: str, along: str, call: NestCall) -> set[int | None]:
    """For each index in `expr`, the number of iterations by which it shifts when the tile axis
    advances. None for an index that moves otherwise.
    """
    if not depends(expr, tile) and not depends(expr, along):
        return set()
    if expr.op not in ARITHMETIC:
        return set().union(*(_shifts(item, tile, along, call) for item in expr.args))
    moves = [stride(expr, name, call.args) for name in (tile, along)]
    if None in moves or not moves[1] or moves[0] is None or moves[0] % moves[1]:
        return {None}
    return {moves[0] // moves[1]}
