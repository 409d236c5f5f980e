"""Prefetch of constant panels: while the tiles of one panel are computed, the next panel is loaded
into the cache, two cache lines at a time, so that their latencies overlap, spread evenly over the
sums.
"""

from collections.abc import Callable
from dataclasses import dataclass

from webkiln.codegen.points import Points
from webkiln.nest.expr import INT, axis, const, rebuild
from webkiln.nest.nest import Loop, load_index

CACHE_LINE = 16
"""Elements of a cache line."""
LINES_PER_STEP = 2


@dataclass(frozen=True, slots=True)
class NextPanel:
    """The panel that follows the current one: its operand, its start, its number of elements, the
    `offset` up to which it has been prefetched, and the iterations of the reduction loop between
    two prefetches.
    """

    operand: int
    start: str
    elements: str
    offset: str
    iterations: str


class Prefetch(Points):
    """Prints prefetches of the next panel into reduction loops."""

    next: NextPanel | None = None

    def next_panel(self, first: str | None, end: str, count: int) -> NextPanel:
        """The panel that follows that of the current iteration of the vector loop, while a loop
        over the tiles from `first` to `end` uses the current panel.
        """
        (along,) = self.nest.reduce
        (panel,), here = self.kernel.schedule.panels, len(self.blocks) - 1
        above = self.levels[self.blocked[0]] if self.blocked else 0
        extent = self.scalar(along.extent, 0, 0)
        points, tile = (
            (f"{end} - {first}", f"({self.tile} - {first})") if first else (end, self.tile)
        )
        elements = self.declare(above, INT, f"{extent} * {panel.block}")
        lines = self.declare(above, INT, f"wk_lines({elements}, {points}, {count})")
        iterations = self.declare(above, INT, f"wk_turns({extent}, {lines}, {LINES_PER_STEP})")
        load = next(expr for expr in self.nest.loads if expr.value[0] == panel.source)
        index = tuple(
            rebuild(item, lambda expr: const(0, INT) if expr is axis(along.axis) else None)
            for item in load_index(load)
        )
        self.analyse(index)
        base = self.address(load, panel.source, index, 0, 0, only=here)
        extent_of_vector = next(
            self.scalar(loop.extent, 0, 0) for loop in self.nest.axes if loop.axis == self.vector
        )
        start = self.declare(
            here,
            INT,
            f"{base} + ({self.vector} + {panel.block} < {extent_of_vector} ? {elements} : 0)",
        )
        return NextPanel(
            panel.source, start, elements, f"{tile} / {count} * {lines} * {CACHE_LINE}", iterations
        )

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if self.next is None or len(loops) != 1:
            super().reduction(loops, inside)
            return
        (loop,), item = loops, self.next
        first, end, extent = f"{loop.axis}_from", f"{loop.axis}_to", self.scalar(loop.extent, 0, 0)
        self.here.statements += [
            self.dialect.counter("ahead", item.offset),
            self.dialect.counter(first),
        ]
        with self.loop(first, self.dialect.chunks(first, extent, item.iterations, rest=True)):
            address = f"{item.start} + (ahead < {item.elements} ? ahead : 0)"
            self.here.statements += [
                f"wk_fetch(x{item.operand} + {address});",
                f"ahead += {CACHE_LINE};",
            ] * LINES_PER_STEP
            self.declare(
                len(self.blocks) - 1,
                INT,
                self.dialect.minimum(f"{first} + {item.iterations}", extent),
                end,
            )
            self.here.statements.append(self.dialect.counter(loop.axis, first))
            with self.loop(loop.axis, self.dialect.chunks(loop.axis, end, 1, rest=True)):
                inside()
