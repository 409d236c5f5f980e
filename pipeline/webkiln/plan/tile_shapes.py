"""The tile axis of a contraction and the shape of its tile: lanes and neighbours on that axis."""

from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import itemsize
from webkiln.nest.affine import depends
from webkiln.nest.nest import Loop
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target
from webkiln.plan.sliding_windows import match_sliding_window
from webkiln.plan.vectors import extent

MAX_STREAMED_ROWS = 54
"""With at most this many neighbours per constant, the tile streams constants from memory if caches
do not contain all of them.
"""
CACHED_BYTES = 1 << 19


def tile_axis(call: NestCall, name: str) -> Loop | None:
    """Another parallel axis for the tile: of size 8 or the largest size, the innermost among
    equals. Axes along which some factor of the contraction does not move are preferred.
    """
    candidates = [loop for loop in call.nest.axes if loop.axis != name and extent(call, loop) > 1]
    invariant = [
        loop
        for loop in candidates
        if any(not depends(e, loop.axis) for e in call.nest.accumulators[0].body.args)
    ]
    preferred = invariant or candidates
    return (
        max(preferred, key=lambda loop: (min(extent(call, loop), 8), call.nest.axes.index(loop)))
        if preferred
        else None
    )


def tile_shape(call: NestCall, name: str, target: Target) -> tuple[int, int]:
    """Lanes on the vector axis and neighbours on the tile axis: the first shape of the target that
    fits the size of the vector axis.
    """
    loop = next(item for item in call.nest.axes if item.axis == name)
    size = extent(call, loop)
    tile = tile_axis(call, name)
    first = (
        (_elementwise_shapes(call, name, tile, target) if all_factors_move(call, name) else ())
        if tile
        else ((target.tiles.matvec, 1),)
        if target.tiles.matvec
        else ()
    )
    streamed = (target.tiles.streamed,) if target.tiles.streamed and _streams(call, name) else ()
    for lanes, count in (*first, *streamed, *target.tiles.shapes):
        if size % lanes == 0 or size >= 4 * lanes:
            return lanes, count
    return target.tiles.shapes[-1]


def _elementwise_shapes(
    call: NestCall, name: str, tile: Loop, target: Target
) -> tuple[tuple[int, int], ...]:
    """The tile shapes of contractions whose factors all move along the vector axis. Sliding windows
    use the largest length that divides the tile axis.
    """
    size = extent(call, tile)
    fitting = [shape for shape in target.tiles.sliding if size % shape[1] == 0] or [
        shape for shape in target.tiles.sliding if size >= 4 * shape[1]
    ]
    return (
        (*fitting[:1], target.tiles.depthwise)
        if fitting and match_sliding_window(call, tile.axis, name)
        else (target.tiles.depthwise,)
    )


def all_factors_move(call: NestCall, name: str) -> bool:
    """Whether all factors of a contraction move along an axis."""
    return all(depends(factor, name) for factor in call.nest.accumulators[0].body.args)


def _streams(call: NestCall, name: str) -> bool:
    """Whether a factor that moves along only this axis is streamed from memory for few points of
    the tile.
    """
    tile = tile_axis(call, name)
    if tile is None or extent(call, tile) > MAX_STREAMED_ROWS:
        return False
    sources = [
        call.inputs[e.value[0]]
        for e in call.nest.loads
        if depends(e, name) and not depends(e, tile.axis)
    ]
    return any(known_bytes(view) >= CACHED_BYTES for view in sources)


def known_bytes(view: View) -> int:
    """The bytes of a Variable, or 0 if its size is symbolic."""
    return 0 if is_symbolic(view.type.size) else view.type.size * itemsize(view.type.dtype)
