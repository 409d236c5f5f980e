"""Convolutions of few channels. A workgroup stages the weights of its columns in workgroup memory;
then each invocation reads the elements of its overlapping windows once, and multiplies them.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from webkiln.codegen.context import SCALAR, Context, Copy, accumulator
from webkiln.codegen.dialect import Groups
from webkiln.codegen.grid import Grid
from webkiln.codegen.product_steps import row_and_column
from webkiln.codegen.reductions import Reductions
from webkiln.codegen.staged_product import COLUMNS
from webkiln.nest.expr import FLOAT, INT, Expr, axis, const, rebuild
from webkiln.nest.schedule import InvocationSchedule

STAGED = "_staged"
"""What follows the names of the loops in those of the indices of a staged weight."""
Place = tuple[int, ...]
"""The position of an element in the windows, and its index on the other unrolled loops."""


class WindowProduct:
    """Prints the reduction of a contraction whose schedule has a window."""

    def __init__(
        self, reductions: Reductions, schedule: InvocationSchedule, groups: Groups, grid: Grid
    ) -> None:
        assert schedule.workgroup is not None
        assert schedule.window is not None
        self.reductions, self.schedule = reductions, schedule
        self.values, self.scopes = reductions.values, reductions.scopes
        self.groups, self.grid = groups, grid
        self.shared, self.window = schedule.workgroup, schedule.window
        self.across = schedule.order[-1]
        self.image, self.weights = row_and_column(reductions, self.across)
        loops = reductions.nest.reduce
        count = len(loops) - len(self.window.taps)
        self.outer, self.unrolled = loops[:count], loops[count:]

    def print(self, here: Context) -> None:
        scopes = self.scopes
        self._stage(here)
        scopes.add(self.groups.barrier)
        self.reductions.start(here, accumulator)
        self.reductions.loops(self.outer, here, self.reductions.loop, self._multiply)
        self.reductions.finish(here, accumulator)

    def _stage(self, here: Context) -> None:
        """Store the weights as [term of the sum][vector of columns]."""
        scopes, columns = self.scopes, self.shared.columns
        total = self.shared.depth * columns
        header = self.groups.strided("place", self.groups.local, str(total), 1, self.shared.size)
        with scopes.loop("staging", header):
            names, level = {}, scopes.innermost
            number = f"place / {columns}" if columns > 1 else "place"
            for loop in reversed((*self.outer, *self.unrolled)):
                names[loop.axis] = name = loop.axis + STAGED
                extent = self.values.extent(loop)
                scopes.define(level, f"{number} % {extent}", name)
                number = scopes.declare_here(INT, f"{number} / {extent}")
            names[self.across] = name = self.across + STAGED
            first = self.grid.first(self.across)
            scopes.define(level, f"{first} + place % {columns} * {here.width}", name)
            moved = rebuild(
                self.weights,
                lambda expr: (
                    axis(names[expr.value]) if expr.op == "axis" and expr.value in names else None
                ),
            )
            scopes.add(f"{COLUMNS}[place] = {self._weights(moved, name, here)};")

    def _weights(self, first: Expr, name: str, here: Context) -> str:
        """The weights of neighbouring columns, from the `first` one on."""
        if self.window.vectors:
            return self.values.vector(first, Copy(Context(name, None, here.simd)))
        moved = [rebuild(first, {axis(name): axis(name) + n}.get) for n in range(here.width)]
        return self.groups.vector([self.values.scalar(item, SCALAR) for item in moved])

    def _multiply(self, here: Context) -> None:
        """The unrolled terms of the sum."""
        scopes, simd, columns = self.scopes, here.simd, self.shared.columns
        assert simd is not None
        elements = self._elements()
        outer = "0"
        for loop in self.outer:
            extent = self.values.extent(loop)
            outer = loop.axis if outer == "0" else f"({outer} * {extent} + {loop.axis})"
        span = prod(self.window.taps) * columns
        first = scopes.declare_here(INT, f"{outer} * {span} + {self.grid.column}")
        for number, place in enumerate(product(*map(range, self.window.taps))):
            pixels = [elements[self._place(t, place)] for t in range(self._pixels)]
            with scopes.loop("term", "{"):
                text = f"{COLUMNS}[{first} + {number * columns}]"
                weights = scopes.declare_here(simd.vector(FLOAT), text)
                for copy, pair in zip(here.copies, self._pairs(pixels, weights, here), strict=True):
                    scopes.add(*simd.multiply_add(accumulator(0, copy), *pair, FLOAT))

    def _pairs(
        self, pixels: Sequence[str], weights: str, here: Context
    ) -> Iterator[tuple[str, str]]:
        """The factors of each copy: an element and a vector."""
        simd = here.simd
        assert simd is not None
        if not self._is_turned:
            yield from ((pixel, weights) for pixel in pixels)
            return
        row = self.scopes.declare_here(simd.vector(FLOAT), self.groups.vector(list(pixels)))
        yield from ((simd.lane(weights, copy.t, FLOAT), row) for copy in here.copies)

    @property
    def _is_turned(self) -> bool:
        """Whether vectors are those of neighbouring pixels, not of columns."""
        return self.schedule.tile.vector == self.window.axis

    @property
    def _pixels(self) -> int:
        return self.schedule.tile.copies(self.window.axis)

    def _place(self, pixel: int, taps: Place) -> Place:
        """The place of the element that a pixel reads in an iteration of the unrolled loops."""
        return (pixel * self.window.stride + taps[0] * self.window.gap, *taps[1:])

    def _elements(self) -> dict[Place, str]:
        """The elements that the windows of an invocation contain, each once."""
        here, found = Context(tile=self.window.axis), dict[Place, str]()
        for pixel in range(self._pixels):
            for taps in product(*map(range, self.window.taps)):
                place = self._place(pixel, taps)
                if place in found:
                    continue
                indices = {
                    axis(loop.axis): const(tap, INT)
                    for loop, tap in zip(self.unrolled, taps, strict=True)
                }
                moved = rebuild(self.image, indices.get)
                found[place] = self.values.scalar(moved, Copy(here, pixel))
        return found
