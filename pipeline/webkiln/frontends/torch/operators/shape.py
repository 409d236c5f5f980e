"""Operators that move elements: reshape, slice, concatenate."""

from collections.abc import Sequence
from math import prod

from webkiln.frontends.onnx.operators.shape import bounds
from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.frontends.torch.operators.casts import common
from webkiln.ir.dim import is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import element, iota, part, reshaped, stacked, transposed, widened


def view(c: AtenCall) -> Tensor:
    return reshaped(
        c.b, c.tensor(), whole_shape(c, c.tensor(), c.sizes("size" if c.has("size") else "shape"))
    )


def whole_shape(c: AtenCall, x: Tensor, asked: Sequence[int]) -> tuple[int, ...]:
    """-1 is inferred."""
    shape = list(asked)
    places = [axis for axis, size in enumerate(shape) if not is_symbolic(size) and size == -1]
    if places:
        rest = prod(size for axis, size in enumerate(shape) if axis != places[0])
        shape[places[0]] = 0 if not is_symbolic(rest) and rest == 0 else x.type.size // rest
    return tuple(shape)


def view_as(c: AtenCall) -> Tensor:
    return reshaped(c.b, c.tensor(), c.tensor("other").shape)


def flatten(c: AtenCall) -> Tensor:
    x = c.tensor()
    if not x.type.rank:
        return reshaped(c.b, x, (1,))
    first, last = (
        c.axis(c.get("start_dim", 0), x.type.rank),
        c.axis(c.get("end_dim", -1), x.type.rank),
    )
    return reshaped(
        c.b, x, (*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])
    )


def unflatten(c: AtenCall) -> Tensor:
    x, sizes = c.tensor(), list(c.sizes("sizes"))
    axis = c.axis(c.number("dim"), x.type.rank)
    if -1 in [size for size in sizes if not is_symbolic(size)]:
        sizes[sizes.index(-1)] = x.shape[axis] // prod(
            size for size in sizes if is_symbolic(size) or size != -1
        )
    return reshaped(c.b, x, (*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))


def permute(c: AtenCall) -> Tensor:
    x = c.tensor()
    return transposed(c.b, x, [c.axis(axis, x.type.rank) for axis in c.sizes("dims")])


def transpose(c: AtenCall) -> Tensor:
    x = c.tensor()
    if not x.type.rank:
        return x
    perm = list(range(x.type.rank))
    a, b = c.axis(c.number("dim0"), x.type.rank), c.axis(c.number("dim1"), x.type.rank)
    perm[a], perm[b] = perm[b], perm[a]
    return transposed(c.b, x, perm)


def turned(c: AtenCall) -> Tensor:
    x = c.tensor()
    return transposed(c.b, x, tuple(reversed(range(x.type.rank))))


def swapped_last(c: AtenCall) -> Tensor:
    x = c.tensor()
    rank = x.type.rank
    return transposed(c.b, x, (*range(rank - 2), rank - 1, rank - 2))


def movedim(c: AtenCall) -> Tensor:
    x = c.tensor()
    rank = x.type.rank
    source, target = (
        [c.axis(axis, rank) for axis in c.sizes(name)] for name in ("source", "destination")
    )
    perm: list[int] = [-1] * rank
    for a, b in zip(source, target, strict=True):
        perm[b] = a
    rest = iter(axis for axis in range(rank) if axis not in source)
    return transposed(c.b, x, [next(rest) if axis == -1 else axis for axis in perm])


def squeeze(c: AtenCall) -> Tensor:
    x = c.tensor()
    axes = c.axes("dim", x.type.rank) if c.has("dim") else tuple(range(x.type.rank))
    return reshaped(
        c.b,
        x,
        [
            size
            for axis, size in enumerate(x.shape)
            if axis not in axes or is_symbolic(size) or size != 1
        ],
    )


def unsqueeze(c: AtenCall) -> Tensor:
    x = c.tensor()
    axis = c.axis(c.number("dim"), x.type.rank + 1)
    return reshaped(c.b, x, (*x.shape[:axis], 1, *x.shape[axis:]))


def expand(c: AtenCall) -> Tensor:
    x, asked = c.tensor(), c.sizes("size")
    own = (*[1] * (len(asked) - x.type.rank), *x.shape)
    shape = tuple(
        a if not is_symbolic(b) and b == -1 else b for a, b in zip(own, asked, strict=True)
    )
    return widened(c.b, x, shape)


def expand_as(c: AtenCall) -> Tensor:
    return widened(c.b, c.tensor(), c.tensor("other").shape)


def broadcast_tensors(c: AtenCall) -> list[Tensor]:
    xs = c["tensors"]
    rank = max(x.type.rank for x in xs)
    shapes = [(*[1] * (rank - x.type.rank), *x.shape) for x in xs]
    whole = tuple(
        next((size for size in sizes if is_symbolic(size) or size != 1), 1)
        for sizes in zip(*shapes, strict=True)
    )
    return [widened(c.b, x, whole) for x in xs]


def repeat(c: AtenCall) -> Tensor:
    x, counts = c.tensor(), c.sizes("repeats" if c.has("repeats") else "dims")
    counts = (*[1] * (x.type.rank - len(counts)), *counts)
    own = (*[1] * (len(counts) - x.type.rank), *x.shape)
    wide = widened(
        c.b,
        reshaped(c.b, x, [size for item in own for size in (1, item)]),
        [s for pair in zip(counts, own, strict=True) for s in pair],
    )
    return reshaped(c.b, wide, [count * size for count, size in zip(counts, own, strict=True)])


def repeat_interleave(c: AtenCall) -> Tensor:
    x, count = c.tensor(), c["repeats"]
    if isinstance(count, Tensor):
        raise c.call.unsupported(
            "repeats elements as often as data says", "Repeat them a fixed number of times"
        )
    if not c.has("dim"):
        x = reshaped(c.b, x, (x.type.size,))
    axis = c.axis(c.get("dim", 0), x.type.rank)
    apart = reshaped(c.b, x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
    wide = widened(c.b, apart, (*x.shape[: axis + 1], count, *x.shape[axis + 1 :]))
    return reshaped(c.b, wide, (*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1 :]))


def select(c: AtenCall) -> Tensor:
    x = c.tensor()
    axis, place = c.axis(c.number("dim"), x.type.rank), c["index"]
    if isinstance(place, Tensor):
        return c.op("Gather", x, reshaped(c.b, place, ()), axis=axis)
    size = x.shape[axis]
    if is_symbolic(place):
        return reshaped(c.b, part(c.b, x, axis, place, 1), (*x.shape[:axis], *x.shape[axis + 1 :]))
    if not is_symbolic(size) and not -size <= place < size:
        raise c.call.error(f"index {place} is outside of axis {axis}, which has {size} elements")
    return reshaped(
        c.b,
        part(c.b, x, axis, place + size if place < 0 else place, 1),
        (*x.shape[:axis], *x.shape[axis + 1 :]),
    )


def sliced(c: AtenCall, x: Tensor) -> tuple[int, int, int, int]:
    """The axis, the start, the number of elements, and the step."""
    axis = c.axis(c.get("dim", 0), x.type.rank)
    step = c.get("step", 1)
    first, count = bounds(x.shape[axis], c.get("start", 0), c.get("end", (1 << 63) - 1), step)
    return axis, first, count, step


def slice_(c: AtenCall) -> Tensor:
    x = c.tensor()
    if isinstance(c["start"], Tensor) or isinstance(c["end"], Tensor):
        raise c.call.unsupported(
            "slices at places that are data", "Use torch.gather or torch.index_select"
        )
    return part(c.b, x, *sliced(c, x))


def narrow(c: AtenCall) -> Tensor:
    x = c.tensor()
    start = c.number("start")
    axis = c.axis(c.number("dim"), x.type.rank)
    return part(
        c.b,
        x,
        axis,
        start + x.shape[axis] if not is_symbolic(start) and start < 0 else start,
        c.number("length"),
    )


def put(
    c: AtenCall, x: Tensor, src: Tensor, axis: int, first: int, count: int, step: int
) -> Tensor:
    """x with some elements of an axis replaced."""
    src = widened(c.b, c.cast(src, x.dtype), (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    if step == 1:
        parts = [
            part(c.b, x, axis, 0, first),
            src,
            part(c.b, x, axis, first + count, x.shape[axis] - first - count),
        ]
        kept = [item for item in parts if is_symbolic(item.shape[axis]) or item.shape[axis] > 0]
        return kept[0] if len(kept) == 1 else c.op("Concat", *kept, axis=axis)
    places = c.op("Add", iota(c.b, count, "int64") * step, c.scalar(first, "int64"))
    along = reshaped(c.b, places, [count if d == axis else 1 for d in range(x.type.rank)])
    return c.op("ScatterElements", x, widened(c.b, along, src.shape), src, axis=axis)


def slice_scatter(c: AtenCall) -> Tensor:
    x = c.tensor()
    axis, first, count, step = sliced(c, x)
    return put(c, x, c.tensor("src"), axis, first, count, step)


def select_scatter(c: AtenCall) -> Tensor:
    x, src = c.tensor(), c.tensor("src")
    axis, place = c.axis(c.number("dim"), x.type.rank), c["index"]
    src = widened(c.b, src, (*x.shape[:axis], *x.shape[axis + 1 :]))
    row = reshaped(c.b, src, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    if isinstance(place, Tensor):
        where = widened(c.b, reshaped(c.b, place, (1,) * x.type.rank), row.shape)
        return c.op("ScatterElements", x, where, c.cast(row, x.dtype), axis=axis)
    return put(
        c,
        x,
        row,
        axis,
        place + x.shape[axis] if not is_symbolic(place) and place < 0 else place,
        1,
        1,
    )


def cat(c: AtenCall) -> Tensor:
    """Empty tensors of rank 1 are ignored, whatever the rank of the others."""
    xs = common(c.b, list(c["tensors"]))
    kept = [
        x for x in xs if not (x.type.rank == 1 and x.shape[0] == 0 and not is_symbolic(x.shape[0]))
    ] or xs[:1]
    return (
        kept[0]
        if len(kept) == 1
        else c.op("Concat", *kept, axis=c.axis(c.get("dim", 0), kept[0].type.rank))
    )


def stack(c: AtenCall) -> Tensor:
    xs = common(c.b, list(c["tensors"]))
    return stacked(c.b, xs, c.axis(c.get("dim", 0), xs[0].type.rank + 1))


def hstack(c: AtenCall) -> Tensor:
    xs = [reshaped(c.b, x, (1,)) if not x.type.rank else x for x in common(c.b, list(c["tensors"]))]
    return c.op("Concat", *xs, axis=0 if xs[0].type.rank == 1 else 1)


def vstack(c: AtenCall) -> Tensor:
    xs = [
        reshaped(c.b, x, (1, *(x.shape or (1,)))) if x.type.rank < 2 else x
        for x in common(c.b, list(c["tensors"]))
    ]
    return c.op("Concat", *xs, axis=0)


def pieces(c: AtenCall, x: Tensor, axis: int, sizes: Sequence[int]) -> list[Tensor]:
    found, first = [], 0
    for count in sizes:
        found.append(part(c.b, x, axis, first, count))
        first += count
    return found


def split_with_sizes(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    return pieces(c, x, c.axis(c.get("dim", 0), x.type.rank), c.sizes("split_sizes"))


def split(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", 0), x.type.rank)
    if c.overload == "sizes":
        return pieces(c, x, axis, c.sizes("split_size"))
    return equal_pieces(c, x, axis, c.number("split_size"))


def equal_pieces(c: AtenCall, x: Tensor, axis: int, each: int) -> list[Tensor]:
    size = x.shape[axis]
    count = (
        size // each if is_symbolic(size) and not is_symbolic(size // each) else -(-size // each)
    )
    if is_symbolic(count):
        raise c.call.unsupported(
            "gives as many tensors as an open size says", "Set the size with --dim"
        )
    return pieces(c, x, axis, [*[each] * (count - 1), size - each * (count - 1)])


def chunk(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", 0), x.type.rank)
    return equal_pieces(c, x, axis, -(-x.shape[axis] // c.number("chunks")))


def unbind(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", 0), x.type.rank)
    if is_symbolic(x.shape[axis]):
        raise c.call.unsupported(
            "gives as many tensors as an open size says", "Set the size with --dim"
        )
    return [element(c.b, x, axis, place) for place in range(x.shape[axis])]


def flip(c: AtenCall) -> Tensor:
    x = c.tensor()
    for axis in sorted({c.axis(axis, x.type.rank) for axis in c.sizes("dims")}):
        starts = tuple(size - 1 if d == axis else 0 for d, size in enumerate(x.shape))
        x = c.op(
            "Slice",
            x,
            starts=starts,
            sizes=x.shape,
            steps=tuple(-1 if d == axis else 1 for d in range(x.type.rank)),
        )
    return x


def roll(c: AtenCall) -> Tensor:
    x, shifts, dims = c.tensor(), c.sizes("shifts"), c.sizes("dims")
    if not dims:
        flat = reshaped(c.b, x, (x.type.size,))
        return reshaped(c.b, rolled(c, flat, 0, shifts[0]), x.shape)
    for shift, axis in zip(shifts, dims, strict=True):
        x = rolled(c, x, c.axis(axis, x.type.rank), shift)
    return x


def rolled(c: AtenCall, x: Tensor, axis: int, shift: int) -> Tensor:
    size = x.shape[axis]
    if is_symbolic(size) or is_symbolic(shift):
        places = c.op(
            "Mod",
            c.op("Sub", iota(c.b, size, "int64"), c.scalar(shift, "int64")),
            c.scalar(size, "int64"),
        )
        return c.op("Gather", x, places, axis=axis)
    first = -shift % size if size else 0
    return (
        c.op(
            "Concat",
            part(c.b, x, axis, first, size - first),
            part(c.b, x, axis, 0, first),
            axis=axis,
        )
        if first
        else x
    )


def diagonal(c: AtenCall) -> Tensor:
    """The diagonal of two axes, as a new last axis."""
    x = c.tensor()
    rank, offset = x.type.rank, c.get("offset", 0)
    a, b = c.axis(c.get("dim1", 0), rank), c.axis(c.get("dim2", 1), rank)
    moved = transposed(c.b, x, [*(d for d in range(rank) if d not in (a, b)), a, b])
    rows, columns = moved.shape[-2:]
    down, across = max(-offset, 0), max(offset, 0)
    if is_symbolic(rows) or is_symbolic(columns):
        raise c.call.unsupported(
            "takes the diagonal of axes of open size", "Set the sizes with --dim"
        )
    count = max(min(rows - down, columns - across), 0)
    flat = reshaped(c.b, moved, (*moved.shape[:-2], rows * columns))
    return (
        part(c.b, flat, flat.type.rank - 1, down * columns + across, count, columns + 1)
        if count
        else part(c.b, flat, -1, 0, 0)
    )


def triangle(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        rows, columns = x.shape[-2:]
        ahead = c.op(
            "Sub", iota(c.b, columns, "int32"), reshaped(c.b, iota(c.b, rows, "int32"), (rows, 1))
        )
        kept = c.op(op, ahead, c.b.constant(int(c.get("diagonal", 0)), "int32"))
        return c.op("Where", kept, x, c.like(0, x))

    return handler


def as_strided(c: AtenCall) -> Tensor:
    """as_strided on a dense tensor: the index of each element is computed."""
    x, sizes, strides = c.tensor(), c.sizes("size"), c.sizes("stride")
    places = c.scalar(c.get("storage_offset", 0), "int64")
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        line = reshaped(
            c.b, iota(c.b, size, "int64"), [size if d == axis else 1 for d in range(len(sizes))]
        )
        places = c.op("Add", places, c.op("Mul", line, c.scalar(stride, "int64")))
    return c.op("Gather", reshaped(c.b, x, (x.type.size,)), places, axis=0)


SHAPE: dict[str, AtenHandler] = {
    **dict.fromkeys(
        ("view", "_unsafe_view", "reshape", "view_copy", "_reshape_alias", "_reshape_copy"), view
    ),
    "view_as": view_as,
    "reshape_as": view_as,
    "flatten": flatten,
    "unflatten": unflatten,
    "permute": permute,
    "permute_copy": permute,
    "transpose": transpose,
    "transpose_copy": transpose,
    "swapaxes": transpose,
    "swapdims": transpose,
    "t": turned,
    "numpy_T": turned,
    "mT": swapped_last,
    "adjoint": swapped_last,
    "movedim": movedim,
    "moveaxis": movedim,
    "squeeze": squeeze,
    "squeeze_copy": squeeze,
    "unsqueeze": unsqueeze,
    "unsqueeze_copy": unsqueeze,
    "expand": expand,
    "expand_copy": expand,
    "broadcast_to": expand,
    "expand_as": expand_as,
    "broadcast_tensors": broadcast_tensors,
    "repeat": repeat,
    "tile": repeat,
    "repeat_interleave": repeat_interleave,
    "select": select,
    "select_copy": select,
    "slice": slice_,
    "slice_copy": slice_,
    "narrow": narrow,
    "slice_scatter": slice_scatter,
    "select_scatter": select_scatter,
    "cat": cat,
    "concat": cat,
    "concatenate": cat,
    "stack": stack,
    "hstack": hstack,
    "vstack": vstack,
    "split_with_sizes": split_with_sizes,
    "split_with_sizes_copy": split_with_sizes,
    "split": split,
    "chunk": chunk,
    "unsafe_chunk": chunk,
    "unsafe_split": split,
    "unsafe_split_with_sizes": split_with_sizes,
    "unbind": unbind,
    "unbind_copy": unbind,
    "flip": flip,
    "roll": roll,
    "diagonal": diagonal,
    "diagonal_copy": diagonal,
    "tril": triangle("LessEqual"),
    "triu": triangle("GreaterEqual"),
    "as_strided": as_strided,
    "as_strided_copy": as_strided,
}
