"""Choose the vector axis of a call, the tile, and the constants that are repacked as panels."""

from collections.abc import Collection
from dataclasses import dataclass

from webkiln.ir.dim import known
from webkiln.nest.affine import depends
from webkiln.nest.expr import Expr, axis, walk
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.schedule import Panel, Tile
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan.tile_shapes import tile_axis, tile_shape
from webkiln.plan.vectors import Rejection, contiguous, extent, moving, unvectorised

MAX_WIDE_LOADS = 8
"""A map with at most this many loads has registers for several vectors of each."""
GROUP_BLOCK = 32
"""The elements of a panel that a workgroup reads at once."""
MIN_VECTOR_ROW = 8
"""The shortest reduction for which folding several accumulators pays."""


@dataclass(frozen=True, slots=True)
class VectorAxis:
    """The vector axis, with the tile and the panels that suit it. `rejected`: other axes, and why
    each cannot be the vector axis.
    """

    name: str
    tile: Tile
    panels: tuple[Panel, ...]
    rejected: tuple[str, ...]
    is_reduced: bool = False


def vector_axis(
    call: NestCall, target: Target, constants: Collection[str]
) -> VectorAxis | Rejection:
    """The vector axis of `call`: the innermost parallel loop that fits, or the innermost reduction
    loop. Operands named in `constants` may be repacked.
    """
    nest = call.nest
    if target.vectors.width == 1 and not nest.accumulators:
        return Rejection(f"{target.backend} computes one element at a time outside reductions")
    rejected: list[str] = []
    for loop in reversed(nest.axes):
        panels = _panels_for(call, loop, target, constants)
        if not isinstance(panels, Rejection):
            tile = _tile(call, loop.axis, target)
            return VectorAxis(loop.axis, tile, panels, tuple(rejected))
        rejected.append(f"{loop.axis}: {panels.reason}")
    for loop in reversed(nest.reduce):
        rejection = _row_rejection(call, loop, target)
        if rejection is None:
            tile = _tile_of_rows(call, loop.axis, target)
            return VectorAxis(loop.axis, tile, (), tuple(rejected), is_reduced=True)
        rejected.append(f"{loop.axis}: {rejection.reason}")
    if not rejected:
        return Rejection("there is no axis")
    return Rejection(f"no axis can be the vector axis ({'; '.join(rejected)})")


def _tile(call: NestCall, name: str, target: Target) -> Tile:
    if not call.nest.is_contraction:
        is_wide = len(call.nest.loads) <= MAX_WIDE_LOADS
        return Tile(name, target.tiles.map_lanes if is_wide else target.vectors.width)
    lanes, count = tile_shape(call, name, target)
    other = tile_axis(call, name)
    return Tile(name, lanes, other.axis, count) if other else Tile(name, lanes)


def _tile_of_rows(call: NestCall, name: str, target: Target) -> Tile:
    """The tile of a vectorised reduction loop. The copies of a contraction share a factor."""
    other = tile_axis(call, name) if call.nest.is_contraction else None
    if other is None:
        return Tile(name, target.tiles.map_lanes)
    lanes, count = target.tiles.dot
    return Tile(name, lanes, other.axis, count)


def _panels_for(
    call: NestCall, loop: Loop, target: Target, constants: Collection[str]
) -> tuple[Panel, ...] | Rejection:
    """The panels with which `loop` can be the vector axis, or why it cannot."""
    nest, name = call.nest, loop.axis
    loads = moving(call, name, target)
    if isinstance(loads, Rejection):
        return loads
    panels: dict[int, Panel] = {}
    for expr in nest.loads:
        if any(item.op in ("acc", "accindex") for item in walk(expr.args)):
            return Rejection(f"where input {expr.value[0]} is read is the result of a reduction")
    for expr in loads:
        if target.invocations and contiguous(load_index(expr), name):
            continue
        panel = _panel(call, expr, name, target, constants)
        if panel is not None:
            panels[expr.value[0]] = panel
        elif not contiguous(load_index(expr), name):
            return Rejection(f"input {expr.value[0]} is not contiguous on it")
    for out in nest.outputs:
        if target.vectors.width > 1 and out.operand.dtype not in target.vectors.dtypes:
            return Rejection(f"the output is {out.operand.dtype}")
        if not nest.accumulators and not all(contiguous(index, name) for _, index in out.stores):
            return Rejection("the output is not contiguous on it")
    if target.vectors.width > 1:
        rejection = unvectorised(
            [a.body for a in nest.accumulators]
            + [value for out in nest.outputs for value, _ in out.stores],
            name,
            target,
        )
        if rejection:
            return rejection
    if extent(call, loop) < (
        2
        if panels or (target.invocations and nest.is_contraction)
        else max(target.vectors.width, 2)
    ):
        return Rejection(f"its size {extent(call, loop)} is below a vector")
    return tuple(panels.values())


def _row_rejection(call: NestCall, loop: Loop, target: Target) -> Rejection | None:
    """Why a reduction loop cannot be vectorised, if it cannot."""
    nest, name = call.nest, loop.axis
    if extent(call, loop) < MIN_VECTOR_ROW:
        return Rejection(f"its size {extent(call, loop)} is below {MIN_VECTOR_ROW}")
    loads = moving(call, name, target)
    if isinstance(loads, Rejection):
        return loads
    for expr in loads:
        if not contiguous(load_index(expr), name):
            return Rejection(f"input {expr.value[0]} is not contiguous on it")
    if target.vectors.width == 1:
        return None
    return unvectorised([a.body for a in nest.accumulators], name, target)


def _panel(
    call: NestCall, expr: Expr, name: str, target: Target, constants: Collection[str]
) -> Panel | None:
    """The panel of a constant factor of a contraction: the vector axis innermost, the other
    dimensions in the order of the loops that move along them. A dimension along which no loop moves
    follows the dimension before it.
    """
    source, index = expr.value[0], load_index(expr)
    reads = [e for e in call.nest.loads if e.value[0] == source]
    if (
        not target.memory.packs
        or not call.nest.is_contraction
        or call.inputs[source].name not in constants
        or len(reads) > 1
        or load_guard(expr)
    ):
        return None
    along = [item for item in index if depends(item, name)]
    factors = walk(call.nest.accumulators[0].body.args, leaves=("load",))
    if expr not in factors or along != [axis(name)]:
        return None
    loops = [loop.axis for loop in (*call.nest.axes, *call.nest.reduce)]
    if not any(depends(item, loop.axis) for item in index for loop in call.nest.reduce):
        return None
    dim, depths = index.index(axis(name)), [-1]
    for item in index:
        depths.append(
            max(
                (depth for depth, loop in enumerate(loops) if depends(item, loop)),
                default=depths[-1],
            )
        )
    order = sorted((d for d in range(len(index)) if d != dim), key=lambda d: depths[d + 1])
    block = tile_shape(call, name, target)[0]
    if target.invocations and known(call.inputs[source][dim], name) >= GROUP_BLOCK:
        block = max(block, GROUP_BLOCK)
    return Panel(source, dim, tuple(order), block)
