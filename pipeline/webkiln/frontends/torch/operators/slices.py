"""Slices, diagonals and triangles, also as the target of a write."""

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.slices import bounds, reversed_along
from webkiln.ops.pieces import iota, part, reshaped, transposed, widened


def select(c: AtenCall) -> Tensor:
    x = c.tensor()
    axis, index = c.axis(c.number("dim"), x.type.rank), c["index"]
    if isinstance(index, Tensor):
        return c.op("Gather", x, reshaped(c.b, index, ()), axis=axis)
    size = x.shape[axis]
    if is_symbolic(index):
        return reshaped(c.b, part(c.b, x, axis, index, 1), (*x.shape[:axis], *x.shape[axis + 1 :]))
    if not is_symbolic(size) and not -size <= index < size:
        raise c.error(f"index {index} is outside of axis {axis}, which has {size} elements")
    return reshaped(
        c.b,
        part(c.b, x, axis, index + size if index < 0 else index, 1),
        (*x.shape[:axis], *x.shape[axis + 1 :]),
    )


def sliced(c: AtenCall, x: Tensor) -> tuple[int, Size, Size, Size]:
    """The axis, the start, the number of elements, and the step."""
    axis = c.axis(c.get("dim", 0), x.type.rank)
    step = c.get("step", 1)
    first, count = bounds(x.shape[axis], c.get("start", 0), c.get("end", (1 << 63) - 1), step)
    return axis, first, count, step


def slice_(c: AtenCall) -> Tensor:
    x = c.tensor()
    if isinstance(c["start"], Tensor) or isinstance(c["end"], Tensor):
        raise c.unsupported(
            "slices at data-dependent positions", "Use torch.gather or torch.index_select"
        )
    axis, first, count, step = sliced(c, x)
    return part(c.b, x, axis, first, count, step)


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
    c: AtenCall, x: Tensor, src: Tensor, axis: int, first: Size, count: Size, step: Size
) -> Tensor:
    """x with some elements of an axis replaced."""
    src = widened(c.b, c.cast(src, x.dtype), (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    if step == 1:
        parts = [
            part(c.b, x, axis, 0, first),
            src,
            part(c.b, x, axis, first + count, x.shape[axis] - first - count),
        ]
        nonempty = [item for item in parts if is_symbolic(item.shape[axis]) or item.shape[axis] > 0]
        return nonempty[0] if len(nonempty) == 1 else c.op("Concat", *nonempty, axis=axis)
    indices = c.op("Add", iota(c.b, count, "int64") * step, c.scalar(first, "int64"))
    along = reshaped(c.b, indices, [count if d == axis else 1 for d in range(x.type.rank)])
    return c.op("ScatterElements", x, widened(c.b, along, src.shape), src, axis=axis)


def slice_scatter(c: AtenCall) -> Tensor:
    x = c.tensor()
    axis, first, count, step = sliced(c, x)
    return put(c, x, c.tensor("src"), axis, first, count, step)


def select_scatter(c: AtenCall) -> Tensor:
    x, src = c.tensor(), c.tensor("src")
    axis, index = c.axis(c.number("dim"), x.type.rank), c["index"]
    src = widened(c.b, src, (*x.shape[:axis], *x.shape[axis + 1 :]))
    row = reshaped(c.b, src, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    if isinstance(index, Tensor):
        where = widened(c.b, reshaped(c.b, index, (1,) * x.type.rank), row.shape)
        return c.op("ScatterElements", x, where, c.cast(row, x.dtype), axis=axis)
    return put(
        c,
        x,
        row,
        axis,
        index + x.shape[axis] if not is_symbolic(index) and index < 0 else index,
        1,
        1,
    )


def flip(c: AtenCall) -> Tensor:
    x = c.tensor()
    for axis in sorted({c.axis(axis, x.type.rank) for axis in c.integers("dims")}):
        x = reversed_along(c.b, x, axis)
    return x


def roll(c: AtenCall) -> Tensor:
    x, shifts, dims = c.tensor(), c.sizes("shifts"), c.integers("dims")
    if not dims:
        flat = reshaped(c.b, x, (x.type.size,))
        return reshaped(c.b, rolled(c, flat, 0, shifts[0]), x.shape)
    for shift, axis in zip(shifts, dims, strict=True):
        x = rolled(c, x, c.axis(axis, x.type.rank), shift)
    return x


def rolled(c: AtenCall, x: Tensor, axis: int, shift: Size) -> Tensor:
    size = x.shape[axis]
    if is_symbolic(size) or is_symbolic(shift):
        indices = c.op(
            "Mod",
            c.op("Sub", iota(c.b, size, "int64"), c.scalar(shift, "int64")),
            c.scalar(size, "int64"),
        )
        return c.op("Gather", x, indices, axis=axis)
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
    permuted = transposed(c.b, x, [*(d for d in range(rank) if d not in (a, b)), a, b])
    rows, columns = permuted.shape[-2:]
    down, across = max(-offset, 0), max(offset, 0)
    if is_symbolic(rows) or is_symbolic(columns):
        raise c.unsupported(
            "returns the diagonal of axes of symbolic size", "Set the sizes with --dim"
        )
    count = max(min(rows - down, columns - across), 0)
    flat = reshaped(c.b, permuted, (*permuted.shape[:-2], rows * columns))
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
        mask = c.op(op, ahead, c.b.constant(int(c.get("diagonal", 0)), "int32"))
        return c.op("Where", mask, x, c.like(0, x))

    return handler


def as_strided(c: AtenCall) -> Tensor:
    """as_strided on a dense tensor: the index of each element is computed."""
    x, sizes, strides = c.tensor(), c.sizes("size"), c.sizes("stride")
    indices = c.scalar(c.get("storage_offset", 0), "int64")
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        line = reshaped(
            c.b, iota(c.b, size, "int64"), [size if d == axis else 1 for d in range(len(sizes))]
        )
        indices = c.op("Add", indices, c.op("Mul", line, c.scalar(stride, "int64")))
    return c.op("Gather", reshaped(c.b, x, (x.type.size,)), indices, axis=0)


SLICES: dict[str, AtenHandler] = {
    "select": select,
    "select_copy": select,
    "slice": slice_,
    "slice_copy": slice_,
    "narrow": narrow,
    "slice_scatter": slice_scatter,
    "select_scatter": select_scatter,
    "flip": flip,
    "roll": roll,
    "diagonal": diagonal,
    "diagonal_copy": diagonal,
    "tril": triangle("LessEqual"),
    "triu": triangle("GreaterEqual"),
    "as_strided": as_strided,
    "as_strided_copy": as_strided,
}
