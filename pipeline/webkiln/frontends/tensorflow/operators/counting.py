"""Raw operators for histograms, segments and classification losses.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Mapping
from math import prod, sqrt

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, known
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import segments
from webkiln.ops.functional.indexing import one_hot
from webkiln.ops.pieces import cast, element, largest, reshaped, stacked, total


def sorted_segment(reduction: str) -> NodeHandler:
    """`Segment*` with constant segment ids. Empty segments are 0, or 1 for products."""

    def handler(call: NodeCall) -> Tensor:
        b, x, ids = call.builder, call.tensor(0), call.numbers(1)
        count = int(ids[-1]) + 1 if len(ids) else 0
        result: Tensor = segments.segment("add" if reduction == "mean" else reduction)(
            b, x, call.tensor(1), count
        )
        sizes = np.bincount(ids, minlength=count)
        shape = (count, *(1,) * (x.type.rank - 1))
        if reduction == "mean":
            return result / call.constant(np.maximum(sizes, 1).reshape(shape), x.dtype)
        if reduction in ("add", "mul") or sizes.all():
            return result
        return call.op(
            "Where", [call.constant((sizes == 0).reshape(shape), "bool"), call.like(0, x), result]
        )

    return handler


def counts(call: NodeCall) -> Tensor:
    """`DenseBincount`, `Bincount`: the count of each number below a size, or the sum of its
    weights; for a matrix, by row.
    """
    is_dense = call.spec.op == "DenseBincount"
    b, x, (size,), weights = call.builder, call.tensor(0), call.sizes(1), call.tensor(2)
    rows = x if is_dense else reshaped(b, x, (x.type.size,))
    axis, dtype = rows.type.rank - 1, weights.dtype
    if call.flag("binary_output"):
        return cast(b, largest(b, one_hot(b, rows, size, dtype="int32"), axis), dtype)
    if weights.type.size == 0:
        return cast(b, total(b, one_hot(b, rows, size, dtype="int32"), axis), dtype)
    columns = reshaped(b, weights, (*rows.shape, 1))
    return total(
        b,
        b.op("Where", [one_hot(b, rows, size, dtype="bool"), columns, call.like(0, columns)]),
        axis,
    )


def histogram(call: NodeCall) -> Tensor:
    """The number of values in each bin of equal width. Values outside are counted in the first or
    last bin.
    """
    b, (bins,) = call.builder, call.integers(2)
    x, ends = call.tensor(0), call.tensor(1)
    low, high = (element(b, ends, 0, number) for number in (0, 1))
    bin_index = b.op(
        "Floor",
        [
            cast(b, reshaped(b, x, (x.type.size,)) - low, "float32")
            / cast(b, high - low, "float32")
            * float(bins)
        ],
    )
    bin_index = cast(b, b.op("Clip", [bin_index], {"min": 0.0, "max": float(bins - 1)}), "int32")
    return cast(
        b, total(b, one_hot(b, bin_index, bins, dtype="int32"), 0), call.attr("dtype", "int32")
    )


def nth(call: NodeCall) -> Tensor:
    """The n-th smallest element of each row."""
    (index,) = call.sizes(1)
    (values, _) = call.builder.ops(
        "Sort",
        [call.tensor(0)],
        {"axis": call.type(0).rank - 1, "descending": call.flag("reverse")},
    )
    return element(call.builder, values, values.type.rank - 1, index)


def unraveled(call: NodeCall) -> Tensor:
    """[axes, ...]: multi-dimensional indices for flat indices in a known shape."""
    b, flat, sizes = call.builder, call.tensor(0), [int(size) for size in call.numbers(1)]
    coordinates = []
    for axis, size in enumerate(sizes):
        stride = call.like(prod(sizes[axis + 1 :]), flat)
        coordinates.append(b.op("Mod", [b.op("FloorDiv", [flat, stride]), call.like(size, flat)]))
    return stacked(b, coordinates, 0)


def stitched(call: NodeCall) -> Tensor:
    """`DynamicStitch` with constant indices. Of duplicates, the last one counts."""
    b, half = call.builder, len(call) // 2
    indices = [call.numbers(number) for number in range(half)]
    rows = []
    for number, part_indices in enumerate(indices):
        x = call.tensor(half + number)
        rows.append(reshaped(b, x, (part_indices.size, *x.shape[part_indices.ndim :])))
    flat = np.concatenate([part_indices.ravel() for part_indices in indices])
    sources = np.full(flat.max(initial=-1) + 1, -1)
    sources[flat] = np.arange(len(flat))
    if (sources < 0).any():
        raise call.unsupported(
            "leaves out elements, which then have no value", "Provide every index from 0"
        )
    joined = rows[0] if len(rows) == 1 else b.op("Concat", rows, {"axis": 0})
    return b.op("Gather", [joined, b.constant(sources, "int32")], {"axis": 0})


def different(call: NodeCall) -> list[GraphValue]:
    """`ListDiff` of constant lists: the elements that the second lacks, and their indices."""
    x, is_retained = call.numbers(0), ~np.isin(call.numbers(0), call.numbers(1))
    return [
        known(x[is_retained], call.type(0).dtype),
        known(np.flatnonzero(is_retained), call.attr("out_idx", "int32")),
    ]


def cross_entropy(call: NodeCall) -> list[Tensor]:
    """The loss of each row, and its gradient. Labels are class probabilities, or class indices."""
    b, x = call.builder, call.tensor(0)
    axis = {"axis": x.type.rank - 1}
    labels = call.tensor(1)
    if call.spec.op.startswith("Sparse"):
        labels = one_hot(b, labels, x.shape[-1], dtype=x.dtype)
    return [
        -total(b, labels * b.op("LogSoftmax", [x], axis), -1),
        b.op("Softmax", [x], axis) - labels,
    ]


def normal_quantile(call: NodeCall) -> Tensor:
    return call.op("ErfInv", [call.tensor(0) * 2.0 - 1.0]) * sqrt(2)


COUNTING: Mapping[str, NodeHandler] = {
    **{
        f"Segment{name}": sorted_segment(kind)
        for name, kind in (
            ("Sum", "add"),
            ("Mean", "mean"),
            ("Max", "max"),
            ("Min", "min"),
            ("Prod", "mul"),
        )
    },
    "DenseBincount": counts,
    "Bincount": counts,
    "HistogramFixedWidth": histogram,
    "NthElement": nth,
    "UnravelIndex": unraveled,
    "DynamicStitch": stitched,
    "ParallelDynamicStitch": stitched,
    "ListDiff": different,
    "SoftmaxCrossEntropyWithLogits": cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": cross_entropy,
    "Ndtri": normal_quantile,
}
