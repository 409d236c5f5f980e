"""Stores into constants with the layout of a panel, and reads of single elements of them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

from webkiln.ir.dim import known_shape
from webkiln.ir.types import Type
from webkiln.nest.expr import INT, Expr, apply, const, make
from webkiln.nest.nest import Operand, load_index, make_output
from webkiln.nest.program import PanelLayout
from webkiln.nest.steps import NestCall, View


def panelled_call(call: NestCall, layout: PanelLayout) -> NestCall:
    """A call with one output, stored in the layout that its readers request."""
    (view,), (out,) = call.outputs, call.nest.outputs
    panelled = [
        (value, panel_store(view, layout, index, lambda size: const(size, INT)))
        for value, index in out.stores
    ]
    stores = [(value, tuple(index)) for value, (_, index) in panelled]
    nest = replace(
        call.nest, outputs=(make_output(Operand(out.operand.dtype, len(stores[0][1])), stores),)
    )
    return replace(call, nest=nest, outputs=(panelled[0][1][0],))


def read_from_panels(call: NestCall, layouts: Mapping[int, PanelLayout]) -> NestCall:
    """A call that reads constants with the layout that others request. `layouts`: by the position
    of the input.
    """
    views = list(call.inputs)

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load" or expr.value[0] not in layouts:
            return None
        position, index = expr.value[0], load_index(expr)
        view, where = panel_store(
            call.inputs[position], layouts[position], index, lambda size: const(size, INT)
        )
        views[position] = view
        return make("load", expr.type, (*where, *expr.args[len(index) :]), expr.value)

    nest = call.nest.map(change)
    inputs = tuple(
        Operand(item.dtype, view.type.rank) for item, view in zip(nest.inputs, views, strict=True)
    )
    return replace(call, nest=replace(nest, inputs=inputs), inputs=tuple(views))


def panel_store(
    out: View,
    layout: PanelLayout,
    stored_index: tuple[Expr, ...],
    number: Callable[[int], Expr],
) -> tuple[View, list[Expr]]:
    """The panel as a dense Variable (blocks, other dimensions, element in block), and the index of
    an element in it. `number` turns the block size into an expression, so that one kernel stores
    panels of any block size.
    """
    panel = layout.panel
    kernel_index = _kernel_index(
        stored_index, known_shape(out.shape, out.name), layout.shape, number
    )
    blocks = panel.blocks(layout.shape)
    along, shift, mask = (
        kernel_index[panel.dim],
        number(panel.block.bit_length() - 1),
        number(panel.block - 1),
    )
    block, place = apply("shr", along, shift), apply("band", along, mask)
    others = [kernel_index[dim] for dim in panel.order]
    sizes = [layout.shape[dim] for dim in panel.order]
    if panel.together == 1:
        shape = (blocks, *sizes, panel.block)
        return View(out.name, Type(out.type.dtype, shape)), [block, *others, place]
    shape = (blocks, panel.groups(layout.shape), panel.block, panel.together)
    flat = reduce(
        lambda total, item: total * number(item[1]) + item[0],
        zip(others, sizes, strict=True),
        const(0, INT),
    )
    group = apply("shr", flat, const(panel.together.bit_length() - 1, INT))
    index = [block, group, place, apply("band", flat, const(panel.together - 1, INT))]
    return View(out.name, Type(out.type.dtype, shape)), index


def _kernel_index(
    stored_index: tuple[Expr, ...],
    stored: tuple[int, ...],
    kernel_shape: tuple[int, ...],
    number: Callable[[int], Expr],
) -> list[Expr]:
    """An element's index in the shape that kernels use, which drops sizes of 1, merges neighbouring
    dimensions and splits off groups.
    """
    index: list[Expr] = []
    stored_dims = list(zip(stored_index, stored, strict=True))
    remaining_sizes = list(kernel_shape)
    while remaining_sizes:
        sizes: list[int] = []
        parts: list[tuple[Expr, int]] = []
        extent, covered = 1, 1
        while not sizes or extent != covered:
            if (sizes and extent < covered) or not sizes:
                sizes.append(remaining_sizes.pop(0))
                extent *= sizes[-1]
            else:
                parts.append(stored_dims.pop(0))
                covered *= parts[-1][1]
        linear = parts[0][0] if parts else const(0, INT)
        for item, size in parts[1:]:
            linear = linear * (number(size) if len(sizes) == 1 else const(size, INT)) + item
        index += _split(linear, sizes)
    return index


def _split(linear: Expr, sizes: list[int]) -> list[Expr]:
    """Row-major coordinates of a linear index."""
    parts = []
    for size in reversed(sizes[1:]):
        parts.append(apply("floormod", linear, const(size, INT)))
        linear = apply("floordiv", linear, const(size, INT))
    return [linear, *reversed(parts)]
