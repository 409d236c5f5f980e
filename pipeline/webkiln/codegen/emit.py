"""Print a kernel in any dialect: as nested loops, or as the body of one GPU invocation.

A schedule replicates the innermost body for `count` neighbours on the tile axis and `lanes`
neighbours on the vector axis. Lanes are vectors if the dialect has them, else scalars.
"""

from webkiln.codegen.blocked_contraction import BlockedContraction
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.invocations import Invocations
from webkiln.codegen.prefetch import Prefetch
from webkiln.codegen.sliding_windows import SlidingWindows
from webkiln.codegen.workgroups import SplitReduction
from webkiln.nest.expr import INT
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import FragmentSchedule, LoopSchedule
from webkiln.plan.kernel import PART, Kernel


def body(kernel: Kernel, dialect: Dialect) -> list[str]:
    """The statements of the kernel's function."""
    schedule, threads = kernel.schedule, dialect.threads
    assert not isinstance(schedule, FragmentSchedule)
    if isinstance(schedule, LoopSchedule):
        emitter: _Loops | Invocations = _Loops(kernel, dialect)
    else:
        assert threads is not None
        emitter = (
            BlockedContraction
            if schedule.workgroup and schedule.workgroup.depth
            else SplitReduction
            if schedule.workgroup and not kernel.by_rows
            else Invocations
        )(kernel, dialect, threads)
    loops = {loop.axis: loop for loop in kernel.nest.axes}
    with emitter.block() as top:
        emitter.parallel([loops[name] for name in schedule.order])
    return top.lines()


class _Loops(SlidingWindows, Prefetch):
    """Prints a kernel as nested loops."""

    def __init__(self, kernel: Kernel, dialect: Dialect) -> None:
        super().__init__(kernel, dialect)
        assert isinstance(kernel.schedule, LoopSchedule)
        self.schedule = kernel.schedule

    def parallel(self, loops: list[Loop]) -> None:
        if not loops:
            self.point()
            return
        loop, rest = loops[0], loops[1:]
        schedule = self.schedule
        if schedule.block and loop.axis == self.vector and not self.blocked:
            self.blocked_loop(next(item for item in rest if item.axis == self.tile), loops)
        elif loop.axis in (self.vector, self.tile):
            self.chunked(loop, rest)
        else:
            with self.loop(loop.axis, self.loop_header(loop)):
                self.parallel(rest)

    def loop_header(self, loop: Loop) -> str:
        if loop.axis != self.schedule.split:
            return self.dialect.loop(loop.axis, self.scalar(loop.extent, 0, 0))
        first, end = PART
        self.here.statements.append(self.dialect.counter(loop.axis, first))
        return self.dialect.chunks(loop.axis, end, 1, rest=True)

    def blocked_loop(self, tile: Loop, loops: list[Loop]) -> None:
        """A loop over blocks of the tile axis around `loops`."""
        extent, block = self.scalar(tile.extent, 0, 0), self.schedule.block
        first, end = f"{tile.axis}_from", f"{tile.axis}_to"
        start, stop = PART if tile.axis == self.schedule.split else (None, extent)
        self.here.statements.append(self.dialect.counter(first, start))
        with self.loop(first, self.dialect.chunks(first, stop, block, rest=True)):
            self.blocked = (
                first,
                self.declare(
                    len(self.blocks) - 1, INT, self.dialect.minimum(f"{first} + {block}", stop), end
                ),
            )
            self.parallel(loops)
            self.blocked = ()

    def chunked(self, loop: Loop, inner: list[Loop]) -> None:
        """A loop over chunks of neighbours that are computed together, and one over the remainder,
        if there can be one.
        """
        name, schedule = loop.axis, self.schedule
        extent = self.scalar(loop.extent, 0, 0)
        first, end = (
            self.blocked
            if self.blocked and name == self.tile
            else PART
            if name == schedule.split
            else (None, extent)
        )
        self.here.statements.append(self.dialect.counter(name, first))
        outer_state = self.copies, self.partial
        remainder = (
            ()
            if schedule.remainder == "none" and name == self.vector
            else ((self.width if name == self.vector else 1, True),)
        )
        for chunk, partial in ((schedule.tile.copies(name), False), *remainder):
            vectors, tiles = outer_state[0]
            self.copies = (chunk // self.width, tiles) if name == self.vector else (vectors, chunk)
            self.partial = outer_state[1] or (
                partial
                and name == self.vector
                and self.width > 1
                and schedule.remainder == "elements"
            )
            clamped = schedule.clamped and name == self.tile and not partial
            following = (
                self.next_panel(first, end, chunk)
                if schedule.prefetch and name == self.tile and not partial
                else None
            )
            header = (
                self.dialect.clamped(name, end, chunk, extent)
                if clamped
                else self.dialect.chunks(name, end, chunk, partial)
            )
            with self.loop(name, header):
                if clamped:
                    self.clamped = self.clamp(name, extent, chunk)
                if self.simd and name == self.vector and self.partial:
                    self.declare(len(self.blocks) - 1, INT, f"{extent} - {name}", "left")
                self.next = following or self.next
                self.parallel(inner)
                if following:
                    self.next = None
                if clamped:
                    self.clamped = ()
        self.copies, self.partial = outer_state

    def clamp(self, name: str, extent: str, count: int) -> tuple[str, ...]:
        """The index of each copy of a tile. The last copies are clamped to the end of the axis."""
        level = len(self.blocks) - 1
        others = (
            self.declare(
                level, INT, self.dialect.minimum(f"{name} + {t}", f"{extent} - 1"), f"{name}_{t}"
            )
            for t in range(1, count)
        )
        return (name, *others)
