"""Raw operators that take and put elements by indices. https://www.tensorflow.org/api_docs/python/tf/raw_ops"""

from collections.abc import Mapping

from webkiln.frontends.keras.operations.indexing import scatter, scatter_update
from webkiln.frontends.keras.operations.nn import one_hot as rows_of_one
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, iota


def gather(call: NodeCall) -> Tensor:
    """`GatherV2` along an axis, with `batch_dims` axes that both operands begin with; `Gather`, `ResourceGather` along the first."""
    x, indices = call.tensor(0), call.tensor(1)
    axis = call.axis(call.sizes(2)[0], x.type.rank) if call.has(2) else 0
    batch = call.attr("batch_dims", 0)
    batch = batch + indices.type.rank if batch < 0 else batch
    if not batch:
        return call.op("Gather", [x, cast(call.builder, indices, "int32")], {"axis": axis})
    return _gathered_by_row(call, x, indices, axis, batch)


def _gathered_by_row(call: NodeCall, x: Tensor, indices: Tensor, axis: int, batch: int) -> Tensor:
    """Rows of both operands belong together: the axes before `axis` are moved to the front, and the whole is one axis for all rows."""
    b, rank = call.builder, x.type.rank
    between = list(range(batch, axis))
    order = (*range(batch), axis, *between, *range(axis + 1, rank))
    moved = call.op("Transpose", [x], {"perm": order}) if between else x
    rows = 1
    for size in x.shape[:batch]:
        rows = rows * size
    size, rest = x.shape[axis], moved.shape[batch + 1 :]
    flat = call.op("Reshape", [moved], {"shape": (rows * size, *rest)})
    wide = indices.shape[batch:]
    begin = iota(b, rows, "int32") * size
    shape = (rows, *(1,) * len(wide))
    places = b.binary(
        "Add", call.op("Reshape", [cast(b, indices, "int32")], {"shape": (rows, *wide)}), call.op("Reshape", [begin], {"shape": shape})
    )
    found = call.op("Gather", [flat, places], {"axis": 0})
    found = call.op("Reshape", [found], {"shape": (*x.shape[:batch], *wide, *rest)})
    if not between:
        return found
    first = batch + len(wide)
    back = (*range(batch), *range(first, first + len(between)), *range(batch, first), *range(first + len(between), found.type.rank))
    return call.op("Transpose", [found], {"perm": back})


def gather_nd(call: NodeCall) -> Tensor:
    return call.op("GatherND", [call.tensor(0), cast(call.builder, call.tensor(1), "int32")], {"batch": 0})


def one_hot(call: NodeCall) -> Tensor:
    index, (depth,), on, off = call.tensor(0), call.sizes(1), call.tensor(2), call.tensor(3)
    is_there = rows_of_one(call.builder, index, depth, call.attr("axis", -1), "bool")
    return call.op("Where", [is_there, on, off])


def scatter_nd(call: NodeCall) -> Tensor:
    return scatter(call.builder, call.tensor(0), call.tensor(1), call.sizes(2))


def tensor_scatter(reduction: str) -> NodeHandler:
    return lambda call: scatter_update(call.builder, call.tensor(0), call.tensor(1), call.tensor(2), reduction)


INDEXING: Mapping[str, NodeHandler] = {
    "GatherV2": gather, "Gather": gather, "ResourceGather": gather, "GatherNd": gather_nd, "ResourceGatherNd": gather_nd, "OneHot": one_hot,
    "ScatterNd": scatter_nd, "TensorScatterUpdate": tensor_scatter("none"), "TensorScatterAdd": tensor_scatter("add"),
    "TensorScatterMax": tensor_scatter("max"), "TensorScatterMin": tensor_scatter("min"),
}  # fmt: skip
