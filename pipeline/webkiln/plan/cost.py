"""The cost model: operations, bytes moved, and the expected time of a schedule."""

from math import prod

from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.solve import nominal_size
from webkiln.ir.types import itemsize
from webkiln.nest.expr import FLOAT, INTEGER, Expr, walk
from webkiln.nest.kernel_template import Template
from webkiln.nest.nest import load_index
from webkiln.nest.schedule import Schedule, TemplateSchedule
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Machine, Target
from webkiln.plan.block_steps import match_blocks
from webkiln.plan.vector_products import VECTOR_PRODUCT
from webkiln.plan.vectors import extent

INDEPENDENT_SUMS = 8
"""The number of independent sums that hides the latency of a multiply-add: 4 cycles on 2 units. 1,
2 and 4 vectors reached 0.27, 0.51 and 0.92 of the peak.
"""
LOAD_COST = 0.08
"""The cost of loading a factor, as a share of a multiply-add."""
SPILL_SLOWDOWN = 0.5
"""The share of the speed that remains when accumulators spill to memory."""
INTEGER_SHARE = 0.5
"""The speed of integer multiply-adds, as a share of that of float ones."""
DECODED_ROWS = 2
"""The time to decode the weights of a block of float rows, in rows that are multiplied by them."""
ELEMENTWISE_SHARE = 0.25
"""The share of the peak that operations reach outside contractions."""


def flops(call: NestCall) -> Size:
    """Float operations: those of the bodies and one per accumulation at every point, and those of
    the epilogue at every output element.
    """
    nest = call.nest
    inner = prod(call.args[loop.extent.value] for loop in nest.reduce)
    bodies = _operations([item.body for item in nest.accumulators]) + len(nest.accumulators)
    return _outer(call) * inner * bodies * bool(nest.accumulators) + _stored(call)


def operations(call: NestCall) -> Size:
    """Float operations, and the multiply-adds of integer products. Of a product of blocks, these
    are two for each code.
    """
    nest = call.nest
    inner = prod(call.args[loop.extent.value] for loop in nest.reduce)
    if (blocks := match_blocks(nest)) is not None:
        return 2 * _outer(call) * inner * blocks.products + _stored(call)
    if not nest.is_contraction or nest.accumulators[0].body.type not in INTEGER:
        return flops(call)
    return flops(call) + _outer(call) * inner


def _outer(call: NestCall) -> Size:
    """The points of the output."""
    return prod(call.args[loop.extent.value] for loop in call.nest.axes)


def _stored(call: NestCall) -> Size:
    """The float operations of the epilogue."""
    values = [value for out in call.nest.outputs for value, _ in out.stores]
    return _outer(call) * _operations(values)


def _operations(roots: list[Expr]) -> int:
    skipped = ("load", "const", "acc", "accindex", "arg", "axis", "select", "cast", "bitcast")
    return sum(expr.type == FLOAT and expr.op not in skipped for expr in walk(roots))


def moved(call: NestCall) -> Size:
    """Bytes of all operands, each element counted once. Of a slice, these are the elements that the
    call accesses.
    """
    nest, counts = call.nest, dict[View, Size]()
    accesses = [(call.inputs[item.value[0]], load_index(item)) for item in nest.loads]
    for view, out in zip(call.outputs, nest.outputs, strict=True):
        accesses += [(view, index) for _, index in out.stores]
    for view, index in accesses:
        counts[view] = counts.get(view, 0) + _accessed(call, index)
    return sum(
        (view.type.size if is_symbolic(view.type.size - count) else min(view.type.size, count))
        * itemsize(view.type.dtype)
        for view, count in counts.items()
    )


def _accessed(call: NestCall, index: tuple[Expr, ...]) -> Size:
    """At most how many elements an access with this index reaches."""
    found = tuple(walk(index))
    used = {item.value for item in found if item.op == "axis"}
    if any(item.op in ("acc", "accindex") for item in found):
        used.update(loop.axis for loop in call.nest.axes)
    loops = (*call.nest.axes, *call.nest.reduce)
    return prod(call.args[loop.extent.value] for loop in loops if loop.axis in used)


def milliseconds(call: NestCall, schedule: Schedule, machine: Machine) -> float:
    """The time of a launch: the maximum of computing and reading, plus the overhead. Symbolic sizes
    count at nominal values.
    """
    integers = any(item.body.type in INTEGER for item in call.nest.accumulators)
    integers = integers or match_blocks(call.nest) is not None
    computed = nominal_size(operations(call)) / (INTEGER_SHARE if integers else 1)
    computing = computed / (machine.gflops * 1e6 * efficiency(call, schedule, machine))
    return round(
        machine.launch + max(computing, nominal_size(moved(call)) / (machine.gigabytes * 1e6)), 5
    )


def expected(call: NestCall, schedule: Schedule, target: Target) -> float:
    """The time of a launch on a backend that has a cost model."""
    machine = target.machine
    assert machine is not None, f"{target.backend} has no cost model"
    if isinstance(schedule, TemplateSchedule):
        (template,) = (item for item in target.templates if item.name == schedule.template)
        computed = 2 * _products(call, schedule, template, target)
        moving = nominal_size(moved(call)) / (machine.gigabytes * 1e6)
        return round(machine.launch + max(computed / (template.gops * 1e6), moving), 5)
    return milliseconds(call, schedule, machine)


def _products(
    call: NestCall, schedule: TemplateSchedule, template: Template, target: Target
) -> int:
    """The multiplications of a template, which computes whole blocks, or panels of codes."""
    depth = prod(extent(call, loop) for loop in call.nest.reduce)
    points = prod(extent(call, loop) for loop in call.nest.axes)
    blocks = match_blocks(call.nest)
    if template.step == VECTOR_PRODUCT:
        return points * depth * (1 if blocks is None else blocks.products)
    if blocks is not None:
        columns = extent(call, blocks.column)
        rows = points // max(columns, 1)
        if target.invocations:
            across = _whole(columns, template.block[1])
            return _whole(rows, template.block[0]) * across * depth * blocks.products
        if blocks.scales is None:
            rows += DECODED_ROWS * (_whole(rows, template.block[0]) // template.block[0])
        return rows * _whole(columns, template.panel) * depth * blocks.products
    rows = prod(extent(call, loop) for loop in call.nest.axes if loop.axis in schedule.split)
    across = template.block[1] if target.invocations else 1
    return _whole(rows, template.block[0]) * _whole(points // max(rows, 1), across) * depth


def _whole(size: int, block: int) -> int:
    """The elements of whole blocks."""
    return -(-size // block) * block


def _extents(call: NestCall) -> dict[str, int]:
    """The nominal size of each loop."""
    return {loop.axis: extent(call, loop) for loop in (*call.nest.axes, *call.nest.reduce)}


def efficiency(call: NestCall, schedule: Schedule, machine: Machine) -> float:
    """The share of the peak that a call should reach with its tile. It depends on the number of
    independent sums, the loads for them, and the utilisation of the last tiles.
    """
    if not call.nest.is_contraction:
        return ELEMENTWISE_SHARE
    tile = schedule.tile
    vectors = max(1, tile.lanes // machine.width)
    sums = tile.count * vectors
    share = min(1.0, sums / INDEPENDENT_SUMS) / (1 + LOAD_COST * (tile.count + vectors) / sums)
    if sums + vectors + 1 > machine.registers:
        share *= SPILL_SLOWDOWN
    sizes = _extents(call)
    for name, count in ((tile.vector, tile.lanes), (tile.axis, tile.count)):
        if name is not None and sizes[name]:
            share *= sizes[name] / (-(-sizes[name] // count) * count)
    return share
