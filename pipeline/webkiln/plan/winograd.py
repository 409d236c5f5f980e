"""Winograd convolutions of stride 1: transform tiles of the input, multiply at each of their
points, and apply the inverse transform together with the convolution's epilogue (Lavin and Gray,
CVPR 2016, arXiv:1509.09308).

Filters are transformed once, after they have been decoded. On CPUs, the steps iterate over blocks
of tiles that fit the cache.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from webkiln.ir import dim, symbols
from webkiln.ir.dim import Shape, Size, is_symbolic
from webkiln.ir.types import Type
from webkiln.nest.affine import depends
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import FLOAT, INT, Expr, apply, const, rebuild
from webkiln.nest.nest import load_guard, load_index
from webkiln.nest.steps import NestCall, Repeat, Step, View
from webkiln.nest.target import Target
from webkiln.plan import toom_cook
from webkiln.plan.convolutions import Convolution, Position, Window
from webkiln.plan.integer_division import quotient

Transform = Callable[[Sequence[Expr]], list[Expr]]
Substitution = Mapping[str, Expr]
"""The expression that replaces each loop of the convolution in another nest, by its axis."""
TILES = 36
"""The approximate number of tiles that are transformed before they are multiplied, so that they
stay in the cache.
"""
ROWS = 6
"""The rows of a contraction that are computed together."""
ZERO = const(0, FLOAT)
"""The value outside the image unless a guard specifies another."""
PADDING = 16
"""Elements of padding between the points of tiles, so that their distance is no multiple of a page.
Otherwise they would map to the same sets of a cache.
"""


@dataclass(frozen=True, slots=True)
class FastConvolution:
    """The steps that replace a convolution, and the call that transforms its filter."""

    filter: NestCall
    steps: tuple[Step, ...]


def fast_convolution(
    convolution: Convolution, target: Target, number: int, counter: str
) -> FastConvolution:
    """Rewrite a convolution by Winograd's algorithm. `number` makes the names of its intermediate
    results unique; `counter` counts blocks of tiles, inside of no loop that has it.
    """
    return _Builder(convolution, target, number, counter).build()


class _Port:
    """A nest that contains expressions of a convolution. Their arguments become arguments of the
    nest.
    """

    def __init__(self, call: NestCall) -> None:
        self._call = call
        self._low = Lowering([], call.outputs, call.layer)
        self._arguments: dict[str, Expr] = {}
        self._extents: dict[tuple[str, int], Expr] = {}
        self.nest: NestBuilder = self._low.nest()

    def done(self) -> NestCall:
        self.nest.done()
        (call,) = self._low.calls
        return call

    def value(self, root: Expr, substitution: Substitution, total: Expr | None = None) -> Expr:
        """An expression with its loops substituted, and `total` in place of its sum."""

        def change(expr: Expr) -> Expr | None:
            if expr.op == "axis":
                return substitution[expr.value]
            if expr.op == "arg":
                return self._argument(expr.value)
            if expr.op == "load":
                condition, other = load_guard(expr) or (None, ZERO)
                return self.nest.load(
                    self._call.inputs[expr.value[0]], load_index(expr), condition, other.value
                )
            return total if expr.op == "acc" else None

        return rebuild(root, change)

    def load(self, expr: Expr, substitution: Substitution, windows: Iterable[Window]) -> Expr:
        """A load with its loops substituted. It may read outside the image along the given windows,
        and is guarded there.
        """
        view, guard = self._call.inputs[expr.value[0]], load_guard(expr)
        moved = self.value(expr, substitution)
        condition, other = load_guard(moved) or (None, ZERO)
        for window in windows:
            for d, item in enumerate(load_index(expr)):
                if depends(item, window.loop.axis) and (
                    guard is None or not depends(guard[0], window.loop.axis)
                ):
                    in_bounds = self.nest.in_bounds(load_index(moved)[d], self._extent(view, d))
                    condition = (
                        in_bounds if condition is None else apply("and", condition, in_bounds)
                    )
        return self.nest.load(view, load_index(moved), condition, other.value)

    def _argument(self, name: str) -> Expr:
        if name not in self._arguments:
            self._arguments[name] = self.nest.argument(self._call.args[name])
        return self._arguments[name]

    def _extent(self, view: View, d: int) -> Expr:
        """One argument for all loads, so that those of one row or column share their comparison."""
        if (view.name, d) not in self._extents:
            self._extents[view.name, d] = self.nest.number(view[d])
        return self._extents[view.name, d]


class _Builder:
    def __init__(self, convolution: Convolution, target: Target, number: int, counter: str) -> None:
        self.convolution, self.call, self.target = convolution, convolution.call, target
        self.counter, self.blocked = counter, not target.invocations
        self.tiles = prod(convolution.grid)
        self.block = _block(self.tiles) if self.blocked else self.tiles
        # On CPUs, an unused row separates the points, as PADDING does for tiles.
        self.filters = self.intermediate(
            f"{number}/filters", (self.points, self.channels + self.blocked, self.features)
        )
        self.data = self.intermediate(
            f"{number}/data", (self.points, self.block * self.channels + PADDING)
        )
        self.products = self.intermediate(
            f"{number}/products", (self.points, self.block * self.features + PADDING)
        )

    @property
    def points(self) -> int:
        return prod(window.points for window in self.convolution.windows)

    @property
    def channels(self) -> Size:
        return self.convolution.size(self.convolution.channel)

    @property
    def features(self) -> Size:
        return self.convolution.size(self.convolution.feature)

    @property
    def out(self) -> View:
        (view,) = self.call.outputs
        return view

    def intermediate(self, name: str, shape: Shape) -> View:
        return View(f"{self.out.name}~{name}", Type("float32", shape))

    def build(self) -> FastConvolution:
        calls = (self.transform(), self.multiply(), self.invert())
        count = dim.floordiv(self.tiles + self.block - 1, self.block)
        return FastConvolution(
            self.filter(), (Repeat(self.counter, count, calls),) if self.blocked else calls
        )

    def filter(self) -> NestCall:
        port = _Port(self.call)
        channel, feature = port.nest.axes((self.channels, self.features))
        axes = {self.convolution.channel.axis: channel, self.convolution.feature.axis: feature}
        taps = {
            position: port.value(self.convolution.filter, axes | self.along_taps(position))
            for position in self.convolution.taps
        }
        forms = [
            partial(toom_cook.filters, count=window.points) for window in self.convolution.windows
        ]
        for number, value in enumerate(_transformed(taps, forms)):
            port.nest.store(self.filters, value, (const(number, INT), channel, feature))
        return port.done()

    def transform(self) -> NestCall:
        port = _Port(self.call)
        tile, channel = port.nest.axes((self.block, self.channels))
        axes = self.positions(port.nest, tile) | {self.convolution.channel.axis: channel}
        ragged = [window for window in self.convolution.windows if not window.is_exact]
        values = {
            position: port.load(self.convolution.data, axes | self.along_taps(position), ragged)
            for position in self.convolution.points
        }
        along = tile * port.nest.number(self.channels) + channel
        for number, value in enumerate(
            _transformed(values, [toom_cook.data] * len(self.convolution.windows))
        ):
            port.nest.store(self.data, value, (const(number, INT), along))
        return port.done()

    def along_taps(self, position: Position) -> dict[str, Expr]:
        return {
            window.tap.axis: const(n, INT)
            for window, n in zip(self.convolution.windows, position, strict=True)
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
        """Each tile is stored from its end, so that values outside the image are overwritten by its
        last row and column.
        """
        port = _Port(self.call)
        nest = port.nest
        tile, feature = nest.axes((self.block, self.features))
        axes = self.positions(nest, tile) | {self.convolution.feature.axis: feature}
        along = tile * nest.number(self.features) + feature
        values = {
            position: nest.load(self.products, (const(number, INT), along))
            for number, position in enumerate(self.convolution.points)
        }
        forms = [
            partial(toom_cook.outputs, count=window.outputs) for window in self.convolution.windows
        ]
        results = dict(zip(self.convolution.outputs, _transformed(values, forms), strict=True))
        (out,) = self.call.nest.outputs
        lasts = {
            window.loop.axis: nest.argument(window.size) - const(1, INT)
            for window in self.convolution.windows
        }
        for position, total in reversed(results.items()):
            substitution = dict(axes)
            for window, number in zip(self.convolution.windows, position, strict=True):
                name = window.loop.axis
                here = axes[name] + const(number, INT)
                substitution[name] = here if window.is_exact else apply("min", here, lasts[name])
            value, *index = (
                port.value(expr, substitution, total) for expr in (out.value, *out.index)
            )
            nest.store(self.out, value, index)
        return port.done()

    def positions(self, nest: NestBuilder, tile: Expr) -> dict[str, Expr]:
        """The batch indices and the first output of a tile, by the names of their loops. The last
        block repeats its last tile.
        """
        number = tile
        if self.blocked:
            first = nest.argument(symbols.counter(self.counter) * self.block)
            number = apply("min", tile + first, nest.argument(self.tiles) - const(1, INT))
        loops = [*self.convolution.batch, *(window.loop for window in self.convolution.windows)]
        substitution: dict[str, Expr] = {}
        bound: Size = self.tiles
        for loop, size in reversed(list(zip(loops, self.convolution.grid, strict=True))):
            if len(substitution) + 1 < len(loops):
                extent = nest.argument(size)
                outer = quotient(number, extent, bound, size, self.target)
                substitution[loop.axis], number = number - outer * extent, outer
                bound = dim.floordiv(bound, size)
            else:
                substitution[loop.axis] = number
        for window in self.convolution.windows:
            substitution[window.loop.axis] = substitution[window.loop.axis] * const(
                window.outputs, INT
            )
        return substitution


def _transformed(values: Mapping[Position, Expr], forms: Sequence[Transform]) -> list[Expr]:
    """Values on a grid, transformed along each dimension, in row-major order."""
    grid = dict(values)
    for d, form in enumerate(forms):
        lines: dict[Position, list[Expr]] = {}
        for position in sorted(grid):
            lines.setdefault((*position[:d], *position[d + 1 :]), []).append(grid[position])
        grid = {
            (*rest[:d], n, *rest[d:]): value
            for rest, line in lines.items()
            for n, value in enumerate(form(line))
        }
    return [grid[position] for position in sorted(grid)]


def _block(tiles: Size) -> int:
    """The number of tiles in a block: about `TILES`, evenly divided, in multiples of the rows of a
    contraction.
    """
    if is_symbolic(tiles):
        return TILES
    blocks = max(1, round(tiles / TILES))
    each = (tiles + blocks - 1) // blocks
    return (each + ROWS - 1) // ROWS * ROWS
