"""Bodies of fragment shaders. A fragment decodes the point of the parallel axes from its texel, and
computes that point.

If outputs are packed four elements to a texel, a fragment computes four neighbours on the vector
axis, as a vector or, where there is no vector form, lane by lane. Four iterations of an unrolled
reduction loop share the texels that they read.
"""

from dataclasses import replace

from webkiln.codegen.context import Context
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.glsl_intrinsics import LANES
from webkiln.codegen.points import print_point, unguarded
from webkiln.codegen.reductions import Inside, Reductions
from webkiln.codegen.store_inverse import StoreInverse
from webkiln.codegen.textures import Textures
from webkiln.codegen.values import Values
from webkiln.nest.expr import INT
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import FragmentSchedule
from webkiln.plan.kernel import Kernel

TEXEL = "first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x))"
"""The number of the fragment's texel."""
DISTANCE = "distance"
"""The distance between neighbours on the tile axis."""
COUNT = len(LANES)


class Fragments:
    """Prints what one fragment computes."""

    def __init__(self, kernel: Kernel, schedule: FragmentSchedule, dialect: Dialect) -> None:
        self.kernel, self.schedule, self.dialect = kernel, schedule, dialect
        self.values = Values(kernel, dialect, Textures(kernel, schedule, dialect))
        self.scopes, self.reductions = self.values.scopes, Reductions(self.values)

    def print(self) -> list[str]:
        tile = self.schedule.tile
        with self.scopes.block() as top:
            for n, name in enumerate(self.kernel.arguments):
                self.scopes.declare(0, INT, f"P[{n // 4}].{'xyzw'[n % 4]}", name)
            if tile.axis is not None:
                slot = len(self.kernel.nest.inputs)
                self.scopes.declare(0, INT, f"(q{slot} << 2) / s{slot}_0", DISTANCE)
            StoreInverse(self.values).print(TEXEL, is_packed=tile.vector is not None)
            print_point(self.values, self.context(), self.reduce, unguarded)
        return top.lines()

    def context(self) -> Context:
        tile, accumulators = self.schedule.tile, self.kernel.nest.accumulators
        searches = any(item.combiner.startswith("arg") for item in accumulators)
        simd = self.dialect.simd if tile.vector and not searches else None
        here = Context(
            tile.vector, tile.axis, simd, tiles=tile.count, unrolled=self.schedule.unroll
        )
        if tile.axis is not None:
            others = (f"({tile.axis} + {t} * {DISTANCE})" for t in range(1, tile.count))
            here = replace(here, indices=(tile.axis, *others))
        return replace(here, vectors=tile.lanes // here.width)

    def reduce(self, here: Context) -> Context:
        self.reductions.print(here, self.innermost)
        return here

    def innermost(self, loop: Loop, here: Context, inside: Inside) -> None:
        if loop.axis != here.unrolled:
            self.reductions.loop(loop, here, inside)
            return
        self.scopes.add(self.dialect.counter(loop.axis))
        header = self.dialect.chunks(loop.axis, self.values.extent(loop), COUNT, rest=False)
        with self.scopes.loop(loop.axis, header):
            for iteration in range(COUNT):
                inside(replace(here, iteration=iteration))
