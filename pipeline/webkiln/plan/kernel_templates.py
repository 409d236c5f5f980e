"""Use a kernel template for a call, where one computes it and is expected to be faster."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from math import prod

from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import Type
from webkiln.nest.affine import stride
from webkiln.nest.choice import Choice
from webkiln.nest.expr import axis
from webkiln.nest.kernel_template import Template
from webkiln.nest.nest import Nest, load_index
from webkiln.nest.schedule import (
    InvocationSchedule,
    LoopSchedule,
    Panel,
    TemplateSchedule,
)
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target
from webkiln.ops.block_products import BYTE
from webkiln.plan.alignment import is_multiple
from webkiln.plan.block_steps import BLOCK_PRODUCT, AroundBlocks, BlockProduct, match_blocks
from webkiln.plan.template_blocks import (
    COLUMN,
    GROUP,
    ROW,
    Block,
    block_of,
)
from webkiln.plan.template_steps import (
    MOST_RUNS,
    Around,
    Product,
    match_step,
)
from webkiln.plan.vector_products import (
    VECTOR_PRODUCT,
    choose_vectors,
    fits_vectors,
    match_vectors,
)
from webkiln.plan.vectors import extent

PACKED = (InvocationSchedule((GROUP, ROW)), InvocationSchedule())
"""How invocations prepare a block: each packs a word of a row; one stores the zero point."""
BLOCK_GRAIN = 32
"""Threads share the columns of a product of blocks in multiples of this number."""
Scheduler = Callable[[NestCall, Target, Collection[str]], Choice]


def template_choices(
    call: NestCall, target: Target, packable: Collection[str], schedule: Scheduler
) -> Iterator[Choice]:
    """The choices of the templates that compute a call. `schedule` chooses the loops around
    them.
    """
    for template in target.templates:
        if target.invocations and template.step in (BLOCK_PRODUCT, VECTOR_PRODUCT):
            matches = match_blocks if template.step == BLOCK_PRODUCT else match_vectors
            vectors = matches(call.nest)
            if vectors is not None and fits_vectors(call, vectors, template, packable):
                loops = _scheduler_around(call, block_of(call.nest), template, target, schedule)
                yield choose_vectors(call, vectors, template, loops)
        elif template.step == BLOCK_PRODUCT:
            blocks = match_blocks(call.nest)
            if blocks is not None and _fits_blocks(call, blocks, template, packable):
                yield _block_choice(call, blocks, template, target, schedule)
        else:
            product = match_step(call.nest, template.step)
            if product is not None and _fits(call, product, template, target, packable):
                yield _choice(call, product, template, target, schedule)


def _fits_blocks(
    call: NestCall, step: BlockProduct, template: Template, packable: Collection[str]
) -> bool:
    weights = step.weights
    blocks = 1 if step.block is None else call.args[step.block.extent.value]
    bytes_, columns = (call.args[loop.extent.value] for loop in (step.byte, step.column))
    constants = (weights.packed, *weights.parameters)
    if any(map(is_symbolic, (blocks, bytes_, columns))):
        return False
    together = BYTE // weights.bits
    length = bytes_ * together
    along = {step.byte: together, step.block: length, step.half: 1}
    *_, last = load_index(step.first)
    return (
        all(call.inputs[position].name in packable for position in constants)
        and call.nest.inputs[step.rows].dtype in template.rows
        and all(
            stride(last, loop.axis, call.args) == distance
            for loop, distance in along.items()
            if loop is not None
        )
        and call.nest.inputs[weights.packed].dtype in template.columns
        and bytes_ % template.together == 0
        and length >= template.depth[0]
        and length * blocks <= template.depth[1]
        and columns > 0
    )


def _block_choice(
    call: NestCall, step: BlockProduct, template: Template, target: Target, schedule: Scheduler
) -> Choice:
    around = AroundBlocks(call.nest, step)
    loops = _scheduler_around(call, around.block, template, target, schedule)
    sums = View("sums", Type("float32", template.block))
    store = _with_remainder(loops(around.store(), sums), extent(call, step.column))
    prepare: tuple[LoopSchedule, ...] = ()
    if step.scales is None:
        places = View("places", Type("int32", template.block[:1]))
        prepare = (_with_remainder(loops(around.places(), places)),)
    weights = step.weights
    together = {weights.packed: template.together} | dict.fromkeys(weights.parameters, 1)
    panels = [_panel_of(call.nest, step, template, *item) for item in together.items()]
    found = TemplateSchedule(
        template.name,
        tuple(sorted(panels, key=lambda panel: panel.source)),
        prepare,
        store,
        (step.column.axis,),
        BLOCK_GRAIN,
    )
    packed = call.inputs[weights.packed].name
    return Choice(found, f"template {template.name}, {packed} in panels of {template.panel}")


def _panel_of(
    nest: Nest, step: BlockProduct, template: Template, source: int, together: int
) -> Panel:
    """The layout of codes, or of factors or offsets, in panels of columns."""
    index = next(load_index(item) for item in nest.loads if item.value[0] == source)
    dim = next(d for d, item in enumerate(index) if item is axis(step.column.axis))
    return Panel(source, dim, tuple({*range(len(index))} - {dim}), template.panel, together)


def _fits(
    call: NestCall,
    product: Product,
    template: Template,
    target: Target,
    packable: Collection[str],
) -> bool:
    depth: Size = prod(call.args[loop.extent.value] for loop in product.depth)
    shared = () if product.run is None or target.invocations else (product.run,)
    runs: Size = prod(call.args[loop.extent.value] for loop in product.depth if loop not in shared)
    columns = call.args[product.column.extent.value]
    return (
        product.rows.dtype in template.rows
        and call.nest.inputs[product.columns.source].dtype in template.columns
        and call.inputs[product.columns.source].name in packable
        and not is_symbolic(depth)
        and not is_symbolic(columns)
        and template.depth[0] <= depth <= template.depth[1]
        and (not shared or runs <= MOST_RUNS)
        and (bool(product.row) or target.loops is not None)
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
    around = Around(call.nest, product)
    rows, columns = template.block

    loops = _scheduler_around(call, around.block, template, target, schedule)
    totals = [View("totals", Type("int32", (rows,)))] if around.needs_totals else []
    store = loops(around.store(), View("sums", Type("int32", template.block)), *totals)
    prepare: tuple[LoopSchedule | InvocationSchedule, ...] = PACKED
    if isinstance(store, InvocationSchedule):
        store = _with_partial_blocks(call, product, store)
    else:
        copied, point = around.prepare()
        shape, dtype = (rows, template.depth[1]), product.rows.dtype
        if product.run is not None:
            shape, dtype = (template.depth[1], rows), "int32"
        copies = loops(copied, View("rows", Type(dtype, shape)))
        # Rows are innermost, so that what depends only on the column is computed once for all.
        store = _with_remainder(replace(store, order=(COLUMN, ROW)), extent(call, product.column))
        prepare = copies, loops(point, View("zero", Type("int32", (1,))))
    found = TemplateSchedule(
        template.name,
        (panel_of_columns(product, template),),
        prepare,
        store,
        tuple(loop.axis for loop in product.row or (product.column,)),
        rows if product.row else columns,
        isinstance(store, InvocationSchedule)
        and is_multiple(call.args[product.depth[-1].extent.value]),
    )
    panels = f"{call.inputs[product.columns.source].name} in panels of {template.panel}"
    return Choice(found, f"template {template.name}, {panels}")


def _scheduler_around(
    call: NestCall, block: Block, template: Template, target: Target, schedule: Scheduler
) -> Callable[..., LoopSchedule | InvocationSchedule]:
    """A function that chooses the loops of a nest around a template, in one thread. It receives the
    nest, and the blocks that the nest reads in addition to the inputs of the call, or that it
    writes instead of its outputs.
    """
    rows, columns = template.block
    args = {block.row: 0, block.column: 0, block.rows: rows, block.columns: columns}

    def loops(nest: Nest, *blocks: View) -> LoopSchedule | InvocationSchedule:
        reads = blocks if len(nest.inputs) > len(call.inputs) else ()
        outputs = call.outputs if reads else blocks
        part = NestCall(nest, (*call.inputs, *reads), outputs, {**call.args, **args})
        found = schedule(part, replace(target, templates=()), ()).schedule
        assert isinstance(found, LoopSchedule | InvocationSchedule)
        return replace(found, split=None) if isinstance(found, LoopSchedule) else found

    return loops


def _with_remainder(
    schedule: LoopSchedule | InvocationSchedule, size: int | None = None
) -> LoopSchedule:
    """The schedule of loops over elements of a block, which may have `size`, or any number."""
    assert isinstance(schedule, LoopSchedule)
    whole = size is not None and size % schedule.tile.lanes == 0
    return schedule if whole else replace(schedule, remainder="elements")


def _with_partial_blocks(
    call: NestCall, product: Product, store: InvocationSchedule
) -> InvocationSchedule:
    """The schedule of stores, for blocks at the ends of rows and columns, whose sizes need not be
    multiples of a vector.
    """
    loops = {COLUMN: (product.column,), ROW: product.row}.get(store.tile.vector or "", ())
    total: Size = prod(call.args[loop.extent.value] for loop in loops)
    return store if is_multiple(total) else replace(store, whole=False, aligned=False)
