"""Print a kernel as nested loops."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from webkiln.codegen.buffers import Buffers
from webkiln.codegen.context import Context
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.points import print_point, unguarded
from webkiln.codegen.prefetch import NextPanel, next_panel, print_with_prefetch
from webkiln.codegen.reductions import Innermost, Reductions
from webkiln.codegen.sliding_windows import print_sliding_window
from webkiln.codegen.values import Values
from webkiln.nest.expr import INT
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import LoopSchedule
from webkiln.plan.kernel import PART, Kernel


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the loops. `block`: the bounds of the current block of the tile axis. `panel`: the
    one to prefetch.
    """

    here: Context
    block: tuple[str, str] | None = None
    panel: NextPanel | None = None


@dataclass(frozen=True, slots=True)
class Chunks:
    """A loop over chunks of neighbours that are computed together."""

    loop: Loop
    size: int
    extent: str
    bounds: tuple[str | None, str]
    is_remainder: bool = False


class Loops:
    """Prints the loops over the parallel axes of a kernel."""

    def __init__(self, kernel: Kernel, schedule: LoopSchedule, dialect: Dialect) -> None:
        self.kernel, self.schedule, self.dialect = kernel, schedule, dialect
        self.memory = Buffers(kernel, dialect)
        self.values = Values(kernel, dialect, self.memory)
        self.scopes, self.reductions = self.values.scopes, Reductions(self.values)

    def print(self) -> list[str]:
        tile, loops = self.schedule.tile, {loop.axis: loop for loop in self.kernel.nest.axes}
        simd = self.dialect.lanes(self.kernel.nest, self.schedule) if tile.vector else None
        here = Context(tile.vector, tile.axis, simd)
        with self.scopes.block() as top:
            self.parallel([loops[name] for name in self.schedule.order], Place(here))
        return top.lines()

    def parallel(self, loops: Sequence[Loop], place: Place) -> None:
        if not loops:
            print_point(self.values, place.here, partial(self.reduce, place), unguarded)
            return
        (loop, *inner), tile = loops, self.schedule.tile
        if self.schedule.block and loop.axis == tile.vector and place.block is None:
            self.blocked(next(item for item in inner if item.axis == tile.axis), loops, place)
        elif loop.axis in (tile.vector, tile.axis):
            self.chunked(loop, inner, place)
        else:
            with self.scopes.loop(loop.axis, self.header(loop)):
                self.parallel(inner, place)

    def reduce(self, place: Place, here: Context) -> Context:
        if self.kernel.by_rows:
            lanes = self.schedule.tile.lanes
            spans = partial(self.reductions.spans, lanes)
            return self.reductions.print_rows(here, lanes, spans)
        self.reductions.print(here, self.innermost(place))
        return here

    def innermost(self, place: Place) -> Innermost:
        if self.schedule.slide and place.here.tiles > 1:
            return partial(print_sliding_window, self.values, self.schedule.slide)
        if place.panel is not None:
            return partial(print_with_prefetch, self.values, place.panel)
        return self.reductions.loop

    def header(self, loop: Loop) -> str:
        if loop.axis != self.schedule.split:
            return self.dialect.loop(loop.axis, self.values.extent(loop))
        first, end = PART
        self.scopes.add(self.dialect.counter(loop.axis, first))
        return self.dialect.chunks(loop.axis, end, 1, rest=True)

    def blocked(self, tile: Loop, loops: Sequence[Loop], place: Place) -> None:
        """A loop over blocks of the tile axis around `loops`."""
        extent, block = self.values.extent(tile), self.schedule.block
        first, end = f"{tile.axis}_from", f"{tile.axis}_to"
        start, stop = PART if tile.axis == self.schedule.split else (None, extent)
        self.scopes.add(self.dialect.counter(first, start))
        with self.scopes.loop(first, self.dialect.chunks(first, stop, block, rest=True)):
            last = self.dialect.minimum(f"{first} + {block}", stop)
            self.scopes.declare_here(INT, last, end)
            self.parallel(loops, replace(place, block=(first, end)))

    def chunked(self, loop: Loop, inner: Sequence[Loop], place: Place) -> None:
        """A loop over chunks of neighbours that are computed together, and one over the remainder,
        if there can be one.
        """
        name, tile = loop.axis, self.schedule.tile
        extent = self.values.extent(loop)
        bounds = (
            place.block
            if place.block and name == tile.axis
            else PART
            if name == self.schedule.split
            else (None, extent)
        )
        self.scopes.add(self.dialect.counter(name, bounds[0]))
        chunks = Chunks(loop, tile.copies(name), extent, bounds)
        self.chunks(chunks, inner, place)
        size = 1 if name == tile.axis else place.here.width
        if name == tile.axis or self.schedule.remainder != "none":
            self.chunks(replace(chunks, size=size, is_remainder=True), inner, place)

    def chunks(self, chunks: Chunks, inner: Sequence[Loop], place: Place) -> None:
        name, size, extent = chunks.loop.axis, chunks.size, chunks.extent
        (first, end), is_remainder = chunks.bounds, chunks.is_remainder
        is_tile, here = name == self.schedule.tile.axis, self.context(chunks, place.here)
        clamped = self.schedule.clamped and is_tile and not is_remainder
        if self.schedule.prefetch and is_tile and not is_remainder:
            panel = next_panel(self.values, self.kernel, here, place.block, (first, end, size))
            place = replace(place, panel=panel)
        header = (
            self.dialect.clamped(name, end, size, extent)
            if clamped
            else self.dialect.chunks(name, end, size, is_remainder)
        )
        with self.scopes.loop(name, header):
            if clamped:
                here = replace(here, indices=self.clamped_indices(name, extent, size))
            if here.simd and not is_tile and here.partial:
                self.scopes.declare_here(INT, f"{extent} - {name}", "left")
            self.parallel(inner, replace(place, here=here))

    def context(self, chunks: Chunks, here: Context) -> Context:
        """The context of what is computed for a chunk."""
        if chunks.loop.axis == self.schedule.tile.axis:
            return replace(here, tiles=chunks.size)
        partial = chunks.is_remainder and self.schedule.remainder == "elements" and here.width > 1
        vectors = chunks.size // here.width
        return replace(here, vectors=vectors, partial=here.partial or partial)

    def clamped_indices(self, name: str, extent: str, count: int) -> tuple[str, ...]:
        """The index of each copy of a tile. The last copies are clamped to the end of the axis."""
        others = (
            self.scopes.declare_here(
                INT, self.dialect.minimum(f"{name} + {t}", f"{extent} - 1"), f"{name}_{t}"
            )
            for t in range(1, count)
        )
        return (name, *others)
