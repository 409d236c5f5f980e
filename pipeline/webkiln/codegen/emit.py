"""Print a kernel in any dialect: as nested loops, or as the body of one GPU invocation.

A schedule makes several copies of the innermost body: `count` neighbours on the tile axis, and `lanes` neighbours on the vector axis,
as vectors where the dialect has them and as scalars where it has not.
"""

from webkiln.codegen.blocked import Blocked
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.grouped import Split
from webkiln.codegen.invocations import Invocations
from webkiln.codegen.points import Points
from webkiln.nest.expr import INT
from webkiln.nest.nest import Loop
from webkiln.plan.kernel import Kernel


def body(kernel: Kernel, dialect: Dialect) -> list[str]:
    """The statements of the kernel's function."""
    threads = dialect.threads
    if threads is None:
        emitter: _Loops | Invocations = _Loops(kernel, dialect)
    else:
        shared = kernel.schedule.group > 1 and not kernel.by_rows
        emitter = (Blocked if kernel.schedule.depth else Split if shared else Invocations)(kernel, dialect, threads)
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
