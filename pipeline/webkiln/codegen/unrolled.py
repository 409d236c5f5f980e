"""Contractions whose innermost loop is unrolled by the lanes of a vector: the factor that does not
move along the vector axis is read in vectors along the loop.
"""

from webkiln.codegen.context import Context
from webkiln.codegen.product_steps import multiply
from webkiln.codegen.reductions import Inside, Reductions
from webkiln.nest.nest import Loop


def print_unrolled(reductions: Reductions, loop: Loop, here: Context, inside: Inside) -> None:
    """A loop over vectors of iterations, instead of one around `inside`."""
    values, scopes = reductions.values, reductions.scopes
    along, dialect = loop.axis, values.dialect
    scopes.add(dialect.counter(along))
    header = dialect.chunks(along, values.extent(loop), here.width, rest=True)
    with scopes.loop(along, header):
        multiply(reductions, here, along, here.width)
