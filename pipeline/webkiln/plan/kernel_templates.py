"""Use a kernel template for a call, where one computes it and is expected to be faster."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from math import prod

from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import Type
from webkiln.nest.choice import Choice
from webkiln.nest.kernel_template import Template
from webkiln.nest.nest import Nest, load_index
from webkiln.nest.schedule import LoopSchedule, Panel, TemplateSchedule
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target
from webkiln.plan.template_steps import COLUMN, ROW, Around, Product, match_step
from webkiln.plan.vectors import extent

Scheduler = Callable[[NestCall, Target, Collection[str]], Choice]


def template_choices(
    call: NestCall, target: Target, packable: Collection[str], schedule: Scheduler
) -> Iterator[Choice]:
    """The choices of the templates that compute a call. `schedule` chooses the loops around
    them.
    """
    for template in target.templates:
        product = match_step(call.nest, template.step)
        if product is not None and _fits(call, product, template, packable):
            yield _choice(call, product, template, target, schedule)


def _fits(call: NestCall, product: Product, template: Template, packable: Collection[str]) -> bool:
    depth: Size = prod(call.args[loop.extent.value] for loop in product.depth)
    columns = call.args[product.column.extent.value]
    return (
        call.nest.inputs[product.rows.source].dtype in template.rows
        and call.nest.inputs[product.columns.source].dtype in template.columns
        and call.inputs[product.columns.source].name in packable
        and not is_symbolic(depth)
        and not is_symbolic(columns)
        and 0 < depth <= template.depth
        and columns > 0
    )


def panel_of_columns(product: Product, template: Template) -> Panel:
    """The layout of the columns: panels, in which neighbours along a sum are adjacent."""
    names = [item.value for item in load_index(product.columns.element)]
    return Panel(
        product.columns.source,
        names.index(product.column.axis),
        tuple(names.index(loop.axis) for loop in product.depth),
        template.panel,
        template.together,
    )


def _choice(
    call: NestCall, product: Product, template: Template, target: Target, schedule: Scheduler
) -> Choice:
    around = Around(call.nest, product, template.block[1])
    block = around.block
    rows, columns = template.block
    width = template.depth * (columns if product.is_depthwise else 1)
    args = {block.row: 0, block.column: 0, block.rows: rows, block.columns: columns}

    def loops(nest: Nest, *blocks: View) -> LoopSchedule:
        """The loops of a nest around the template, in one thread. `blocks` are what it reads in
        addition to the inputs of the call, or what it writes instead of its outputs.
        """
        reads = blocks if len(nest.inputs) > len(call.inputs) else ()
        outputs = call.outputs if reads else blocks
        part = NestCall(nest, (*call.inputs, *reads), outputs, {**call.args, **args})
        found = schedule(part, replace(target, templates=()), ()).schedule
        assert isinstance(found, LoopSchedule)
        return replace(found, split=None)

    copied, point = around.prepare()
    totals = [View("totals", Type("int32", (rows,)))] if around.needs_totals else []
    store = loops(around.store(), View("sums", Type("int32", template.block)), *totals)
    # Rows are innermost, so that what depends only on the column is computed once for all.
    store = replace(store, order=(COLUMN, ROW))
    if extent(call, product.column) % store.tile.lanes:
        store = replace(store, remainder="elements")
    dtype = call.nest.inputs[product.rows.source].dtype
    prepare = loops(copied, View("rows", Type(dtype, (rows, width))))
    if product.is_depthwise and extent(call, product.column) % prepare.tile.lanes:
        prepare = replace(prepare, remainder="elements")
    found = TemplateSchedule(
        template.name,
        (panel_of_columns(product, template),),
        (
            prepare,
            loops(point, View("zero", Type("int32", (1,)))),
        ),
        store,
        tuple(loop.axis for loop in product.row),
        rows,
    )
    panels = f"{call.inputs[product.columns.source].name} in panels of {template.panel}"
    return Choice(found, f"template {template.name}, {panels}")
