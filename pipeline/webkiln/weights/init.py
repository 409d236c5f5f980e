"""The init program: one call per piece of weights, which decodes it and stores it in the layout
that the kernels read.
"""

from math import prod

from webkiln.ir.types import Type, itemsize
from webkiln.lower.canonicalize import canonicalize
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, UINT, Expr, apply, const
from webkiln.nest.program import PanelLayout
from webkiln.nest.schedule import Panel
from webkiln.nest.steps import NestCall, View
from webkiln.nest.target import Target
from webkiln.plan.panels import panel_store
from webkiln.plan.storage import stored_call
from webkiln.weights.encoding import BY_NAME, storage_dtype
from webkiln.weights.shards import Piece

HEADER, ELEMENTS = "header", "elements"


def decode_call(piece: Piece, layout: PanelLayout | None) -> NestCall:
    """The call that reads `ELEMENTS` (and the scales, `HEADER`) and writes the Variable
    `piece.weight.name`, in the layout that its readers request.
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
    if layout is None:
        nest.store(out, value, stored_index)
    else:
        view, where = panel_store(out, layout, stored_index, nest.argument)
        nest.store(view, value, where)
    nest.done()
    return canonicalize(low.calls[0])


def copied_halves(piece: Piece, layout: PanelLayout | None) -> NestCall | None:
    """The call that copies a piece of float16 elements, two to a word, for readers that hold them
    so. None for other elements, and where a word would have elements of two pieces.
    """
    weight, across = piece.weight, prod(piece.weight.shape[1:])
    before, count = piece.start * across, piece.rows * across
    if storage_dtype(weight, BY_NAME[piece.encoding]) != "float16" or len(weight.shape) < 2:
        return None
    if layout is None:
        if before % 2 or count % 2:
            return None
        source = View(ELEMENTS, Type("uint32", (count // 2,)))
        out = View(weight.name, Type("uint32", (weight.shape[0] * across // 2,)))
        low = Lowering([source], [out], weight.name)
        nest = low.nest()
        (word,) = nest.axes(source.shape)
        nest.store(out, nest.load(source, [word]), [word + nest.number(before // 2)])
    else:
        depth = weight.shape[0]
        turned = Panel(0, 1, (0,), 1, layout.panel.together)
        if layout.panel != turned or layout.shape != (depth, across):
            return None
        if piece.start % 2 or piece.rows % 2 or depth % (2 * turned.together):
            return None
        source = View(ELEMENTS, Type("uint16", (piece.rows, across)))
        out = View(weight.name, Type("uint32", (across, depth // 2)))
        low = Lowering([source], [out], weight.name)
        nest = low.nest()
        pair, column = nest.axes((piece.rows // 2, across))
        first, second = (nest.load(source, [pair * 2 + n, column]) for n in range(2))
        value = apply("bor", first, apply("shl", second, const(16, UINT)))
        nest.store(out, value, [column, pair + nest.number(piece.start // 2)])
    nest.done()
    return canonicalize(low.calls[0])


def decoding_call(
    piece: Piece, layout: PanelLayout | None, target: Target
) -> tuple[NestCall, str | None]:
    """The call that decodes a piece of weights, and the 64-bit dtype of its elements if they are
    narrowed before decoding.
    """
    raw = decode_call(piece, layout)
    elements = next(view.type.dtype for view in raw.inputs if view.name == ELEMENTS)
    narrow = target.stored(elements) != elements and itemsize(elements) == 8
    return stored_call(raw, target, {HEADER} if narrow else {HEADER, ELEMENTS}), (
        elements if narrow else None
    )
