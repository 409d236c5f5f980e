"""The init program: one call per piece of weights, which decodes it and stores it in the layout
that the kernels read.
"""

from webkiln.ir.types import Type, itemsize
from webkiln.lower.canonicalize import canonicalize
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, Expr, const
from webkiln.nest.program import PanelLayout
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
