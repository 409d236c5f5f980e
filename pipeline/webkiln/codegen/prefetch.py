"""Panels of constants that are read a little before their turn: while the tiles of one panel are
computed, the next one comes into the cache, two lines at a time, so that memory answers both
together, evenly over the sums.
"""

from collections.abc import Callable
from dataclasses import dataclass

from webkiln.codegen.points import Points
from webkiln.nest.expr import INT, axis, const, rebuild
from webkiln.nest.nest import Loop, load_index

LINE = 16
"""The elements of a line of the cache."""
TOGETHER = 2


@dataclass(frozen=True, slots=True)
class Next:
    """The panel after the one that is used: its operand, where it begins and its elements, the
    place
    up to which it is read, and the turns of the reduction loop between two reads.
    """

    operand: int
    begin: str
    elements: str
    place: str
    turns: str


class Ahead(Points):
    next: Next | None = None

    def next_panel(self, first: str | None, end: str, count: int) -> Next:
        """What follows the panel of this turn of the vector loop, while a loop over the tiles from
        `first` to `end` uses it.
        """
        schedule, (along,) = self.kernel.schedule, self.nest.reduce
        (panel,), here = schedule.panels, len(self.blocks) - 1
        above = self.levels[self.blocked[0]] if self.blocked else 0
        extent = self.scalar(along.extent, 0, 0)
        points, tile = (
            (f"{end} - {first}", f"({self.tile} - {first})") if first else (end, self.tile)
        )
        elements = self.declare(above, INT, f"{extent} * {panel.block}")
        lines = self.declare(above, INT, f"wk_lines({elements}, {points}, {count})")
        turns = self.declare(above, INT, f"wk_turns({extent}, {lines}, {TOGETHER})")
        load = next(expr for expr in self.nest.loads if expr.value[0] == panel.source)
        index = tuple(
            rebuild(item, lambda expr: const(0, INT) if expr is axis(along.axis) else None)
            for item in load_index(load)
        )
        self.learn(index)
        base = self.address(load, panel.source, index, 0, 0, only=here)
        whole = next(
            self.scalar(loop.extent, 0, 0) for loop in self.nest.axes if loop.axis == self.vector
        )
        begin = self.declare(
            here, INT, f"{base} + ({self.vector} + {panel.block} < {whole} ? {elements} : 0)"
        )
        return Next(panel.source, begin, elements, f"{tile} / {count} * {lines} * {LINE}", turns)

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if self.next is None or len(loops) != 1:
            super().reduction(loops, inside)
            return
        (loop,), item = loops, self.next
        first, end, extent = f"{loop.axis}_from", f"{loop.axis}_to", self.scalar(loop.extent, 0, 0)
        self.here.statements += [
            self.dialect.counter("ahead", item.place),
            self.dialect.counter(first),
        ]
        with self.loop(first, self.dialect.chunks(first, extent, item.turns, rest=True)):
            place = f"{item.begin} + (ahead < {item.elements} ? ahead : 0)"
            self.here.statements += [
                f"wk_fetch(x{item.operand} + {place});",
                f"ahead += {LINE};",
            ] * TOGETHER
            self.declare(
                len(self.blocks) - 1,
                INT,
                self.dialect.least(f"{first} + {item.turns}", extent),
                end,
            )
            self.here.statements.append(self.dialect.counter(loop.axis, first))
            with self.loop(loop.axis, self.dialect.chunks(loop.axis, end, 1, rest=True)):
                inside()
