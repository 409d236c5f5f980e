"""Convolutions of stride 1 by fewer multiplications: a transform of tiles of the input, a product
for
each of their points, and the inverse transform with the convolution's epilogue (Winograd's
algorithm; Lavin and Gray, CVPR 2016, arXiv:1509.09308).

Filters are transformed once, when they have arrived. Where there are caches, the steps go over
blocks of tiles.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from webkiln.ir import dim, symbols
from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Type
from webkiln.nest.affine import depends
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import FLOAT, INT, Expr, apply, const, rebuild
from webkiln.nest.nest import load_guard, load_index
from webkiln.nest.steps import NestCall, Repeat, Step, View
from webkiln.nest.target import Target
from webkiln.plan import toom_cook
from webkiln.plan.convolutions import Convolution, Position, Window
from webkiln.plan.quotients import quotient

Transform = Callable[[Sequence[Expr]], list[Expr]]
Elsewhere = Mapping[str, Expr]
"""What stands for each loop of the convolution in another nest, by its axis."""
TILES = 36
"""About how many tiles are transformed before they are multiplied, so that they stay in the cache.
"""
ROWS = 6
"""The rows of a contraction that are computed together."""
BLOCK = "i999"
"""The counter of blocks: no other repeat goes on inside, and none around is that deep."""
NOTHING = const(0, FLOAT)
"""What is read outside where nothing else is said."""
APART = 16
"""Elements between the points of tiles, so that their distance is no multiple of a page: the same
places of a cache would serve all of them.
"""


@dataclass(frozen=True, slots=True)
class Fast:
    """What takes the place of a convolution: the call that transforms its filter, and its steps."""

    filter: NestCall
    steps: tuple[Step, ...]


def fast(found: Convolution, target: Target, number: int) -> Fast:
    """A convolution by fewer multiplications; `number` tells what it makes from what others make."""
    return _Writer(found, target, number).written()


class _Ported:
    """A nest that computes with expressions of a convolution; their arguments become its own."""

    def __init__(self, call: NestCall) -> None:
        self._call = call
        self._low = Lowering([], call.outputs, call.layer)
        self._arguments: dict[str, Expr] = {}
        self._extents: dict[tuple[str, int], Expr] = {}
        self.nest: NestBuilder = self._low.nest()

    def done(self) -> NestCall:
        self.nest.done()
        (made,) = self._low.calls
        return made

    def value(self, root: Expr, known: Elsewhere, total: Expr | None = None) -> Expr:
        """An expression with the loops at other places, and `total` for its sum."""

        def change(expr: Expr) -> Expr | None:
            if expr.op == "axis":
                return known[expr.value]
            if expr.op == "arg":
                return self._argument(expr.value)
            if expr.op == "load":
                condition, other = load_guard(expr) or (None, NOTHING)
                return self.nest.load(
                    self._call.inputs[expr.value[0]], load_index(expr), condition, other.value
                )
            return total if expr.op == "acc" else None

        return rebuild(root, change)

    def load(self, expr: Expr, known: Elsewhere, windows: Iterable[Window]) -> Expr:
        """A load with the loops at other places, which may lie beyond the image on some windows."""
        view, guard = self._call.inputs[expr.value[0]], load_guard(expr)
        made = self.value(expr, known)
        condition, other = load_guard(made) or (None, NOTHING)
        for window in windows:
            for d, item in enumerate(load_index(expr)):
                if depends(item, window.place.axis) and (
                    guard is None or not depends(guard[0], window.place.axis)
                ):
                    within = self.nest.in_bounds(load_index(made)[d], self._extent(view, d))
                    condition = within if condition is None else apply("and", condition, within)
        return self.nest.load(view, load_index(made), condition, other.value)

    def _argument(self, name: str) -> Expr:
        if name not in self._arguments:
            self._arguments[name] = self.nest.argument(self._call.args[name])
        return self._arguments[name]

    def _extent(self, view: View, d: int) -> Expr:
        """One argument for all loads, so that those of one row or column share their comparison."""
        if (view.name, d) not in self._extents:
            self._extents[view.name, d] = self.nest.number(view[d])
        return self._extents[view.name, d]


class _Writer:
    def __init__(self, found: Convolution, target: Target, number: int) -> None:
        self.found, self.call, self.target = found, found.call, target
        self.channels, self.features = found.size(found.channel), found.size(found.feature)
        self.tiles = prod(found.grid)
        self.blocked = not target.threads
        self.block = _block(self.tiles) if self.blocked else self.tiles
        self.points = prod(window.points for window in found.windows)
        (self.out,) = found.call.outputs
        # Where there are caches, a row that nobody reads sets the points apart, as APART does those
        # of tiles.
        self.filters = self.between(
            f"{number}/filters", (self.points, self.channels + self.blocked, self.features)
        )
        self.data = self.between(
            f"{number}/data", (self.points, self.block * self.channels + APART)
        )
        self.products = self.between(
            f"{number}/products", (self.points, self.block * self.features + APART)
        )

    def between(self, name: str, shape: tuple[int, ...]) -> View:
        return View(f"{self.out.name}~{name}", Type("float32", shape))

    def written(self) -> Fast:
        calls = (self.transform(), self.multiply(), self.invert())
        count = dim.floordiv(self.tiles + self.block - 1, self.block)
        return Fast(self.filter(), (Repeat(BLOCK, count, calls),) if self.blocked else calls)

    def filter(self) -> NestCall:
        ported = _Ported(self.call)
        channel, feature = ported.nest.axes((self.channels, self.features))
        begin = {self.found.channel.axis: channel, self.found.feature.axis: feature}
        taps = {
            place: ported.value(self.found.filter, begin | self.along_taps(place))
            for place in self.found.taps
        }
        forms = [partial(toom_cook.filters, count=window.points) for window in self.found.windows]
        for number, value in enumerate(_transformed(taps, forms)):
            ported.nest.store(self.filters, value, (const(number, INT), channel, feature))
        return ported.done()

    def transform(self) -> NestCall:
        ported = _Ported(self.call)
        tile, channel = ported.nest.axes((self.block, self.channels))
        begin = self.places(ported.nest, tile) | {self.found.channel.axis: channel}
        cut = [window for window in self.found.windows if not window.whole]
        values = {
            place: ported.load(self.found.data, begin | self.along_taps(place), cut)
            for place in self.found.points
        }
        along = tile * ported.nest.number(self.channels) + channel
        for number, value in enumerate(
            _transformed(values, [toom_cook.data] * len(self.found.windows))
        ):
            ported.nest.store(self.data, value, (const(number, INT), along))
        return ported.done()

    def along_taps(self, place: Position) -> dict[str, Expr]:
        return {
            window.tap.axis: const(n, INT)
            for window, n in zip(self.found.windows, place, strict=True)
        }

    def multiply(self) -> NestCall:
        low = Lowering([], [self.out], self.call.layer)
        nest = low.nest()
        point, tile, feature = nest.axes((self.points, self.block, self.features))
        channel = nest.reduce(self.channels)
        data = nest.load(self.data, (point, tile * nest.number(self.channels) + channel))
        total = nest.accumulate("sum", data * nest.load(self.filters, (point, channel, feature)))
        nest.store(self.products, total, (point, tile * nest.number(self.features) + feature))
        nest.done()
        return replace(low.calls[0], exact=True)

    def invert(self) -> NestCall:
        """Each tile is stored from its end, so that what lies beyond the image is overwritten by
        its last row and column.
        """
        ported = _Ported(self.call)
        nest = ported.nest
        tile, feature = nest.axes((self.block, self.features))
        begin = self.places(nest, tile) | {self.found.feature.axis: feature}
        along = tile * nest.number(self.features) + feature
        values = {
            place: nest.load(self.products, (const(number, INT), along))
            for number, place in enumerate(self.found.points)
        }
        forms = [partial(toom_cook.outputs, count=window.outputs) for window in self.found.windows]
        results = dict(zip(self.found.outputs, _transformed(values, forms), strict=True))
        (out,) = self.call.nest.outputs
        lasts = {
            window.place.axis: nest.argument(window.size) - const(1, INT)
            for window in self.found.windows
        }
        for place, total in reversed(results.items()):
            known = dict(begin)
            for window, number in zip(self.found.windows, place, strict=True):
                name = window.place.axis
                here = begin[name] + const(number, INT)
                known[name] = here if window.whole else apply("min", here, lasts[name])
            value, *index = (ported.value(expr, known, total) for expr in (out.value, *out.index))
            nest.store(self.out, value, index)
        return ported.done()

    def places(self, nest: NestBuilder, tile: Expr) -> dict[str, Expr]:
        """The batch loops and the first outputs of a tile, by the names of their loops; the last
        block repeats its last tile.
        """
        number = tile
        if self.blocked:
            first = nest.argument(symbols.counter(BLOCK) * self.block)
            number = apply("min", tile + first, nest.argument(self.tiles) - const(1, INT))
        loops = [*self.found.batch, *(window.place for window in self.found.windows)]
        known: dict[str, Expr] = {}
        above = self.tiles
        for loop, size in reversed(list(zip(loops, self.found.grid, strict=True))):
            if len(known) + 1 < len(loops):
                extent = nest.argument(size)
                whole = quotient(number, extent, above, size, self.target)
                known[loop.axis], number = number - whole * extent, whole
                above = dim.floordiv(above, size)
            else:
                known[loop.axis] = number
        for window in self.found.windows:
            known[window.place.axis] = known[window.place.axis] * const(window.outputs, INT)
        return known


def _transformed(values: Mapping[Position, Expr], forms: Sequence[Transform]) -> list[Expr]:
    """Values on a grid, transformed along each of its dimensions, in row-major order."""
    grid = dict(values)
    for d, form in enumerate(forms):
        lines: dict[Position, list[Expr]] = {}
        for place in sorted(grid):
            lines.setdefault((*place[:d], *place[d + 1 :]), []).append(grid[place])
        grid = {
            (*rest[:d], n, *rest[d:]): value
            for rest, line in lines.items()
            for n, value in enumerate(form(line))
        }
    return [grid[place] for place in sorted(grid)]


def _block(tiles: int) -> int:
    """How many tiles a block has: about TILES, as evenly as it goes, in whole rows of a
    contraction.
    """
    if is_symbolic(tiles):
        return TILES
    blocks = max(1, round(tiles / TILES))
    each = (tiles + blocks - 1) // blocks
    return (each + ROWS - 1) // ROWS * ROWS
