"""The init program: one call per piece that decodes it and stores it in the layout that the kernels
want.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from webkiln.ir.types import Type
from webkiln.lower.canonicalize import tidy
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
    """How a weight lies in memory: its shape as the kernels see it, and the panel that they read,
    if any.
    """

    shape: tuple[int, ...]
    panel: Panel | None


def decode_call(piece: Piece, destination: Destination) -> NestCall:
    """Read `ELEMENTS` (and the scales, `HEADER`), write the Variable `piece.weight.name`."""
    weight, code = piece.weight, BY_NAME[piece.encoding]
    rows = (piece.rows, *weight.shape[1:]) if weight.shape else (1,)
    source = View(ELEMENTS, Type(storage_dtype(weight, code), rows))
    out = View(weight.name, Type(weight.dtype, weight.shape or (1,)))
    low = Lowering([source], [out], weight.name)
    nest = low.nest()
    index = nest.axes(rows)
    scale: Expr | None = None
    count = code.header(weight)
    place = (index[0] + nest.number(piece.start), *index[1:])
    if count:
        channel = (
            place[weight.channel_axis]
            if count > 1 and weight.channel_axis is not None
            else const(0, INT)
        )
        scale = nest.load(View(HEADER, Type("float32", (count,))), [channel])
    value = code.decode(nest.load(source, index), scale)
    if destination.panel is None:
        nest.store(out, value, place)
    else:
        view, where = _panelled(out, destination, place, nest.argument)
        nest.store(view, value, where)
    nest.done()
    return tidy(low.calls[0])


def panelled_call(call: NestCall, destination: Destination) -> NestCall:
    """A call of one output, stored in the layout that its reader wants."""
    if destination.panel is None:
        return call
    (view,), (out,) = call.outputs, call.nest.outputs
    moved = [
        (value, _panelled(view, destination, index, lambda size: const(size, INT)))
        for value, index in out.stores
    ]
    stores = [(value, tuple(index)) for value, (_, index) in moved]
    nest = replace(
        call.nest, outputs=(make_output(Operand(out.operand.dtype, len(stores[0][1])), stores),)
    )
    return replace(call, nest=nest, outputs=(moved[0][1][0],))


def _panelled(
    out: View, destination: Destination, place: tuple[Expr, ...], number: Callable[[int], Expr]
) -> tuple[View, list[Expr]]:
    """The panel as a dense Variable (blocks, other dimensions, element in block) and the index of
    an
    element in it, in which `number` says what its block is, so that panels of other blocks are
    stored by the same kernel.
    """
    panel = destination.panel
    assert panel is not None
    seen = _seen_index(place, out.shape, destination.shape, number)
    blocks = -(-destination.shape[panel.dim] // panel.block)
    shape = (blocks, *(destination.shape[dim] for dim in panel.order), panel.block)
    along, shift, mask = (
        seen[panel.dim],
        number(panel.block.bit_length() - 1),
        number(panel.block - 1),
    )
    index = [
        apply("shr", along, shift),
        *(seen[dim] for dim in panel.order),
        apply("band", along, mask),
    ]
    return View(out.name, Type(out.type.dtype, shape)), index


def _seen_index(
    place: tuple[Expr, ...],
    stored: tuple[int, ...],
    seen: tuple[int, ...],
    number: Callable[[int], Expr],
) -> list[Expr]:
    """An element's index in the shape that the kernels see: they drop sizes of 1, merge neighbours
    and split groups off.
    """
    index: list[Expr] = []
    rest = list(zip(place, stored, strict=True))
    wanted = list(seen)
    while wanted:
        sizes: list[int] = []
        parts: list[tuple[Expr, int]] = []
        here, covered = 1, 1
        while not sizes or here != covered:
            if (sizes and here < covered) or not sizes:
                sizes.append(wanted.pop(0))
                here *= sizes[-1]
            else:
                parts.append(rest.pop(0))
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
