"""Use a kernel template for a call, where one computes it and is expected to be faster."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Type
from webkiln.nest.choice import Choice
from webkiln.nest.kernel_template import Template
from webkiln.nest.nest import Nest
from webkiln.nest.schedule import LoopSchedule, Panel, TemplateSchedule
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target
from webkiln.plan.template_steps import Around, Product, match_product
from webkiln.plan.vectors import extent

Scheduler = Callable[[NestCall, Target, Collection[str]], Choice]


def template_choices(
    call: NestCall, target: Target, packable: Collection[str], schedule: Scheduler
) -> Iterator[Choice]:
    """The choices of the templates that compute a call. `schedule` chooses the loops around
    them.
    """
    product = match_product(call.nest)
    for template in target.templates if product is not None else ():
        assert product is not None
        if _fits(call, product, template, packable):
            yield _choice(call, product, template, target, schedule)


def _fits(call: NestCall, product: Product, template: Template, packable: Collection[str]) -> bool:
    depth, columns = (call.args[loop.extent.value] for loop in (product.depth, product.column))
    return (
        template.step == "product"
        and call.nest.inputs[product.rows.source].dtype in template.rows
        and call.nest.inputs[product.columns.source].dtype in template.columns
        and call.inputs[product.columns.source].name in packable
        and not is_symbolic(depth)
        and not is_symbolic(columns)
        and 0 < depth <= template.depth
        and columns > 0
    )


def _choice(
    call: NestCall, product: Product, template: Template, target: Target, schedule: Scheduler
) -> Choice:
    source = product.columns.source
    around = Around(call.nest, product)
    block = around.block
    sizes = (template.block[0], template.depth)
    rows, columns = template.block
    args = {block.row: 0, block.column: 0, block.rows: rows, block.columns: columns}

    def loops(nest: Nest) -> LoopSchedule:
        """The loops of a nest around the template, in one thread."""
        blocks = [
            View(f"block{number}", Type(item.dtype, sizes[: item.rank]))
            for number, item in enumerate(nest.inputs[len(call.inputs) :])
        ]
        made = nest.outputs[0].operand
        outputs = (View("block", Type(made.dtype, sizes[: made.rank])),)
        part = NestCall(
            nest,
            (*call.inputs, *blocks),
            call.outputs if blocks else outputs,
            {**call.args, **args},
        )
        found = schedule(part, replace(target, templates=()), ()).schedule
        assert isinstance(found, LoopSchedule)
        return replace(found, split=None)

    store = loops(around.store())
    if extent(call, product.column) % store.tile.lanes:
        store = replace(store, remainder="elements")
    found = TemplateSchedule(
        template.name,
        (Panel(source, 1, (0,), template.panel),),
        tuple(map(loops, around.prepare())),
        store,
        product.row.axis,
        template.block[0],
    )
    panels = f"{call.inputs[source].name} in panels of {template.panel}"
    return Choice(found, f"template {template.name}, {panels}")
