"""Products of rows and a constant matrix by kernel templates on GPUs. The columns of the matrix, of
floats or of codes of 4 or 8 bits, lie along memory. Of few rows, invocations share each sum.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from math import prod

from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import Type, itemsize
from webkiln.nest.affine import depends, stride
from webkiln.nest.choice import Choice
from webkiln.nest.expr import FLOAT, axis
from webkiln.nest.kernel_template import Template
from webkiln.nest.nest import Nest, load_guard, load_index
from webkiln.nest.schedule import InvocationSchedule, LoopSchedule, Panel, TemplateSchedule
from webkiln.nest.steps import NestCall, View
from webkiln.ops.block_products import BYTE
from webkiln.plan.alignment import is_multiple, is_vector_multiple
from webkiln.plan.block_steps import AroundBlocks, BlockProduct, Weights, match_blocks
from webkiln.plan.kernel import strides
from webkiln.plan.template_blocks import COLUMN, ROW, with_indices
from webkiln.plan.template_steps import ZERO

VECTOR_PRODUCT = "vector_product"
"""The step of a template that multiplies few rows."""
MOST_ROWS, MOST_CODED_ROWS = 4, 16
"""More rows of floats, or of codes, are multiplied by blocks."""
FEW_WEIGHTS = 1 << 16
"""Products by fewer floats keep loops, since a recurrence of them may share one launch
(`plan/group_launches.py`).
"""
MOST_GROUPS = 512
"""The most workgroups of a launch, which then compute several blocks of sums each."""
GROUP = 16
"""Bytes of codes that are loaded together, where the codes with one scale consist of such groups.
"""
FLOATS = ("float32", "float16")
"""The dtypes of weights that are no codes."""
Scheduler = Callable[..., LoopSchedule | InvocationSchedule]


@lru_cache(maxsize=1024)
def match_vectors(nest: Nest) -> BlockProduct | None:
    """The product of rows and a matrix, of codes or of floats, that a nest computes."""
    blocks = match_blocks(nest)
    if blocks is not None:
        return blocks
    if not nest.is_contraction or len(nest.reduce) != 1 or not nest.axes:
        return None
    *rows, column = nest.axes
    (along,), body = nest.reduce, nest.accumulators[0].body
    if body.type != FLOAT or any(item.op != "load" or load_guard(item) for item in body.args):
        return None
    for row, weight in permutations(body.args):
        index, dtype = load_index(weight), nest.inputs[weight.value[0]].dtype
        if (
            dtype in FLOATS
            and nest.inputs[row.value[0]].dtype == "float32"
            and sorted(item.value for item in index if item.op == "axis")
            == sorted((column.axis, along.axis))
            and len(index) == 2
            and not any(depends(item, column.axis) for item in load_index(row))
            and not any(depends(item, along.axis) for item in load_index(row)[:-1])
        ):
            weights = Weights(
                weight.value[0], None, None, BYTE * itemsize(dtype), 0, by_column=True
            )
            return BlockProduct(row, None, weights, tuple(rows), column, None, along)
    return None


def depth_of(call: NestCall, step: BlockProduct) -> Size:
    """The length of the sum."""
    return prod(call.args[loop.extent.value] for loop in call.nest.reduce) * step.products


def fits_vectors(
    call: NestCall, step: BlockProduct, template: Template, packable: Collection[str]
) -> bool:
    """Whether the template computes a product: of a constant, in vectors along the sum."""
    weights, nest = step.weights, call.nest
    rows: Size = prod(call.args[loop.extent.value] for loop in step.row)
    depth, columns = depth_of(call, step), call.args[step.column.extent.value]
    if is_symbolic(depth) or is_symbolic(columns) or not _fits_rows(rows, step, template):
        return False
    together = BYTE // weights.bits if weights.bits < BYTE else 1
    length = call.args[step.byte.extent.value] * together
    along = {step.byte: together, step.block: length, step.half: 1}
    if weights.factors is None and depth * columns <= FEW_WEIGHTS:
        return False
    *_, last = load_index(step.first)
    least, most = template.depth
    return (
        columns > 0
        and nest.inputs[step.rows].dtype in template.rows
        and nest.inputs[weights.packed].dtype in template.columns
        and all(
            call.inputs[position].name in packable
            for position in (weights.packed, *weights.parameters)
        )
        and all(
            stride(last, loop.axis, call.args) == distance
            for loop, distance in along.items()
            if loop is not None
        )
        and length % (template.together * together) == 0
        and least <= depth <= most
    )


def _fits_rows(rows: Size, step: BlockProduct, template: Template) -> bool:
    """Whether the number of rows is within the limit of a template."""
    most = MOST_ROWS if step.weights.factors is None else MOST_CODED_ROWS
    return template.step != VECTOR_PRODUCT or (not is_symbolic(rows) and rows <= most)


def choose_vectors(
    call: NestCall, step: BlockProduct, template: Template, schedule: Scheduler
) -> Choice:
    """The schedule of a template. `schedule` chooses the loops around it: of a nest, and the blocks
    that it reads or writes.
    """
    around = AroundBlocks(call.nest, step)
    store = schedule(around.store(), View("sums", Type("float32", template.block)))
    places = schedule(around.places(), View("places", Type("int32", template.block[:1])))
    assert isinstance(store, InvocationSchedule)
    across = {COLUMN: (step.column,), ROW: step.row}.get(store.tile.vector or "", ())
    if not is_multiple(prod(call.args[loop.extent.value] for loop in across)):
        store = replace(store, whole=False, aligned=False)
    if store.aligned and not _has_aligned_rows(call, step):
        store = replace(store, aligned=False)
    together = {step.weights.packed: template.together // _bytes(call, step)}
    together |= dict.fromkeys(step.weights.parameters, 1)
    panels = [_panel_of(call, step, *item) for item in together.items()]
    found = TemplateSchedule(
        template.name,
        tuple(sorted(filter(None, panels), key=lambda panel: panel.source)),
        (places,),
        store,
        tuple(loop.axis for loop in step.row),
        template.block[0],
        whole=_has_whole_groups(call, step),
    )
    name = call.inputs[step.weights.packed].name
    return Choice(found, f"template {template.name}, {name} by columns")


def _bytes(call: NestCall, step: BlockProduct) -> int:
    return itemsize(call.nest.inputs[step.weights.packed].dtype)


def _panel_of(call: NestCall, step: BlockProduct, source: int, together: int) -> Panel | None:
    """The layout of a constant in which the elements of a column are neighbours, and columns
    consist of groups of `together` elements; none if it has this layout.
    """
    index = next(load_index(item) for item in call.nest.loads if item.value[0] == source)
    dim = next(d for d, item in enumerate(index) if item is axis(step.column.axis))
    others = tuple({*range(len(index))} - {dim})
    return None if dim == 0 or not others else Panel(source, dim, others, 1, together)


def _has_whole_groups(call: NestCall, step: BlockProduct) -> bool:
    """Whether the codes with one scale, also of a row, consist of groups of `GROUP` bytes."""
    one_scale = step.weights.by_column and step.scales is None
    loops = (step.block, step.byte) if one_scale else (step.byte,)
    size = prod(call.args[loop.extent.value] for loop in loops if loop is not None)
    return size % GROUP == 0 and step.weights.factors is not None


def _has_aligned_rows(call: NestCall, step: BlockProduct) -> bool:
    """Whether each row begins at a multiple of four elements."""
    zeros = {loop.axis: ZERO for loop in call.nest.reduce}
    last = with_indices(load_index(step.first)[-1], zeros)
    steps = strides(call.inputs[step.rows], None)
    return is_vector_multiple(last, call, "") and all(
        is_multiple(steps[dim]) for dim in range(len(load_index(step.first)) - 1)
    )
