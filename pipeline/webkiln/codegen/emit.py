"""Print a kernel as nested loops, for any dialect.

A schedule makes several copies of the innermost body: `count` neighbours on the tile axis, and `lanes` neighbours on the vector axis,
as vectors where the dialect has them and as scalars where it has not.
"""

from webkiln.codegen.dialect import Dialect
from webkiln.codegen.reductions import Reductions
from webkiln.codegen.values import PRODUCED, accumulator, plus
from webkiln.nest.expr import INT, Expr
from webkiln.nest.nest import Loop
from webkiln.plan.kernel import Kernel


def body(kernel: Kernel, dialect: Dialect) -> list[str]:
    """The statements of the kernel's function."""
    return _Loops(kernel, dialect).run()


class _Loops(Reductions):
    def run(self) -> list[str]:
        with self.block() as top:
            loops = {loop.axis: loop for loop in self.nest.axes}
            self.parallel([loops[name] for name in self.kernel.schedule.order])
        return top.lines()

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
        span = schedule.lanes if name == self.vector else schedule.count
        self.here.statements.append(self.dialect.counter(name))
        before = self.copies, self.partial
        for chunk, partial in ((span, False), (self.width if name == self.vector else 1, True)):
            vectors, tiles = before[0]
            self.copies = (chunk // self.width, tiles) if name == self.vector else (vectors, chunk)
            self.partial = before[1] or (partial and name == self.vector and self.width > 1 and not schedule.whole)
            with self.loop(name, self.dialect.chunks(name, extent, chunk, partial)):
                if self.simd and name == self.vector and self.partial:
                    self.declare(len(self.blocks) - 1, INT, self.simd.remaining(name, extent), "left")
                self.parallel(rest)
        self.copies, self.partial = before

    def point(self) -> None:
        """Accumulators, reduction loops, epilogue, stores."""
        simd = self.simd
        if self.rows:
            self.reduce_rows()
            self.simd = None
        elif self.nest.accumulators:
            for position, t, v in self.accumulators():
                self.here.statements += self.start(self.nest.accumulators[position], accumulator(position, t, v))
            self.reduction(list(self.nest.reduce), lambda: self.updates(accumulator))
            self.finish(accumulator)
        with self.block() as tail:
            self.levels[PRODUCED] = len(self.blocks) - 1
            for position, out in enumerate(self.nest.outputs):
                for t, v in self.each():
                    self.store(position, out.value, out.index, t, v)
            del self.levels[PRODUCED]
        self.here.statements += ["{", *("  " + line for line in tail.lines()), "}"] if tail.declarations else tail.lines()
        self.simd = simd

    def store(self, position: int, value: Expr, index: tuple[Expr, ...], t: int, v: int) -> None:
        operand = self.nest.outputs[position].operand
        slot = len(self.nest.inputs) + position
        statements = self.here.statements

        def at(offset: int) -> str:
            return self.address(value, slot, index, t, offset)

        if self.simd is None:
            text = self.scalar(value, t, v)
            place = plus(at(0), v) if self.runs(index) else at(v)
            statements.append(self.dialect.store(operand, f"y{position}", place, text))
            return
        text = self.vector_value(value, t, v)
        if self.runs(index):
            statements.append(self.simd.store(f"y{position}", plus(at(0), v), text, self.partial))
            return
        for lane in range(self.width):
            statements.append(self.simd.store_lane(f"y{position}", at(v + lane), text, lane, self.partial))
