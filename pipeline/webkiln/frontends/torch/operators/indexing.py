"""Gather and scatter."""

from collections.abc import Sequence
from math import inf

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import broadcast
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.indexing import is_index
from webkiln.ops.pieces import filled, iota, part, reshaped, stacked, total, transposed, widened


def index_select(c: AtenCall) -> Tensor:
    x = c.tensor()
    if not x.type.rank:
        return c.op("Identity", x)
    return c.op("Gather", x, c.tensor("index"), axis=c.axis(c.number("dim"), x.type.rank))


def gather(c: AtenCall) -> Tensor:
    x, indices = c.tensor(), c.tensor("index")
    if not x.type.rank:
        return widened(c.b, x, indices.shape)
    return c.op("GatherElements", x, indices, axis=c.axis(c.number("dim"), x.type.rank))


def take_along(c: AtenCall) -> Tensor:
    x, indices = c.tensor(), c.tensor("indices")
    if not c.has("dim"):
        return c.op(
            "Gather",
            reshaped(c.b, x, (x.type.size,)),
            reshaped(c.b, indices, (indices.type.size,)),
            axis=0,
        )
    axis = c.axis(c.number("dim"), x.type.rank)
    wide = [
        max(a, b, key=lambda size: (is_symbolic(size), size if not is_symbolic(size) else 0))
        for a, b in zip(x.shape, indices.shape, strict=True)
    ]
    wide[axis] = indices.shape[axis]
    source = widened(c.b, x, [x.shape[axis] if d == axis else size for d, size in enumerate(wide)])
    return c.op("GatherElements", source, widened(c.b, indices, wide), axis=axis)


def take(c: AtenCall) -> Tensor:
    x = c.tensor()
    return c.op("Gather", reshaped(c.b, x, (x.type.size,)), c.tensor("index"), axis=0)


def embedding(c: AtenCall) -> Tensor:
    return c.op("Gather", c.tensor("weight"), c.tensor("indices"), axis=0)


def embedding_bag(c: AtenCall) -> list[Tensor]:
    """The sum, mean or maximum of each bag of rows; `offsets` are the starts. An empty bag is 0."""
    weight, indices, offsets = c.tensor("weight"), c.tensor("indices"), c.tensor("offsets")
    if c.get("padding_idx", -1) not in (-1, None):
        raise c.unsupported("uses padding_idx", "Export it without padding_idx")
    rows = c.op("Gather", weight, indices, axis=0)
    mode, count = c.get("mode", 0), indices.shape[0]
    bags = offsets.shape[0] - int(bool(c.get("include_last_offset", False)))
    starts = reshaped(c.b, c.cast(part(c.b, offsets, 0, 0, bags), "int64"), (bags, 1))
    numbers = iota(c.b, count, "int64")
    begun = c.op("GreaterEqual", numbers, starts)
    following = (
        part(c.b, offsets, 0, 1, bags - 1)
        if not c.get("include_last_offset", False)
        else part(c.b, offsets, 0, 1, bags)
    )
    ends = [c.cast(following, "int64")]
    if not c.get("include_last_offset", False):
        ends.append(reshaped(c.b, c.scalar(count, "int64"), (1,)))
    last = reshaped(c.b, ends[0] if len(ends) == 1 else c.op("Concat", *ends, axis=0), (bags, 1))
    inside = c.op("And", begun, c.op("Less", numbers, last))
    if (samples := c.optional("per_sample_weights")) is not None:
        rows = c.op("Mul", rows, reshaped(c.b, samples, (count, 1)))
    if mode == 2:
        chosen = c.op(
            "Where",
            reshaped(c.b, inside, (bags, count, 1)),
            reshaped(c.b, rows, (1, count, rows.shape[1])),
            c.like(-inf, rows),
        )
        y = c.op("ReduceMax", chosen, axes=(1,))
        y = c.op("Where", c.op("IsInf", y), c.like(0, y), y)
    else:
        shares = c.cast(inside, rows.dtype)
        y = c.op("MatMul", shares, rows)
        if mode == 1:
            y = c.op("Div", y, c.op("Max", total(c.b, shares, 1, keepdims=True), c.like(1, y)))
    empty = filled(c.b, 0, "int64", (0,))
    return [y, empty, empty, empty]


def one_hot(c: AtenCall) -> Tensor:
    x, classes = c.tensor(), c.number("num_classes")
    if not is_symbolic(classes) and classes < 0:
        raise c.unsupported("has a data-dependent number of classes", "Give num_classes")
    return c.cast(is_index(c.b, x, classes), "int64")


def indices_of(c: AtenCall, x: Tensor, name: str) -> list[Tensor | None]:
    """An index for each axis of x. A mask becomes the indices where it is true."""
    result: list[Tensor | None] = []
    for item in c[name]:
        if item is None or item.dtype not in ("bool", "uint8"):
            result.append(item)
            continue
        where = c.b.nonzero(c.cast(item, "bool"))
        result += [
            reshaped(c.b, part(c.b, where, 0, axis, 1), where.shape[1:])
            for axis in range(item.type.rank)
        ]
    return [*result, *[None] * (x.type.rank - len(result))]


def stacked_indices(c: AtenCall, indices: Sequence[Tensor | None]) -> tuple[list[int], Tensor]:
    """The indexed axes, and the indices as rows of one tensor."""
    axes = [axis for axis, item in enumerate(indices) if item is not None]
    operands = [c.cast(item, "int64") for item in indices if item is not None]
    sizes: list[Size] = []
    rank = max(item.type.rank for item in operands)
    for d in range(rank):
        own = [(*[1] * (rank - item.type.rank), *item.shape)[d] for item in operands]
        sizes.append(next((size for size in own if is_symbolic(size) or size != 1), 1))
    return axes, stacked(c.b, [widened(c.b, item, sizes) for item in operands], rank)


def index(c: AtenCall) -> Tensor:
    """Adjacent indexed axes keep their position; others move to the front."""
    x = c.tensor()
    indices = indices_of(c, x, "indices")
    axes, rows = stacked_indices(c, indices)
    rest = [axis for axis in range(x.type.rank) if axis not in axes]
    if len(axes) == 1:
        return c.op("Gather", x, reshaped(c.b, rows, rows.shape[:-1]), axis=axes[0])
    y = c.op("GatherND", transposed(c.b, x, [*axes, *rest]), rows, batch=0)
    lead = rows.type.rank - 1
    if axes == list(range(axes[0], axes[0] + len(axes))) and axes[0] > 0:
        before = axes[0]
        perm = [*range(lead, lead + before), *range(lead), *range(lead + before, y.type.rank)]
        return transposed(c.b, y, perm)
    return y


def index_put(c: AtenCall) -> Tensor:
    x = c.tensor()
    values, add = c.cast(c.tensor("values"), x.dtype), bool(c.get("accumulate", False))
    masks = c["indices"]
    if len(masks) == 1 and masks[0].dtype == "bool" and values.type.size == 1:
        mask = reshaped(c.b, masks[0], (*masks[0].shape, *[1] * (x.type.rank - masks[0].type.rank)))
        value = reshaped(c.b, values, ())
        return c.op("Where", mask, c.op("Add", x, value) if add else value, x)
    indices = indices_of(c, x, "indices")
    axes, rows = stacked_indices(c, indices)
    rest = [axis for axis in range(x.type.rank) if axis not in axes]
    perm = [*axes, *rest]
    lead = rows.shape[:-1]
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    retained = [x.shape[axis] for axis in rest]
    if adjacent and axes[0] > 0:
        before = axes[0]
        wide = widened(c.b, values, (*retained[:before], *lead, *retained[before:]))
        aligned = transposed(
            c.b,
            wide,
            [
                *range(before, before + len(lead)),
                *range(before),
                *range(before + len(lead), wide.type.rank),
            ],
        )
    else:
        aligned = widened(c.b, values, (*lead, *retained))
    y = c.op(
        "ScatterND", transposed(c.b, x, perm), rows, aligned, reduction="add" if add else "none"
    )
    return transposed(c.b, y, [perm.index(axis) for axis in range(x.type.rank)])


def masked_select(c: AtenCall) -> Tensor:
    x, mask = c.tensor(), c.tensor("mask")
    shape = broadcast([x.shape, mask.shape])
    indices = transposed(c.b, c.b.nonzero(widened(c.b, mask, shape)), (1, 0))
    return c.op("GatherND", widened(c.b, x, shape), indices, batch=0)


def masked_scatter(c: AtenCall) -> Tensor:
    """masked_scatter: the positions where the mask is true receive the elements of `source` in
    order.
    """
    x, source = c.tensor(), c.tensor("source")
    mask = widened(c.b, c.tensor("mask"), x.shape)
    flat = c.cast(reshaped(c.b, mask, (x.type.size,)), "int64")
    number = c.op(
        "Sub",
        c.op("CumSum", flat, axis=0, exclusive=False, reverse=False),
        c.b.constant(1, "int64"),
    )
    read = c.op(
        "Gather",
        reshaped(c.b, source, (source.type.size,)),
        c.op("Max", number, c.b.constant(0, "int64")),
        axis=0,
    )
    return c.op("Where", mask, reshaped(c.b, read, x.shape), x)


def nonzero(c: AtenCall) -> Tensor:
    """[count, axes]."""
    return transposed(c.b, c.b.nonzero(c.tensor()), (1, 0))


def scattered(c: AtenCall, x: Tensor, src: Tensor, reduction: str) -> Tensor:
    indices, axis = c.tensor("index"), c.axis(c.number("dim"), max(x.type.rank, 1))
    if not x.type.rank:
        x, indices, src = (reshaped(c.b, item, (1,)) for item in (x, indices, src))
        return reshaped(
            c.b, c.op("ScatterElements", x, indices, src, axis=0, reduction=reduction), ()
        )
    for d, size in enumerate(indices.shape):
        src = part(c.b, src, d, 0, size) if src.type.rank == indices.type.rank else src
    return c.op(
        "ScatterElements",
        x,
        indices,
        widened(c.b, c.cast(src, x.dtype), indices.shape),
        axis=axis,
        reduction=reduction,
    )


REDUCTIONS = {
    "sum": "add",
    "add": "add",
    "prod": "mul",
    "multiply": "mul",
    "amax": "max",
    "amin": "min",
}


def scatter(c: AtenCall) -> Tensor:
    x = c.tensor()
    src = c["src"] if c.has("src") else c["value"]
    values = src if isinstance(src, Tensor) else c.scalar(src, x.dtype)
    return scattered(c, x, values, REDUCTIONS[c["reduce"]] if c.has("reduce") else "none")


def scatter_add(c: AtenCall) -> Tensor:
    return scattered(c, c.tensor(), c.tensor("src"), "add")


def scatter_reduce(c: AtenCall) -> Tensor:
    """Without include_self, the previous value of a written element is ignored."""
    x, src, mode = c.tensor(), c.tensor("src"), c["reduce"]
    own = bool(c.get("include_self", True))
    if own and mode != "mean":
        return scattered(c, x, src, REDUCTIONS[mode])
    ones = filled(c.b, 1, "int32", src.shape)
    counts = scattered(c, filled(c.b, int(own), "int32", x.shape), ones, "add")
    reached = c.b.binary("Greater", scattered(c, filled(c.b, 0, "int32", x.shape), ones, "add"), 0)
    start = x
    if not own:
        limit = {"amax": -inf, "amin": inf, "prod": 1}.get(mode, 0)
        start = c.op("Where", reached, c.like(limit, x), x)
    y = scattered(c, start, src, "add" if mode == "mean" else REDUCTIONS[mode])
    if mode == "mean":
        y = c.op(
            "Where",
            reached,
            c.op("Div", y, c.cast(c.op("Max", counts, c.b.constant(1, "int32")), x.dtype)),
            x,
        )
    return y


def along(c: AtenCall, x: Tensor, axis: int, src: Tensor) -> Tensor:
    """The indices of complete slices of an axis, one for each element of `src`."""
    indices = c.tensor("index")
    return widened(
        c.b,
        reshaped(c.b, indices, [indices.type.size if d == axis else 1 for d in range(x.type.rank)]),
        src.shape,
    )


def slice_update(name: str, reduction: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x, axis = c.tensor(), c.axis(c.number("dim"), c.tensor().type.rank)
        value = c[name]
        shape = [
            c.tensor("index").type.size if d == axis else size for d, size in enumerate(x.shape)
        ]
        src = c.cast(value, x.dtype) if isinstance(value, Tensor) else c.scalar(value, x.dtype)
        src = widened(c.b, src, shape)
        alpha = c.get("alpha", 1)
        src = src if alpha == 1 else c.op("Mul", src, c.scalar(alpha, x.dtype))
        return c.op(
            "ScatterElements", x, along(c, x, axis, src), src, axis=axis, reduction=reduction
        )

    return handler


def search(c: AtenCall) -> Tensor:
    """The number of boundaries below each value; with `right`, also equal ones."""
    values, edges = (
        (c.tensor("self"), c.tensor("boundaries"))
        if c.has("boundaries")
        else (c.tensor("self"), c.tensor("sorted_sequence"))
    )
    if c.has("sorter"):
        raise c.unsupported("sorts with a sorter", "Sort the sequence before, and omit it")
    right = bool(c.get("right", False)) or c["side"] == "right"
    count = edges.shape[-1]
    rows = edges if edges.type.rank == 1 else reshaped(c.b, edges, (*edges.shape[:-1], 1, count))
    below = c.op(
        "LessEqual" if right else "Less",
        rows,
        c.cast(reshaped(c.b, values, (*values.shape, 1)), rows.dtype),
    )
    return total(
        c.b, c.cast(below, "int32" if c.get("out_int32", False) else "int64"), values.type.rank
    )


INDEXING: dict[str, AtenHandler] = {
    "index_select": index_select,
    "gather": gather,
    "take_along_dim": take_along,
    "take": take,
    "embedding": embedding,
    "_embedding_bag": embedding_bag,
    "_embedding_bag_forward_only": embedding_bag,
    "embedding_bag": embedding_bag,
    "one_hot": one_hot,
    "index": index,
    "index_put": index_put,
    "_unsafe_index": index,
    "_unsafe_index_put": index_put,
    "_index_put_impl": index_put,
    "masked_select": masked_select,
    "masked_scatter": masked_scatter,
    "nonzero": nonzero,
    "argwhere": nonzero,
    "scatter": scatter,
    "scatter_add": scatter_add,
    "scatter_reduce": scatter_reduce,
    "index_add": slice_update("source", "add"),
    "index_copy": slice_update("source", "none"),
    "index_fill": slice_update("value", "none"),
    "bucketize": search,
    "searchsorted": search,
}
