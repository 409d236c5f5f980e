"""The body at one point of the parallel axes, with all its copies (tile and lanes): the reduction,
then epilogue and stores.
"""

from collections.abc import Callable

from webkiln.codegen.context import Context, Copy
from webkiln.codegen.values import AFTER_REDUCTION, Values

Guard = Callable[[str, Copy], str]
"""The statement that stores the element of a copy, if it is in bounds."""


def print_point(
    values: Values, here: Context, reduce: Callable[[Context], Context], guard: Guard
) -> None:
    """`reduce` prints the reduction, if there is one, and returns the context of its results."""
    scopes = values.scopes
    after = reduce(here) if values.nest.accumulators else here
    with scopes.block(AFTER_REDUCTION) as tail:
        for position, out in enumerate(values.nest.outputs):
            for store in out.stores:
                joined = values.memory.joined_stores(values, position, store, after)
                if joined:
                    scopes.add(*joined)
                    continue
                for copy in after.copies:
                    for element in values.memory.stores(values, position, store, copy):
                        scopes.add(guard(*element))
    lines = tail.lines()
    scopes.add(*(["{", *("  " + line for line in lines), "}"] if tail.declarations else lines))


def unguarded(statement: str, copy: Copy) -> str:
    return statement
