"""The init program: one call per piece of weights, which decodes it and stores it in the layout
that the kernels read.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from webkiln.ir.types import Type
from webkiln.lower.canonicalize import canonicalize
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, Expr, apply, const
from webkiln.nest.nest import Operand, make_output
from webkiln.nest.schedule import Panel
from webkiln.nest.steps import NestCall, View
from webkiln.weights.encoding import BY_NAME, storage_dtype
from webkiln.weights.shards import Piece

HEADER, ELEMENTS = "header", "elements"


@dataclass(frozen=True, slots=True)
class Destination:
    """The layout of a weight in memory: its shape in the kernels, and the panel that they read, if
    any.
    """

    shape: tuple[int, ...]
    panel: Panel | None


def decode_call(piece: Piece, destination: Destination) -> NestCall:
    """The call that reads `ELEMENTS` (and the scales, `HEADER`) and writes the Variable
    `piece.weight.name`.
    """
    weight, code = piece.weight, BY_NAME[piece.encoding]
    rows = (piece.rows, *weight.shape[1:]) if weight.shape else (1,)
    source = View(ELEMENTS, Type(storage_dtype(weight, code), rows))
    out = View(weight.name, Type(weight.dtype, weight.shape or (1,)))
    low = Lowering([source], [out], weight.name)
    nest = low.nest()
    index = nest.axes(rows)
    scale: Expr | None = None
    count = code.header(weight)
    stored_index = (index[0] + nest.number(piece.start), *index[1:])
    if count:
        channel = (
            stored_index[weight.channel_axis]
            if count > 1 and weight.channel_axis is not None
            else const(0, INT)
        )
        scale = nest.load(View(HEADER, Type("float32", (count,))), [channel])
    value = code.decode(nest.load(source, index), scale)
    if destination.panel is None:
        nest.store(out, value, stored_index)
    else:
        view, where = _panelled(out, destination, stored_index, nest.argument)
        nest.store(view, value, where)
    nest.done()
    return canonicalize(low.calls[0])


def panelled_call(call: NestCall, destination: Destination) -> NestCall:
    """A call with one output, stored in the layout that its reader requests."""
    if destination.panel is None:
        return call
    (view,), (out,) = call.outputs, call.nest.outputs
    panelled = [
        (value, _panelled(view, destination, index, lambda size: const(size, INT)))
        for value, index in out.stores
    ]
    stores = [(value, tuple(index)) for value, (_, index) in panelled]
    nest = replace(
        call.nest, outputs=(make_output(Operand(out.operand.dtype, len(stores[0][1])), stores),)
    )
    return replace(call, nest=nest, outputs=(panelled[0][1][0],))


def _panelled(
    out: View,
    destination: Destination,
    stored_index: tuple[Expr, ...],
    number: Callable[[int], Expr],
) -> tuple[View, list[Expr]]:
    """The panel as a dense Variable (blocks, other dimensions, element in block), and the index of
    an element in it. `number` turns the block size into an expression, so that one kernel stores
    panels of any block size.
    """
    panel = destination.panel
    assert panel is not None
    kernel_index = _kernel_index(stored_index, out.shape, destination.shape, number)
    blocks = -(-destination.shape[panel.dim] // panel.block)
    shape = (blocks, *(destination.shape[dim] for dim in panel.order), panel.block)
    along, shift, mask = (
        kernel_index[panel.dim],
        number(panel.block.bit_length() - 1),
        number(panel.block - 1),
    )
    index = [
        apply("shr", along, shift),
        *(kernel_index[dim] for dim in panel.order),
        apply("band", along, mask),
    ]
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
