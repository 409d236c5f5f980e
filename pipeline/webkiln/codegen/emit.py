"""Print a kernel for any dialect: as nested loops, or as what one invocation does among many.

A schedule makes several copies of the innermost body: `count` neighbours on the tile axis, and `lanes` neighbours on the vector axis,
as vectors where the dialect has them and as scalars where it has not.
"""

from webkiln.codegen.dialect import Dialect, Threads
from webkiln.codegen.points import Points
from webkiln.nest.expr import INT
from webkiln.nest.nest import Loop
from webkiln.plan.kernel import Kernel


def body(kernel: Kernel, dialect: Dialect) -> list[str]:
    """The statements of the kernel's function."""
    emitter = _Loops(kernel, dialect) if dialect.threads is None else _Invocations(kernel, dialect, dialect.threads)
    loops = {loop.axis: loop for loop in kernel.nest.axes}
    with emitter.block() as top:
        emitter.parallel([loops[name] for name in kernel.schedule.order])
    return top.lines()


class _Loops(Points):
    def parallel(self, loops: list[Loop]) -> None:
        if not loops:
            self.point()
            return
        loop, rest = loops[0], loops[1:]
        extent = self.scalar(loop.extent, 0, 0)
        schedule = self.kernel.schedule
        name = loop.axis
        if name not in (self.vector, self.tile):
            with self.loop(name, self.dialect.loop(name, extent)):
                self.parallel(rest)
            return
        span = schedule.span(name)
        self.here.statements.append(self.dialect.counter(name))
        before = self.copies, self.partial
        for chunk, partial in ((span, False), (self.width if name == self.vector else 1, True)):
            vectors, tiles = before[0]
            self.copies = (chunk // self.width, tiles) if name == self.vector else (vectors, chunk)
            self.partial = before[1] or (partial and name == self.vector and self.width > 1 and not schedule.whole)
            with self.loop(name, self.dialect.chunks(name, extent, chunk, partial)):
                if self.simd and name == self.vector and self.partial:
                    self.declare(len(self.blocks) - 1, INT, f"{extent} - {name}", "left")
                self.parallel(rest)
        self.copies, self.partial = before


class _Invocations(Points):
    """One invocation computes one point with all its copies. Copies beyond the end of their axis are computed from whatever is
    there and not stored, because loads cannot fail."""

    def __init__(self, kernel: Kernel, dialect: Dialect, threads: Threads) -> None:
        super().__init__(kernel, dialect)
        self.threads = threads
        self.extents: dict[str, str] = {}

    def parallel(self, loops: list[Loop]) -> None:
        """Decode the number of the invocation, whose chunks lie row-major along `loops`."""
        schedule, declared = self.kernel.schedule, self.here.declarations
        number = self.threads.number
        for loop in reversed(loops):
            name = loop.axis
            self.levels[name] = 0
            extent = self.extents[name] = self.scalar(loop.extent, 0, 0)
            span = schedule.span(name)
            chunks = extent if span == 1 else self.declare(0, INT, f"({extent} + {span - 1}) / {span}")
            place = number if loop is loops[0] else f"{number} % {chunks}"
            self.declare(0, INT, place if span == 1 else f"{place} * {span}", name)
            if loop is not loops[0]:
                number = self.declare(0, INT, f"{number} / {chunks}")
        declared += self.threads.leave(f"{loops[0].axis} >= {self.extents[loops[0].axis]}" if loops else f"{number} > 0")
        along = schedule.lanes if self.vector in self.extents else self.width
        self.copies = (along // self.width, schedule.count)
        self.point()

    @property
    def ragged(self) -> bool:
        return self.simd is not None and not self.kernel.schedule.whole

    def put(self, statement: str, t: int, v: int) -> None:
        offsets = {self.tile: t, self.vector: v - v % self.width if self.kernel.schedule.whole else v}
        conditions = [f"{name} + {offset} < {self.extents[name]}" for name, offset in offsets.items() if name in self.extents and offset]
        self.here.statements.append(f"if ({' && '.join(conditions)}) {{ {statement} }}" if conditions else statement)
