"""Contractions whose innermost loop is unrolled by the lanes of a vector: the factor that does not
move along the vector axis is read in vectors along the loop.
"""

from dataclasses import replace

from webkiln.codegen.context import Context, Copy, accumulator
from webkiln.codegen.reductions import Inside, Reductions
from webkiln.nest.affine import depends
from webkiln.nest.expr import axis, rebuild
from webkiln.nest.nest import Loop


def print_unrolled(reductions: Reductions, loop: Loop, here: Context, inside: Inside) -> None:
    """A loop over vectors of iterations, instead of one around `inside`."""
    values, scopes, simd = reductions.values, reductions.scopes, here.simd
    assert simd is not None
    assert here.vector is not None
    across, along, dialect = here.vector, loop.axis, values.dialect
    scopes.add(dialect.counter(along))
    header = dialect.chunks(along, values.extent(loop), simd.width, rest=True)
    with scopes.loop(along, header):
        (product,) = (item.body for item in values.nest.accumulators)
        row, column = sorted(product.args, key=lambda factor: depends(factor, across))
        type_ = product.type
        along_loop = replace(here, vector=along)
        rows = [values.vector(row, Copy(along_loop, t)) for t in range(here.tiles)]
        for lane in range(simd.width):
            moved = rebuild(column, {axis(along): axis(along) + lane}.get)
            for position, _, copy in reductions.accumulators(here):
                factor = simd.lane(rows[copy.t], lane, type_)
                value, total = values.vector(moved, copy), accumulator(position, copy)
                scopes.add(*simd.multiply_add(total, factor, value, type_))
