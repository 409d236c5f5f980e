"""Gather, scatter, select and sort."""

from collections.abc import Sequence

import numpy as np

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators.integers import factor, operands, out_dtype
from webkiln.ir.dim import Size
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import indexing
from webkiln.ops.functional.detection import padded_to, selected_boxes
from webkiln.ops.pieces import cast, filled, iota, part, reshaped, transposed


def gather(call: NodeCall) -> Tensor:
    """With batch axes, which x and the indices share, the batch indices are written out."""
    x, indices = call.tensor(0), call.tensor(1)
    axis, batch = call.axis(call.attr("axis", 0), x.type.rank), call.attr("batch_dims", 0)
    batch = batch + indices.type.rank if batch < 0 else batch
    if batch == 0:
        return call.op("Gather", [x, indices], {"axis": axis})
    b = call.builder
    perm = (*range(batch), axis, *(d for d in range(batch, x.type.rank) if d != axis))
    moved = transposed(b, x, perm)
    flat = reshaped(b, indices, (*indices.shape, 1))
    rows = call.op("GatherND", [moved, flat], {"batch": batch})
    rest, count = axis - batch, indices.type.rank - batch
    order = (
        *range(batch),
        *range(batch + count, batch + count + rest),
        *range(batch, batch + count),
        *range(batch + count + rest, rows.type.rank),
    )
    return transposed(b, rows, order)


def embedding_lookup(call: NodeCall) -> Tensor:
    """Operands: indices, rows. Quantized rows become floats."""
    indices, rows = call.tensor(0), call.tensor(1)
    result = call.op("Gather", [rows, indices], {"axis": 0})
    if "scale" not in call.attr("extra", ()):
        return result
    scale = factor(call, "scale")
    if scale.type.rank:
        scale = reshaped(
            call.builder,
            call.op("Gather", [scale, indices], {"axis": 0}),
            (*indices.shape, *[1] * (rows.type.rank - 1)),
        )
    return call.op("Mul", [cast(call.builder, result, "float32"), scale])


def gather_nd(call: NodeCall) -> Tensor:
    return call.op("GatherND", operands(call), {"batch": 0})


def scatter_nd(call: NodeCall) -> Tensor:
    """Operands: indices, updates, the shape. Updates with equal indices are added."""
    indices, updates = call.tensor(0), call.tensor(1)
    if updates.dtype == "bool":
        raise call.unsupported("scatters booleans", "Cast them to numbers")
    start = filled(call.builder, 0, updates.dtype, call.sizes(2))
    return call.op("ScatterND", [start, indices, updates], {"reduction": "add"})


def sparse_to_dense(call: NodeCall) -> Tensor:
    """Operands: indices, the shape, values, the default."""
    b, indices, shape, values = call.builder, call.tensor(0), call.sizes(1), call.tensor(2)
    start = call.op("Broadcast", [reshaped(b, call.tensor(3), ())], {"shape": shape})
    positions = reshaped(b, indices, (indices.type.size // len(shape), len(shape)))
    wide = (
        values
        if values.type.rank
        else call.op("Broadcast", [values], {"shape": (positions.shape[0],)})
    )
    return call.op("ScatterND", [start, positions, wide], {"reduction": "none"})


def dynamic_update_slice(call: NodeCall) -> Tensor:
    """Operands: x, the update, its start. The start is clamped so that the update fits."""
    b, x, update, begins = call.builder, *operands(call)
    if x.type.rank == 0:
        return update
    indices: Tensor | None = None
    rank = x.type.rank
    for axis in range(rank):
        start = cast(b, reshaped(b, part(b, begins, 0, axis, 1), ()), "int32")
        room = b.op(
            "Cast",
            [
                reshaped(
                    b,
                    b.op(
                        "Sizes",
                        [],
                        {"sizes": (x.shape[axis] - update.shape[axis],), "dtype": "int32"},
                    ),
                    (),
                )
            ],
            {"dtype": "int32"},
        )
        clamped = call.op("Max", [call.op("Min", [start, room]), call.constant(0, "int32")])
        own = call.op("Add", [iota(b, update.shape[axis], "int32"), clamped])
        shape = [update.shape[axis] if d == axis else 1 for d in range(rank + 1)]
        wide = b.op("Broadcast", [reshaped(b, own, shape)], {"shape": (*update.shape, 1)})
        indices = wide if indices is None else call.op("Concat", [indices, wide], {"axis": rank})
    assert indices is not None
    return call.op("ScatterND", [x, indices, update], {"reduction": "none"})


def one_hot(call: NodeCall) -> Tensor:
    """Operands: indices, depth, the value at the index, the value elsewhere."""
    b, indices, depth = call.builder, call.tensor(0), call.sizes(1)[0]
    axis = call.axis(call.attr("axis", -1), indices.type.rank + 1)
    same = indexing.is_index(b, cast(b, indices, "int32"), depth, axis)
    on, off = (reshaped(b, call.tensor(index), ()) for index in (2, 3))
    return call.op("Where", [same, on, off])


def select(call: NodeCall) -> Tensor:
    """A condition of rank 1 selects rows."""
    condition, yes, no = operands(call)
    if call.spec.op == "SELECT" and condition.type.rank == 1 and yes.type.rank > 1:
        condition = reshaped(
            call.builder, condition, (condition.shape[0], *[1] * (yes.type.rank - 1))
        )
    return call.op("Where", [condition, yes, no])


def where(call: NodeCall) -> Tensor:
    """The indices of non-zero elements; their number is data-dependent."""
    result = call.builder.nonzero(call.tensor(0))
    return transposed(call.builder, result, (1, 0))


def top_k(call: NodeCall) -> list[Tensor]:
    x, count = call.tensor(0), call.sizes(1)[0]
    axis = x.type.rank - 1
    values, indices = (
        part(call.builder, item, axis, 0, count)
        for item in call.builder.ops("Sort", [x], {"axis": axis, "descending": True})
    )
    return [values, cast(call.builder, indices, out_dtype(call, 1))]


def unique(call: NodeCall) -> list[Tensor]:
    """The unique elements in the order of their first occurrence, and the index of each element
    among them.
    """
    attrs = {"axis": None, "sorted": False, "count": call.builder.data_dependent()}
    values, _, inverse, _ = call.builder.ops("Unique", [call.tensor(0)], attrs)
    return [values, cast(call.builder, inverse, out_dtype(call, 1))]


def combined(call: NodeCall, reduction: str, count: Size) -> Tensor:
    """Reduce rows by segment. Empty segments have the neutral element; for min and max, the extreme
    value of the dtype.
    """
    b, x, ids = call.builder, call.tensor(0), cast(call.builder, call.tensor(1), "int32")
    limits = np.finfo(x.dtype) if is_float(x.dtype) else np.iinfo(x.dtype)
    empty = {"add": 0, "mul": 1, "max": limits.min, "min": limits.max}[reduction]
    start = filled(
        b,
        float(empty) if is_float(x.dtype) else int(empty),
        x.dtype,
        (count, *x.shape[ids.type.rank :]),
    )
    known = call.op(
        "Where", [b.binary("Less", ids, 0), call.constant(np.iinfo(np.int32).max, "int32"), ids]
    )
    return call.op(
        "ScatterND", [start, reshaped(b, known, (*known.shape, 1)), x], {"reduction": reduction}
    )


def segmented(reduction: str) -> NodeHandler:
    return lambda call: combined(call, reduction, call.sizes(2)[0])


def segment_sum(call: NodeCall) -> Tensor:
    if not call.operand(1).is_constant:
        raise call.unsupported(
            "has a data-dependent number of segments",
            "Use UNSORTED_SEGMENT_SUM with a constant number of segments",
        )
    return combined(call, "add", int(call.numbers(1)[-1]) + 1)


def reverse_sequence(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    time, batch = (
        call.axis(call.attr("seq_dim"), x.type.rank),
        call.axis(call.attr("batch_dim", 0), x.type.rank),
    )
    return indexing.reverse_sequence(call.builder, x, call.tensor(1), time, batch)


def matrix_diag(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    wide = call.op(
        "Broadcast", [reshaped(call.builder, x, (*x.shape, 1))], {"shape": (*x.shape, x.shape[-1])}
    )
    return call.op("Where", [_diagonal(call, x.shape[-1], x.shape[-1]), wide, call.like(0, x)])


def matrix_set_diag(call: NodeCall) -> Tensor:
    x, diagonal = call.tensor(0), call.tensor(1)
    rows, columns = x.shape[-2:]
    b = call.builder
    if rows <= columns:
        wide = reshaped(b, diagonal, (*diagonal.shape, 1))
    else:
        wide = reshaped(b, diagonal, (*diagonal.shape[:-1], 1, diagonal.shape[-1]))
    return call.op("Where", [_diagonal(call, rows, columns), wide, x])


def _diagonal(call: NodeCall, rows: Size, columns: Size) -> Tensor:
    b = call.builder
    return call.op(
        "Equal", [reshaped(b, iota(b, rows, "int32"), (rows, 1)), iota(b, columns, "int32")]
    )


def bucketize(call: NodeCall) -> Tensor:
    """The number of boundaries that do not exceed each element."""
    x, boundaries = call.tensor(0), call.attr("boundaries", ())
    if not boundaries:
        return call.op("Broadcast", [call.constant(0, "int32")], {"shape": x.shape})
    wide = reshaped(call.builder, cast(call.builder, x, "float32"), (*x.shape, 1))
    above = call.op("GreaterEqual", [wide, call.constant(np.array(boundaries, np.float32))])
    return call.op(
        "ReduceSum",
        [cast(call.builder, above, "int32")],
        {"axes": (x.type.rank,), "keepdims": False},
    )


def non_max_suppression(call: NodeCall) -> Sequence[Tensor]:
    """Operands: boxes, scores, the maximum count, the overlap, the minimum score and, in version 5,
    sigma, which must be 0. Unused outputs are 0.
    """
    b, boxes, scores = call.builder, call.tensor(0), call.tensor(1)
    soft = call.spec.op == "NON_MAX_SUPPRESSION_V5"
    if soft and float(call.numbers(5).reshape(())) != 0:
        raise call.unsupported("uses soft suppression (sigma)", "Set its sigma to 0")
    most = call.sizes(2)[0]
    chosen = selected_boxes(
        b, boxes, scores, call.constant([most], "int64"), call.tensor(3), call.tensor(4)
    )
    chosen = cast(b, chosen, "int32")
    indices = padded_to(b, chosen, most)
    count = reshaped(b, b.op("Sizes", [], {"sizes": chosen.shape, "dtype": "int32"}), ())
    if not soft:
        return [indices, count]
    return [indices, padded_to(b, call.op("Gather", [scores, chosen], {"axis": 0}), most), count]


INDEXING: dict[str, NodeHandler] = {
    "GATHER": gather,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "GATHER_ND": gather_nd,
    "SCATTER_ND": scatter_nd,
    "SPARSE_TO_DENSE": sparse_to_dense,
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
    "ONE_HOT": one_hot,
    "SELECT": select,
    "SELECT_V2": select,
    "WHERE": where,
    "TOPK_V2": top_k,
    "UNIQUE": unique,
    "SEGMENT_SUM": segment_sum,
    "UNSORTED_SEGMENT_SUM": segmented("add"),
    "UNSORTED_SEGMENT_PROD": segmented("mul"),
    "UNSORTED_SEGMENT_MAX": segmented("max"),
    "UNSORTED_SEGMENT_MIN": segmented("min"),
    "REVERSE_SEQUENCE": reverse_sequence,
    "MATRIX_DIAG": matrix_diag,
    "MATRIX_SET_DIAG": matrix_set_diag,
    "BUCKETIZE": bucketize,
    "NON_MAX_SUPPRESSION_V4": non_max_suppression,
    "NON_MAX_SUPPRESSION_V5": non_max_suppression,
}
