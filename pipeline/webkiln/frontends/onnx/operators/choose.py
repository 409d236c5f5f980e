"""Selection and sorting; most of these operators have a data-dependent number of outputs."""

import itertools

import numpy as np

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast, part
from webkiln.frontends.onnx.operators.shape import reshaped
from webkiln.frontends.onnx.vocabulary_readers import PREPARE
from webkiln.ir.dim import Size, is_symbolic, known
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import detection


def top_k(call: NodeCall) -> list[Tensor]:
    """The first `k` elements in sorted order, and their indices."""
    x = call.tensor(0)
    axis = call.axis(call.attr("axis", -1), x.type.rank)
    count = call.sizes(1)[0] if call.version >= 10 else call.attr("k")
    ordered = call.builder.ops(
        "Sort", [x], {"axis": axis, "descending": bool(call.attr("largest", 1))}
    )
    return [part(call, item, axis, 0, count) for item in ordered]


def non_zero(call: NodeCall) -> Tensor:
    return call.builder.nonzero(call.tensor(0))


def compress(call: NodeCall) -> Tensor:
    """The slices whose condition is true; missing conditions are false."""
    x, condition = call.tensor(0), call.tensor(1)
    axis = call.attr("axis")
    if axis is None:
        x, axis = reshaped(call, x, (x.type.size,)), 0
    axis = call.axis(axis, x.type.rank)
    if call.operand(1).is_constant:
        chosen = call.constant(np.flatnonzero(call.numbers(1)), "int64")
        return call.op("Gather", [x, chosen], {"axis": axis})
    indices = call.builder.nonzero(condition)
    return call.op("Gather", [x, reshaped(call, indices, indices.shape[1:])], {"axis": axis})


def unique(call: NodeCall) -> list[Tensor]:
    x, axis = call.tensor(0), call.attr("axis")
    attrs = {
        "axis": None if axis is None else call.axis(axis, x.type.rank),
        "sorted": bool(call.attr("sorted", 1)),
    }
    return list(call.builder.ops("Unique", [x], attrs | {"count": call.builder.data_dependent()}))


def non_max_suppression(call: NodeCall) -> Tensor:
    """Operands: boxes, scores, maximum number per class, overlap threshold, score threshold.
    Without a score threshold, every box is a candidate.
    """
    boxes, scores = call.tensor(0), call.tensor(1)
    most = call.tensor(2) if call.has(2) else call.constant(0, "int64")
    overlap = call.tensor(3) if call.has(3) else call.constant(0.0)
    least = call.tensor(4) if call.has(4) else call.constant(float("-inf"))
    return detection.non_max_suppression(
        call.builder,
        boxes,
        scores,
        cast(call, most, "int64"),
        overlap,
        least,
        center=call.flag("center_point_box"),
    )


def ngrams(call: NodeCall) -> Tensor:
    """The number of occurrences of each n-gram of a pool in each row, with a bounded number of
    skipped elements.
    """
    x, pool = cast(call, call.tensor(0), "int64"), call.attr("pool_int64s")
    if pool is None:
        raise call.unsupported("counts words of a tensor that has numbers", PREPARE)
    rows = reshaped(call, x, (1, x.shape[0])) if x.type.rank == 1 else x
    starts, columns = [*call.attr("ngram_counts"), len(pool)], call.attr("ngram_indexes")
    width = max(columns) + 1
    other = next(number for number in itertools.count() if number not in set(pool))
    counts: list[Tensor] = []
    for length, (first, last) in enumerate(itertools.pairwise(starts), 1):
        entries = (last - first) // length
        total = call.op(
            "Broadcast", [call.constant(0, "int32")], {"shape": (rows.shape[0], entries)}
        )
        if call.attr("min_gram_length") <= length <= call.attr("max_gram_length") and entries:
            for skip in range(_skips(call, rows.shape[1], length)):
                found = _matches(call, rows, pool[first:last], length, skip + 1, other)
                total = call.op("Add", [total, found])
        counts.append(total)
    all_counts = call.op("Concat", counts, {"axis": 1})
    zeros = call.op("Broadcast", [call.constant(0, "int32")], {"shape": (rows.shape[0], width)})
    indices = call.op(
        "Broadcast", [call.constant(list(columns), "int64")], {"shape": all_counts.shape}
    )
    y = cast(call, call.op("ScatterElements", [zeros, indices, all_counts], {"axis": 1}), "float32")
    return reshaped(call, _weighed(call, y), (*x.shape[:-1], width))


def _skips(call: NodeCall, columns: Size, length: int) -> int:
    """The number of skip distances at which an n-gram may fit into a row."""
    allowed = int(call.attr("max_skip_count")) + 1
    if length == 1:
        return 1
    return allowed if is_symbolic(columns) else min(allowed, (columns - 1) // (length - 1))


def _matches(
    call: NodeCall, rows: Tensor, entries: tuple[int, ...], length: int, step: int, other: int
) -> Tensor:
    """The number of occurrences of each n-gram with elements `step` apart, [rows, n-grams]. Rows
    are extended by `other`, which no n-gram contains, since they may be shorter than an n-gram.
    """
    count, columns = rows.shape
    equal: Tensor | None = None
    for position in range(length):
        window = rows
        if position:
            shape = {"shape": (count, position * step)}
            end = call.op("Broadcast", [call.constant(other, "int64")], shape)
            extended = call.op("Concat", [rows, end], {"axis": 1})
            window = part(call, extended, 1, position * step, columns)
        words = call.constant(list(entries[position::length]), "int64")
        same = call.op("Equal", [reshaped(call, window, (count, columns, 1)), words])
        equal = same if equal is None else call.op("And", [equal, same])
    assert equal is not None
    return call.op("ReduceSum", [cast(call, equal, "int32")], {"axes": (1,), "keepdims": False})


def _weighed(call: NodeCall, counts: Tensor) -> Tensor:
    mode, weights = call.attr("mode"), call.attr("weights")
    if mode != "TF":
        counts = call.op("Min", [counts, call.constant(1.0)])
    if mode == "TF" or weights is None:
        return counts
    ordered = [0.0] * known(counts.shape[1], "the number of n-grams")
    for column, weight in zip(call.attr("ngram_indexes"), weights, strict=True):
        ordered[column] = weight
    return call.op("Mul", [counts, call.constant(ordered, "float32")])


CHOOSE: dict[str, NodeHandler] = {
    "TopK": top_k,
    "NonZero": non_zero,
    "Compress": compress,
    "Unique": unique,
    "NonMaxSuppression": non_max_suppression,
    "TfIdfVectorizer": ngrams,
}
