"""Raw operators for gather, scatter and search.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Mapping, Sequence

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, known
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import indexing
from webkiln.ops.functional.indexing import one_hot as rows_of_one
from webkiln.ops.functional.indexing import scatter, scatter_update
from webkiln.ops.pieces import cast, filled, iota


def gather(call: NodeCall) -> Tensor:
    """`GatherV2` along an axis, with `batch_dims` common leading axes; `Gather` and
    `ResourceGather` along the first.
    """
    x, indices = call.tensor(0), call.tensor(1)
    axis = call.axis(call.integers(2)[0], x.type.rank) if call.has(2) else 0
    batch = call.attr("batch_dims", 0)
    batch = batch + indices.type.rank if batch < 0 else batch
    if not batch:
        return call.op("Gather", [x, cast(call.builder, indices, "int32")], {"axis": axis})
    return _gathered_by_row(call, x, indices, axis, batch)


def _gathered_by_row(call: NodeCall, x: Tensor, indices: Tensor, axis: int, batch: int) -> Tensor:
    """Gather with batch axes: the axes before `axis` are moved to the front, and all are flattened
    to one axis of rows.
    """
    b, rank = call.builder, x.type.rank
    between = list(range(batch, axis))
    order = (*range(batch), axis, *between, *range(axis + 1, rank))
    moved = call.op("Transpose", [x], {"perm": order}) if between else x
    rows: Size = 1
    for size in x.shape[:batch]:
        rows = rows * size
    size, rest = x.shape[axis], moved.shape[batch + 1 :]
    flat = call.op("Reshape", [moved], {"shape": (rows * size, *rest)})
    tail = indices.shape[batch:]
    start = iota(b, rows, "int32") * size
    shape = (rows, *(1,) * len(tail))
    positions = b.binary(
        "Add",
        call.op("Reshape", [cast(b, indices, "int32")], {"shape": (rows, *tail)}),
        call.op("Reshape", [start], {"shape": shape}),
    )
    gathered = call.op("Gather", [flat, positions], {"axis": 0})
    gathered = call.op("Reshape", [gathered], {"shape": (*x.shape[:batch], *tail, *rest)})
    if not between:
        return gathered
    first = batch + len(tail)
    perm = (
        *range(batch),
        *range(first, first + len(between)),
        *range(batch, first),
        *range(first + len(between), gathered.type.rank),
    )
    return call.op("Transpose", [gathered], {"perm": perm})


def gather_nd(call: NodeCall) -> Tensor:
    return call.op(
        "GatherND", [call.tensor(0), cast(call.builder, call.tensor(1), "int32")], {"batch": 0}
    )


def one_hot(call: NodeCall) -> Tensor:
    index, (depth,), on, off = call.tensor(0), call.sizes(1), call.tensor(2), call.tensor(3)
    is_there = rows_of_one(call.builder, index, depth, call.attr("axis", -1), "bool")
    return call.op("Where", [is_there, on, off])


def scatter_nd(call: NodeCall) -> Tensor:
    return scatter(call.builder, call.tensor(0), call.tensor(1), call.sizes(2))


def tensor_scatter(reduction: str) -> NodeHandler:
    return lambda call: scatter_update(
        call.builder, call.tensor(0), call.tensor(1), call.tensor(2), reduction
    )


def where(call: NodeCall) -> Tensor:
    """The indices of non-zero elements, one row each. Their number is data-dependent."""
    b, x = call.builder, call.tensor(0)
    is_there = x if x.dtype == "bool" else b.binary("NotEqual", x, call.like(0, x))
    nonzero = b.nonzero(is_there)
    return b.op("Transpose", [cast(b, nonzero, "int64")], {"perm": (1, 0)})


def unique(call: NodeCall) -> Sequence[Tensor | GraphValue]:
    """The unique elements in the order of their first occurrence, and the index of each element
    among them. `UniqueV2` has a list of at most one axis, and compares slices.
    """
    axes = call.integers(1) if call.has(1) else ()
    if call.operand(0).is_constant and call.type(0).rank == 1:
        return _unique_numbers(call)
    b, x = call.builder, call.tensor(0)
    axis = call.axis(axes[0], x.type.rank) if axes else None
    values, _, positions, *_ = b.ops(
        "Unique", [x], {"axis": axis, "sorted": False, "count": b.data_dependent()}
    )
    return [values, cast(b, positions, call.attr("out_idx", "int32"))]


def _unique_numbers(call: NodeCall) -> list[GraphValue]:
    items = call.numbers(0)
    _, first, inverse = np.unique(items, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [
        known(items[first[order]], call.type(0).dtype),
        known(np.argsort(order)[inverse], call.attr("out_idx", "int32")),
    ]


def reverse_sequence(call: NodeCall) -> Tensor:
    """Reverse the first elements of each row."""
    b, x, lengths = call.builder, call.tensor(0), call.tensor(1)
    along, batch = (
        call.axis(call.attr("seq_dim"), x.type.rank),
        call.axis(call.attr("batch_dim", 0), x.type.rank),
    )
    return indexing.reverse_sequence(b, x, lengths, along, batch)


def bucketize(call: NodeCall) -> Tensor:
    """The number of boundaries that do not exceed each element."""
    b, x, boundaries = call.builder, call.tensor(0), call.attr("boundaries")
    column = b.op("Reshape", [cast(b, x, "float32")], {"shape": (*x.shape, 1)})
    above = b.op("GreaterEqual", [column, call.constant(list(boundaries), "float32")])
    return b.op("ReduceSum", [cast(b, above, "int32")], {"axes": (x.type.rank,), "keepdims": False})


def inverted_permutation(call: NodeCall) -> Tensor:
    b, x = call.builder, call.tensor(0)
    indices = b.op("Reshape", [cast(b, x, "int32")], {"shape": (*x.shape, 1)})
    return b.op(
        "ScatterND",
        [filled(b, 0, x.dtype, x.shape), indices, iota(b, x.shape[0], x.dtype)],
        {"reduction": "none"},
    )


def search_sorted(side: str) -> NodeHandler:
    """`LowerBound`, `UpperBound`: the number of elements in each sorted row that are below a value,
    or not above it.
    """

    def handler(call: NodeCall) -> Tensor:
        b, rows, values = call.builder, call.tensor(0), call.tensor(1)
        row = b.op("Reshape", [rows], {"shape": (rows.shape[0], 1, rows.shape[1])})
        value = b.op("Reshape", [values], {"shape": (*values.shape, 1)})
        before = b.op(
            "ReduceSum",
            [cast(b, b.op(side, [row, value]), "int32")],
            {"axes": (2,), "keepdims": False},
        )
        return cast(b, before, call.attr("out_type", "int32"))

    return handler


INDEXING: Mapping[str, NodeHandler] = {
    "GatherV2": gather,
    "Gather": gather,
    "ResourceGather": gather,
    "GatherNd": gather_nd,
    "ResourceGatherNd": gather_nd,
    "OneHot": one_hot,
    "ScatterNd": scatter_nd,
    "TensorScatterUpdate": tensor_scatter("none"),
    "TensorScatterAdd": tensor_scatter("add"),
    "Where": where,
    "Unique": unique,
    "UniqueV2": unique,
    "ReverseSequence": reverse_sequence,
    "Bucketize": bucketize,
    "InvertPermutation": inverted_permutation,
    "LowerBound": search_sorted("Less"),
    "UpperBound": search_sorted("LessEqual"),
    "TensorScatterSub": lambda call: scatter_update(
        call.builder, call.tensor(0), call.tensor(1), -call.tensor(2), "add"
    ),
    "TensorScatterMax": tensor_scatter("max"),
    "TensorScatterMin": tensor_scatter("min"),
}
