"""Prefetch of constant panels: while the tiles of one panel are computed, the next panel is loaded
into the cache, two cache lines at a time, so that their latencies overlap, spread evenly over the
sums.
"""

from dataclasses import dataclass

from webkiln.codegen.addresses import Addresses
from webkiln.codegen.context import Context, Copy
from webkiln.codegen.reductions import Inside
from webkiln.codegen.values import Values
from webkiln.nest.expr import INT, axis, const, rebuild
from webkiln.nest.nest import Loop, load_index
from webkiln.plan.kernel import Kernel

CACHE_LINE = 16
"""Elements of a cache line."""
LINES_PER_STEP = 2


@dataclass(frozen=True, slots=True)
class NextPanel:
    """The panel that follows the current one: its operand, its start, its number of elements, the
    `offset` up to which it has been prefetched, and the iterations of the reduction loop between
    two prefetches.
    """

    operand: int
    start: str
    elements: str
    offset: str
    iterations: str


def next_panel(
    values: Values,
    kernel: Kernel,
    here: Context,
    block: tuple[str, str] | None,
    tiles: tuple[str | None, str, int],
) -> NextPanel:
    """The panel that follows that of the current iteration of the vector loop, while a loop over
    tiles uses the current panel. `tiles`: the start, the end and the step of that loop.
    """
    (along,), (panel,), (first, end, count) = kernel.nest.reduce, kernel.schedule.panels, tiles
    scopes, name = values.scopes, here.vector
    above = scopes.levels[block[0]] if block else 0
    extent = values.extent(along)
    points, tile = (f"{end} - {first}", f"({here.tile} - {first})") if first else (end, here.tile)
    elements = scopes.declare(above, INT, f"{extent} * {panel.block}")
    lines = scopes.declare(above, INT, f"wk_lines({elements}, {points}, {count})")
    iterations = scopes.declare(above, INT, f"wk_turns({extent}, {lines}, {LINES_PER_STEP})")
    load = next(expr for expr in kernel.nest.loads if expr.value[0] == panel.source)
    index = tuple(rebuild(item, {axis(along.axis): const(0, INT)}.get) for item in load_index(load))
    base = Addresses(kernel, values.dialect.heap).address(
        values, panel.source, index, Copy(here), only=scopes.innermost
    )
    columns = next(values.extent(loop) for loop in kernel.nest.axes if loop.axis == name)
    start = scopes.declare_here(
        INT, f"{base} + ({name} + {panel.block} < {columns} ? {elements} : 0)"
    )
    return NextPanel(
        panel.source, start, elements, f"{tile} / {count} * {lines} * {CACHE_LINE}", iterations
    )


def print_with_prefetch(
    values: Values, panel: NextPanel, loop: Loop, here: Context, inside: Inside
) -> None:
    """A reduction loop that prefetches a part of a panel every few iterations."""
    scopes, dialect, extent = values.scopes, values.dialect, values.extent(loop)
    first, end = f"{loop.axis}_from", f"{loop.axis}_to"
    scopes.add(dialect.counter("ahead", panel.offset), dialect.counter(first))
    with scopes.loop(first, dialect.chunks(first, extent, panel.iterations, rest=True)):
        address = f"{panel.start} + (ahead < {panel.elements} ? ahead : 0)"
        fetch = f"wk_fetch(x{panel.operand} + {address});"
        scopes.add(*[fetch, f"ahead += {CACHE_LINE};"] * LINES_PER_STEP)
        scopes.declare_here(INT, dialect.minimum(f"{first} + {panel.iterations}", extent), end)
        scopes.add(dialect.counter(loop.axis, first))
        with scopes.loop(loop.axis, dialect.chunks(loop.axis, end, 1, rest=True)):
            inside(here)
