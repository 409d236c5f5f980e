"""Bodies of compute shaders: one invocation per point (or tile of points) of the parallel axes,
instead of loops. Copies out of bounds are also computed, because loads cannot trap, but not stored.
"""

from dataclasses import replace
from functools import partial

from webkiln.codegen.buffers import Buffers
from webkiln.codegen.context import Context, accumulator
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.direct_product import print_direct_product
from webkiln.codegen.grid import Grid
from webkiln.codegen.matrix_product import MatrixProduct
from webkiln.codegen.points import print_point
from webkiln.codegen.reductions import Innermost, Inside, Reductions
from webkiln.codegen.staged_product import StagedProduct
from webkiln.codegen.unrolled import print_unrolled
from webkiln.codegen.values import Values
from webkiln.codegen.window_product import WindowProduct
from webkiln.nest.nest import Accumulator, Loop
from webkiln.nest.schedule import InvocationSchedule, Workgroup
from webkiln.plan.kernel import Kernel


class Invocations:
    """Prints what one invocation computes."""

    def __init__(self, kernel: Kernel, schedule: InvocationSchedule, dialect: Dialect) -> None:
        assert dialect.threads is not None
        self.kernel, self.schedule, self.dialect = kernel, schedule, dialect
        self.values = Values(kernel, dialect, Buffers(kernel, dialect))
        self.scopes, self.reductions = self.values.scopes, Reductions(self.values)
        self.groups = dialect.threads.groups
        self.grid = Grid(self.values, schedule, dialect.threads)

    def print(self) -> list[str]:
        tile, loops = self.schedule.tile, {loop.axis: loop for loop in self.kernel.nest.axes}
        simd = self.dialect.simd if tile.vector else None
        here = Context(tile.vector, tile.axis, simd, tiles=tile.count)
        if tile.vector in loops:
            here = replace(here, vectors=tile.lanes // here.width)
        with self.scopes.block() as top:
            self.grid.print([loops[name] for name in self.schedule.order])
            print_point(self.values, here, self.reduce, self.grid.guard)
        return top.lines()

    def reduce(self, here: Context) -> Context:
        schedule, workgroup = self.schedule, self.schedule.workgroup
        if self.kernel.by_rows:
            scalar = self.reductions.print_rows(here, schedule.tile.lanes, self.spans)
            if workgroup:
                self.gather(scalar)
            return scalar
        if schedule.window:
            WindowProduct(self.reductions, schedule, self.groups, self.grid).print(here)
        elif workgroup and workgroup.staged:
            product = MatrixProduct if self.groups.matrix else StagedProduct
            product(self.reductions, schedule, self.groups, self.grid).print(here)
        elif workgroup and workgroup.depth:
            print_direct_product(self.reductions, schedule, self.grid, here)
        else:
            self.reductions.print(here, self.innermost())
        if workgroup and workgroup.parts > 1:
            self.collect(here, workgroup)
        return here

    def innermost(self) -> Innermost:
        if self.schedule.workgroup:
            return self.shared
        if self.schedule.unroll:
            return partial(print_unrolled, self.reductions)
        return self.reductions.loop

    def shared(self, loop: Loop, here: Context, inside: Inside) -> None:
        """A loop that is divided among the parts of a workgroup."""
        assert self.schedule.workgroup is not None
        extent, parts = self.values.extent(loop), self.schedule.workgroup.parts
        header = self.groups.strided(loop.axis, self.grid.part, extent, 1, parts)
        with self.scopes.loop(loop.axis, header):
            inside(here)

    def spans(self, name: str, extent: str) -> list[tuple[int, str]]:
        """The loops over a vectorised reduction loop, which a workgroup shares."""
        lanes, groups = self.schedule.tile.lanes, self.groups
        if self.schedule.workgroup is None:
            return self.reductions.spans(lanes, name, extent)
        size, local = self.schedule.workgroup.size, groups.local
        rest = f"{extent} / {lanes} * {lanes} + {local}"
        return [
            (lanes, groups.strided(name, f"{local} * {lanes}", extent, lanes, lanes * size)),
            (1, groups.strided(name, rest, extent, 1, size)),
        ]

    def gather(self, here: Context) -> None:
        """Combine the accumulators of all invocations of a workgroup."""
        for position, item, copy in self.reductions.accumulators(here):
            name = accumulator(position, copy)
            self.scopes.add(*self.groups.gather(item, name, partial(_combine, self.dialect)))

    def collect(self, here: Context, workgroup: Workgroup) -> None:
        """Combine the accumulators of the parts of a workgroup, in their order."""
        assert here.simd is not None
        combine, size = here.simd.combine, workgroup.columns * workgroup.rows
        names = [
            (item, accumulator(position, copy), f"{self.groups.parts}{accumulator(position, copy)}")
            for position, item, copy in self.reductions.accumulators(here)
        ]
        local = self.groups.local
        self.scopes.add(f"if ({local} >= {size}) {{")
        self.scopes.add(*(f"  {array}[{local} - {size}] = {name};" for _, name, array in names))
        self.scopes.add("}", self.groups.barrier, f"if ({local} < {size}) {{")
        header = self.groups.strided("other", local, str(size * (workgroup.parts - 1)), 1, size)
        self.scopes.add(f"  {header}")
        for item, name, array in names:
            self.scopes.add(*(f"    {line}" for line in combine(item, name, f"{array}[other]")))
        self.scopes.add("  }", "}")


def _combine(dialect: Dialect, item: Accumulator, name: str, value: str) -> list[str]:
    return dialect.combine(item, name, value, "0")
