"""Reductions of segments, and top-k."""

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import Argument, Operation, operands, tensor
from webkiln.ops.pieces import cast, filled, part, reshaped, total

EMPTY = {"add": 0.0, "mul": 1.0}


def _empty_value(reduction: str, dtype: str) -> float:
    """The value of an empty segment: for extremes, the lowest or highest finite number."""
    if reduction in EMPTY:
        return EMPTY[reduction]
    limits = np.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)
    return (
        float(limits.min if reduction == "max" else limits.max)
        if is_float(dtype)
        else int(limits.min if reduction == "max" else limits.max)
    )


def segment(reduction: str) -> Operation:
    """Reduce rows of data by segment. Rows with a negative segment, or from `num_segments` on, are
    ignored.
    """

    def apply(
        b: GraphBuilder,
        data: Argument,
        segment_ids: Argument,
        num_segments: int | None = None,
        **options: bool,
    ) -> Tensor:
        x, ids = tensor(b, data), cast(b, tensor(b, segment_ids), "int32")
        count: Size | None = num_segments
        if count is None and (reduction != "add" or options.get("sorted")):
            raise ShapeError(
                f"{b.layer}: the number of segments depends on the data; give num_segments,"
                " with sorted=False"
            )
        if count is None:
            *_, found = b.ops("Unique", [ids], {"axis": None, "count": b.data_dependent()})
            (count,) = found.shape
        start = filled(b, _empty_value(reduction, x.dtype), x.dtype, (count, *x.shape[1:]))
        known = b.op(
            "Where", [b.binary("Less", ids, 0), b.constant(np.iinfo(np.int32).max, "int32"), ids]
        )
        return b.op(
            "ScatterND", [start, reshaped(b, known, (*known.shape, 1)), x], {"reduction": reduction}
        )

    return apply


def top_k(b: GraphBuilder, x: Argument, k: Size, **_: bool) -> list[Tensor]:
    """The largest elements along the last axis, and their indices; of equal ones, the first."""
    x = tensor(b, x)
    axis = x.type.rank - 1
    values, indices = (
        part(b, item, axis, 0, k) for item in b.ops("Sort", [x], {"axis": axis, "descending": True})
    )
    return [values, cast(b, indices, "int32")]


def in_top_k(b: GraphBuilder, targets: Argument, predictions: Argument, k: int) -> Tensor:
    """Whether fewer than k predictions exceed that of the target; false if one is not finite or the
    class is invalid.
    """
    x, ids = tensor(b, predictions), tensor(b, targets)
    column = reshaped(b, ids, (ids.shape[0], 1))
    own = b.op("GatherElements", [x, column], {"axis": 1})
    above = total(b, cast(b, b.op("Greater", [x, own]), "int32"), 1)
    non_finite = b.op(
        "Not", [b.binary("LessEqual", b.op("Abs", [x]), float(np.finfo(x.dtype).max))]
    )
    finite = b.binary("Equal", total(b, cast(b, non_finite, "int32"), 1), 0)
    valid = b.op("And", [b.binary("GreaterEqual", ids, 0), b.binary("Less", ids, x.shape[1])])
    return b.op("And", [b.binary("Less", above, k), b.op("And", [finite, valid])])


def cdist(b: GraphBuilder, x: Argument, y: Argument) -> Tensor:
    """The distances between rows."""
    one, two = operands(b, x, y, floating=True)
    one, two = (
        reshaped(b, one, (*one.shape[:-1], 1, one.shape[-1])),
        reshaped(b, two, (*two.shape[:-2], 1, *two.shape[-2:])),
    )
    return b.op("Sqrt", [total(b, b.op("Square", [b.op("Sub", [one, two])]), -1)])
