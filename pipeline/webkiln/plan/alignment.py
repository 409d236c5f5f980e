"""Alignment analysis: schedules whose vectors all lie at a multiple of four elements, so that
memory can be bound as an array of vectors.
"""

from collections.abc import Iterable

from webkiln.ir.dim import Size
from webkiln.ir.size_bounds import round_up
from webkiln.nest.affine import depends
from webkiln.nest.expr import Expr, axis
from webkiln.nest.nest import load_index
from webkiln.nest.schedule import Panel, Tile, panel_of
from webkiln.nest.steps import NestCall, View
from webkiln.plan.kernel import strides
from webkiln.plan.vectors import contiguous

VECTOR = 4


def is_aligned(call: NestCall, tile: Tile, panels: Iterable[Panel]) -> bool:
    """Whether all stores write full vectors at aligned offsets, and all loads along the vector axis
    read such vectors. The vector axis is a parallel axis of whole vectors.
    """
    name = tile.vector
    if name is None or tile.lanes % VECTOR:
        return False
    stores = zip(call.outputs, call.nest.outputs, strict=True)
    if not all(
        fits(call, view, index, None, name, stored=True)
        for view, out in stores
        for _, index in out.stores
    ):
        return False
    return all(
        fits(
            call,
            call.inputs[e.value[0]],
            load_index(e),
            panel_of(panels, e.value[0]),
            name,
            stored=False,
        )
        for e in call.nest.loads
    )


def fits(
    call: NestCall,
    view: View,
    index: tuple[Expr, ...],
    panel: Panel | None,
    name: str,
    *,
    stored: bool,
) -> bool:
    """Whether an access moves along an axis in aligned vectors. `stored`: the lanes must be
    contiguous, because a store writes a full vector. The lanes of a load may be read one by one.
    """
    if stored and not contiguous(index, name):
        return False
    if not any(depends(item, name) for item in index):
        return True
    if panel is not None:
        return panel.block % VECTOR == 0
    if any(depends(item, name) for item in index[:-1]) or not is_vector_multiple(
        index[-1], call, name
    ):
        return False
    steps = strides(view, None)
    return all(is_multiple(steps[dim]) for dim in range(len(index) - 1))


def is_vector_multiple(expr: Expr, call: NestCall, name: str) -> bool:
    """Whether an index is a multiple of the vector size whenever the vector axis is."""
    if expr.op == "const":
        return is_multiple(expr.value)
    if expr.op == "arg":
        return is_multiple(call.args[expr.value])
    if expr.op in ("add", "sub"):
        return all(is_vector_multiple(item, call, name) for item in expr.args)
    if expr.op == "mul":
        return any(is_vector_multiple(item, call, name) for item in expr.args)
    return expr is axis(name)


def is_multiple(size: Size) -> bool:
    return round_up(size, VECTOR) == size
