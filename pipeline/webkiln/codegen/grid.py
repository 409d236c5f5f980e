"""The points of a compute shader: an invocation decodes them from its number, and stores those in
bounds. A workgroup of several invocations computes neighbouring tiles, and its parts share sums.
"""

from collections.abc import Sequence

from webkiln.codegen.context import Copy
from webkiln.codegen.dialect import Threads, plus
from webkiln.codegen.values import Values
from webkiln.nest.expr import INT
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import InvocationSchedule, Workgroup


class Grid:
    """`column`, `row` and `part`: those of this invocation in its workgroup. `own_tile` maps an
    axis to this invocation's tile among those of the workgroup.
    """

    def __init__(self, values: Values, schedule: InvocationSchedule, threads: Threads) -> None:
        self.values, self.schedule, self.threads = values, schedule, threads
        self.extents: dict[str, str] = {}
        self.own_tile: dict[str | None, str] = {}
        self.store_conditions: tuple[str, ...] = ()
        shared, tile, local = schedule.workgroup or Workgroup(), schedule.tile, threads.groups.local
        self.column = _digit(local, 1, shared.columns, shared.size)
        self.row = _digit(local, shared.columns, shared.rows, shared.size)
        self.part = _digit(local, shared.columns * shared.rows, shared.parts, shared.size)
        if shared.columns > 1:
            self.own_tile[schedule.order[-1] if schedule.window else tile.vector] = self.column
        if shared.rows > 1 and not schedule.window:
            self.own_tile[tile.axis] = self.row
        if shared.parts > 1:
            self.store_conditions = (f"{self.part} == 0",)

    def print(self, loops: Sequence[Loop]) -> None:
        """Decode the number of the invocation. Tiles are numbered row-major along `loops`."""
        scopes, groups, schedule = self.values.scopes, self.threads.groups, self.schedule
        number = groups.number if schedule.workgroup else self.threads.number
        for loop in reversed(loops):
            number = self._decode(loop, number, is_outermost=loop is loops[0])
            if schedule.window and loop is loops[-1]:
                assert schedule.workgroup is not None
                number = scopes.declare(
                    0, INT, f"{number} * {schedule.workgroup.rows} + {self.row}"
                )
        if schedule.window:
            # All invocations reach the barrier after which the weights are read.
            outermost = loops[0].axis
            self.store_conditions += (f"{outermost} < {self.extents[outermost]}",)
            return
        condition = f"{number} > 0"
        if loops:
            condition = f"{self.first(loops[0].axis)} >= {self.extents[loops[0].axis]}"
        scopes.blocks[-1].declarations += self.threads.exit_if(condition)

    def _decode(self, loop: Loop, number: str, *, is_outermost: bool) -> str:
        """Declare the axis of a loop, and return the number of the tile along the outer ones."""
        scopes, name = self.values.scopes, loop.axis
        scopes.levels[name] = 0
        extent = self.extents[name] = self.values.extent(loop)
        span = self.schedule.span(name)
        tiles = extent if span == 1 else scopes.declare(0, INT, f"({extent} + {span - 1}) / {span}")
        index = number if is_outermost else f"{number} % {tiles}"
        self._declare_axis(name, index if span == 1 else f"{index} * {span}")
        return number if is_outermost else scopes.declare(0, INT, f"{number} / {tiles}")

    def _declare_axis(self, name: str, start: str) -> None:
        """Declare an axis whose tile, or the first one of a workgroup, starts at `start`."""
        scopes, first = self.values.scopes, self.first(name)
        scopes.declare(0, INT, start, first)
        if name in self.own_tile:
            offset = f"{self.own_tile[name]} * {self.schedule.tile.copies(name)}"
            scopes.declare(0, INT, f"{first} + {offset}", name)

    def first(self, name: str) -> str:
        """The first index of all invocations that must exit together."""
        return f"{name}_block" if name in self.own_tile else name

    def guard(self, statement: str, copy: Copy) -> str:
        """A store of a copy, if it is in bounds. Even the first copy of a tile may be out of bounds
        if a workgroup computes several.
        """
        tile, simd = self.schedule.tile, self.values.dialect.simd
        lane = copy.v % simd.width if self.schedule.whole and simd else 0
        conditions = [
            f"{plus(name, offset)} < {self.extents[name]}"
            for name, offset in ((tile.axis, copy.t), (tile.vector, copy.v - lane))
            if name in self.extents and (offset or name in self.own_tile)
        ]
        conditions += self.store_conditions
        return f"if ({' && '.join(conditions)}) {{ {statement} }}" if conditions else statement


def _digit(number: str, below: int, size: int, limit: int) -> str:
    """The digit of `size` values above `below` in a number less than `limit`."""
    text = f"{number} / {below}" if below > 1 else number
    return f"{text} % {size}" if below * size < limit else text
