"""Operators that move elements: shapes, slices, joins, fills."""

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

from webkiln.frontends.onnx.operators.shape import bounds
from webkiln.frontends.torch.aten import AtenCall, AtenHandler, number_dtype, result_dtype
from webkiln.frontends.torch.operators.elementwise import common
from webkiln.ir.dim import greatest, is_symbolic
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.overlap import overlapped, unfolded
from webkiln.ops.pieces import element, filled, iota, part, reshaped, stacked, transposed, widened


def view(c: AtenCall) -> Tensor:
    return reshaped(c.b, c.tensor(), whole_shape(c, c.tensor(), c.sizes("size" if c.has("size") else "shape")))


def whole_shape(c: AtenCall, x: Tensor, asked: Sequence[int]) -> tuple[int, ...]:
    """-1 takes what is left."""
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
    first, last = c.axis(c.get("start_dim", 0), x.type.rank), c.axis(c.get("end_dim", -1), x.type.rank)
    return reshaped(c.b, x, (*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))


def unflatten(c: AtenCall) -> Tensor:
    x, sizes = c.tensor(), list(c.sizes("sizes"))
    axis = c.axis(c.number("dim"), x.type.rank)
    if -1 in [size for size in sizes if not is_symbolic(size)]:
        sizes[sizes.index(-1)] = x.shape[axis] // prod(size for size in sizes if is_symbolic(size) or size != -1)
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
    source, target = ([c.axis(axis, rank) for axis in c.sizes(name)] for name in ("source", "destination"))
    perm: list[int] = [-1] * rank
    for a, b in zip(source, target, strict=True):
        perm[b] = a
    rest = iter(axis for axis in range(rank) if axis not in source)
    return transposed(c.b, x, [next(rest) if axis == -1 else axis for axis in perm])


def squeeze(c: AtenCall) -> Tensor:
    x = c.tensor()
    axes = c.axes("dim", x.type.rank) if c.has("dim") else tuple(range(x.type.rank))
    return reshaped(c.b, x, [size for axis, size in enumerate(x.shape) if axis not in axes or is_symbolic(size) or size != 1])


def unsqueeze(c: AtenCall) -> Tensor:
    x = c.tensor()
    axis = c.axis(c.number("dim"), x.type.rank + 1)
    return reshaped(c.b, x, (*x.shape[:axis], 1, *x.shape[axis:]))


def expand(c: AtenCall) -> Tensor:
    x, asked = c.tensor(), c.sizes("size")
    own = (*[1] * (len(asked) - x.type.rank), *x.shape)
    shape = tuple(a if not is_symbolic(b) and b == -1 else b for a, b in zip(own, asked, strict=True))
    return widened(c.b, x, shape)


def expand_as(c: AtenCall) -> Tensor:
    return widened(c.b, c.tensor(), c.tensor("other").shape)


def broadcast_tensors(c: AtenCall) -> list[Tensor]:
    xs = c["tensors"]
    rank = max(x.type.rank for x in xs)
    shapes = [(*[1] * (rank - x.type.rank), *x.shape) for x in xs]
    whole = tuple(next((size for size in sizes if is_symbolic(size) or size != 1), 1) for sizes in zip(*shapes, strict=True))
    return [widened(c.b, x, whole) for x in xs]


def repeat(c: AtenCall) -> Tensor:
    x, counts = c.tensor(), c.sizes("repeats" if c.has("repeats") else "dims")
    counts = (*[1] * (x.type.rank - len(counts)), *counts)
    own = (*[1] * (len(counts) - x.type.rank), *x.shape)
    wide = widened(
        c.b, reshaped(c.b, x, [size for item in own for size in (1, item)]), [s for pair in zip(counts, own, strict=True) for s in pair]
    )
    return reshaped(c.b, wide, [count * size for count, size in zip(counts, own, strict=True)])


def repeat_interleave(c: AtenCall) -> Tensor:
    x, count = c.tensor(), c["repeats"]
    if isinstance(count, Tensor):
        raise c.call.unsupported("repeats elements as often as data says", "Repeat them a fixed number of times")
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
    return reshaped(c.b, part(c.b, x, axis, place + size if place < 0 else place, 1), (*x.shape[:axis], *x.shape[axis + 1 :]))


def sliced(c: AtenCall, x: Tensor) -> tuple[int, int, int, int]:
    """The axis, the first element, how many, and the step."""
    axis = c.axis(c.get("dim", 0), x.type.rank)
    step = c.get("step", 1)
    first, count = bounds(x.shape[axis], c.get("start", 0), c.get("end", (1 << 63) - 1), step)
    return axis, first, count, step


def slice_(c: AtenCall) -> Tensor:
    x = c.tensor()
    if isinstance(c["start"], Tensor) or isinstance(c["end"], Tensor):
        raise c.call.unsupported("slices at places that are data", "Use torch.gather or torch.index_select")
    return part(c.b, x, *sliced(c, x))


def narrow(c: AtenCall) -> Tensor:
    x = c.tensor()
    start = c.number("start")
    axis = c.axis(c.number("dim"), x.type.rank)
    return part(c.b, x, axis, start + x.shape[axis] if not is_symbolic(start) and start < 0 else start, c.number("length"))


def put(c: AtenCall, x: Tensor, src: Tensor, axis: int, first: int, count: int, step: int) -> Tensor:
    """x with some places of an axis replaced."""
    src = widened(c.b, c.cast(src, x.dtype), (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    if step == 1:
        parts = [part(c.b, x, axis, 0, first), src, part(c.b, x, axis, first + count, x.shape[axis] - first - count)]
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
    return put(c, x, row, axis, place + x.shape[axis] if not is_symbolic(place) and place < 0 else place, 1, 1)


def cat(c: AtenCall) -> Tensor:
    """Tensors of one axis without elements do not count, whatever the rank."""
    xs = common(c.b, list(c["tensors"]))
    kept = [x for x in xs if not (x.type.rank == 1 and x.shape[0] == 0 and not is_symbolic(x.shape[0]))] or xs[:1]
    return kept[0] if len(kept) == 1 else c.op("Concat", *kept, axis=c.axis(c.get("dim", 0), kept[0].type.rank))


def stack(c: AtenCall) -> Tensor:
    xs = common(c.b, list(c["tensors"]))
    return stacked(c.b, xs, c.axis(c.get("dim", 0), xs[0].type.rank + 1))


def hstack(c: AtenCall) -> Tensor:
    xs = [reshaped(c.b, x, (1,)) if not x.type.rank else x for x in common(c.b, list(c["tensors"]))]
    return c.op("Concat", *xs, axis=0 if xs[0].type.rank == 1 else 1)


def vstack(c: AtenCall) -> Tensor:
    xs = [reshaped(c.b, x, (1, *(x.shape or (1,)))) if x.type.rank < 2 else x for x in common(c.b, list(c["tensors"]))]
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
    count = size // each if is_symbolic(size) and not is_symbolic(size // each) else -(-size // each)
    if is_symbolic(count):
        raise c.call.unsupported("gives as many tensors as an open size says", "Set the size with --dim")
    return pieces(c, x, axis, [*[each] * (count - 1), size - each * (count - 1)])


def chunk(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", 0), x.type.rank)
    return equal_pieces(c, x, axis, -(-x.shape[axis] // c.number("chunks")))


def unbind(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", 0), x.type.rank)
    if is_symbolic(x.shape[axis]):
        raise c.call.unsupported("gives as many tensors as an open size says", "Set the size with --dim")
    return [element(c.b, x, axis, place) for place in range(x.shape[axis])]


def flip(c: AtenCall) -> Tensor:
    x = c.tensor()
    for axis in sorted({c.axis(axis, x.type.rank) for axis in c.sizes("dims")}):
        starts = tuple(size - 1 if d == axis else 0 for d, size in enumerate(x.shape))
        x = c.op("Slice", x, starts=starts, sizes=x.shape, steps=tuple(-1 if d == axis else 1 for d in range(x.type.rank)))
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
        places = c.op("Mod", c.op("Sub", iota(c.b, size, "int64"), c.scalar(shift, "int64")), c.scalar(size, "int64"))
        return c.op("Gather", x, places, axis=axis)
    first = -shift % size if size else 0
    return c.op("Concat", part(c.b, x, axis, first, size - first), part(c.b, x, axis, 0, first), axis=axis) if first else x


def diagonal(c: AtenCall) -> Tensor:
    """The elements on a diagonal of two axes, as a new last axis."""
    x = c.tensor()
    rank, offset = x.type.rank, c.get("offset", 0)
    a, b = c.axis(c.get("dim1", 0), rank), c.axis(c.get("dim2", 1), rank)
    moved = transposed(c.b, x, [*(d for d in range(rank) if d not in (a, b)), a, b])
    rows, columns = moved.shape[-2:]
    down, across = max(-offset, 0), max(offset, 0)
    if is_symbolic(rows) or is_symbolic(columns):
        raise c.call.unsupported("takes the diagonal of axes of open size", "Set the sizes with --dim")
    count = max(min(rows - down, columns - across), 0)
    flat = reshaped(c.b, moved, (*moved.shape[:-2], rows * columns))
    return part(c.b, flat, flat.type.rank - 1, down * columns + across, count, columns + 1) if count else part(c.b, flat, -1, 0, 0)


def triangle(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        rows, columns = x.shape[-2:]
        ahead = c.op("Sub", iota(c.b, columns, "int32"), reshaped(c.b, iota(c.b, rows, "int32"), (rows, 1)))
        kept = c.op(op, ahead, c.b.constant(int(c.get("diagonal", 0)), "int32"))
        return c.op("Where", kept, x, c.like(0, x))

    return handler


def eye(c: AtenCall) -> Tensor:
    rows = c.number("n")
    columns = c.number("m") if c.has("m") else rows
    same = c.op("Equal", reshaped(c.b, iota(c.b, rows, "int32"), (rows, 1)), iota(c.b, columns, "int32"))
    return c.cast(same, c.dtype("float32"))


def constant_pad(c: AtenCall) -> Tensor:
    """Pairs of the last axis first; negative ones cut off."""
    x, low, high = c.tensor(), *paddings(c, c.tensor().type.rank, c.sizes("pad"))
    value = c.get("value", 0)
    return padded(c, x, low, high, value)


def paddings(c: AtenCall, rank: int, pad: Sequence[int]) -> tuple[list[int], list[int]]:
    low, high = [0] * rank, [0] * rank
    for place in range(len(pad) // 2):
        low[rank - 1 - place], high[rank - 1 - place] = pad[2 * place], pad[2 * place + 1]
    return low, high


def padded(c: AtenCall, x: Tensor, low: list[int], high: list[int], value: Any = 0, mode: str = "constant") -> Tensor:
    for axis, (first, last) in enumerate(zip(low, high, strict=True)):
        cut = [-item if not is_symbolic(item) and item < 0 else 0 for item in (first, last)]
        if any(cut):
            x = part(c.b, x, axis, cut[0], x.shape[axis] - sum(cut))
    before, after = (tuple(item if is_symbolic(item) else max(item, 0) for item in items) for items in (low, high))
    if not any((*before, *after)):
        return c.op("Identity", x)
    if mode == "constant":
        return c.op("Pad", x, low=before, high=after, value=value)
    return c.op("PadFrom", x, low=before, high=after, mode=mode)


MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(c: AtenCall) -> Tensor:
    x = c.tensor()
    low, high = paddings(c, x.type.rank, c.sizes("pad"))
    mode = c.get("mode", "constant")
    return padded(c, x, low, high, c.get("value", 0), mode if mode == "constant" else MODES[mode])


def pad_from(mode: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        x = c.tensor()
        return padded(c, x, *paddings(c, x.type.rank, c.sizes("padding" if c.has("padding") else "pad")), mode=mode)

    return handler


def pixel_shuffle(c: AtenCall) -> Tensor:
    x, f = c.tensor(), c.number("upscale_factor")
    *lead, channels, h, w = x.shape
    rank = len(lead)
    apart = reshaped(c.b, x, (*lead, channels // f**2, f, f, h, w))
    perm = (*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2)
    return reshaped(c.b, transposed(c.b, apart, perm), (*lead, channels // f**2, h * f, w * f))


def pixel_unshuffle(c: AtenCall) -> Tensor:
    x, f = c.tensor(), c.number("downscale_factor")
    *lead, channels, h, w = x.shape
    rank = len(lead)
    apart = reshaped(c.b, x, (*lead, channels, h // f, f, w // f, f))
    perm = (*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3)
    return reshaped(c.b, transposed(c.b, apart, perm), (*lead, channels * f**2, h // f, w // f))


def channel_shuffle(c: AtenCall) -> Tensor:
    x, groups = c.tensor(), c.number("groups")
    n, channels, *rest = x.shape
    apart = reshaped(c.b, x, (n, groups, channels // groups, *rest))
    return reshaped(c.b, transposed(c.b, apart, (0, 2, 1, *range(3, 3 + len(rest)))), x.shape)


def unfold(c: AtenCall) -> Tensor:
    """Windows of one axis, their elements as a new last axis."""
    x = c.tensor()
    axis, size, step = c.axis(c.number("dimension"), x.type.rank), c.number("size"), c.number("step")
    wide = unfolded(c.b, x, [axis], [size], [step], [1])
    rank = wide.type.rank
    return transposed(c.b, wide, [*(d for d in range(rank) if d != axis + 1), axis + 1])


def im2col(c: AtenCall) -> Tensor:
    x = c.tensor()
    batched = x.type.rank == 4
    x = x if batched else reshaped(c.b, x, (1, *x.shape))
    kernel, dilation, padding, stride = (c.sizes(name) for name in ("kernel_size", "dilation", "padding", "stride"))
    x = padded(c, x, [0, 0, *padding], [0, 0, *padding])
    wide = unfolded(c.b, x, [2, 3], kernel, stride, dilation)
    n, channels, rows, taps, columns, others = wide.shape
    y = reshaped(c.b, transposed(c.b, wide, (0, 1, 3, 5, 2, 4)), (n, channels * taps * others, rows * columns))
    return y if batched else reshaped(c.b, y, y.shape[1:])


def col2im(c: AtenCall) -> Tensor:
    x = c.tensor()
    batched = x.type.rank == 3
    x = x if batched else reshaped(c.b, x, (1, *x.shape))
    padding = c.sizes("padding")
    y = overlapped(c.b, x, c.sizes("output_size"), c.sizes("kernel_size"), c.sizes("stride"), c.sizes("dilation"), padding, padding)
    return y if batched else reshaped(c.b, y, y.shape[1:])


def full(c: AtenCall) -> Tensor:
    value = c["fill_value"]
    if isinstance(value, Tensor):
        return widened(c.b, c.cast(value, c.dtype(value.dtype)), c.sizes("size"))
    dtype = c.dtype(number_dtype(value))
    return widened(c.b, c.scalar(value, dtype), c.sizes("size"))


def fill(value: Any) -> AtenHandler:
    return lambda c: filled(c.b, value, c.dtype("float32"), c.sizes("size"))


def fill_like(value: Any) -> AtenHandler:
    return lambda c: filled(c.b, value, c.dtype(c.tensor().dtype), c.tensor().shape)


def full_like(c: AtenCall) -> Tensor:
    x, value = c.tensor(), c["fill_value"]
    dtype = c.dtype(x.dtype)
    return widened(c.b, c.cast(value, dtype) if isinstance(value, Tensor) else c.scalar(value, dtype), x.shape)


def new_fill(value: Any) -> AtenHandler:
    return lambda c: filled(c.b, value, c.dtype(c.tensor().dtype), c.sizes("size"))


def new_full(c: AtenCall) -> Tensor:
    x, value = c.tensor(), c["fill_value"]
    dtype = c.dtype(x.dtype)
    return widened(c.b, c.cast(value, dtype) if isinstance(value, Tensor) else c.scalar(value, dtype), c.sizes("size"))


def filled_with(c: AtenCall) -> Tensor:
    """`fill`: the shape and dtype of a tensor, and one value."""
    x, value = c.tensor(), c["value"]
    return widened(c.b, c.cast(value, x.dtype) if isinstance(value, Tensor) else c.scalar(value, x.dtype), x.shape)


def zeros_of(c: AtenCall) -> Tensor:
    return filled(c.b, 0, c.tensor().dtype, c.tensor().shape)


def scalar_tensor(c: AtenCall) -> Tensor:
    value = c["s"] if c.has("s") else c["data" if c.has("data") else "t"]
    if isinstance(value, tuple):
        return c.b.constant(list(value), c.dtype(result_dtype(list(value))))
    return c.cast(value, c.dtype(value.dtype)) if isinstance(value, Tensor) else c.scalar(value, c.dtype(number_dtype(value)))


def copy(c: AtenCall) -> Tensor:
    x, src = c.tensor(), c.tensor("src")
    return widened(c.b, c.cast(src, x.dtype), x.shape)


def arange(c: AtenCall) -> Tensor:
    start, end, step = c.get("start", 0), c["end"], c.get("step", 1)
    if any(isinstance(item, Tensor) for item in (start, end, step)):
        raise c.call.unsupported("counts up to a number that is data", "Set the size with --dim, or mask a range of known length")
    dtype = c.dtype("float32" if any(isinstance(item, float) for item in (start, end, step)) else "int64")
    is_open = any(map(is_symbolic, (start, end, step)))
    count = greatest([-(-(end - start) // step), 0]) if is_open else max(ceil((end - start) / step), 0)
    steps = iota(c.b, count, dtype)
    steps = steps if not is_symbolic(step) and step == 1 else c.op("Mul", steps, c.scalar(step, dtype))
    return steps if not is_symbolic(start) and start == 0 else c.op("Add", steps, c.scalar(start, dtype))


def linspace(c: AtenCall) -> Tensor:
    """From both ends, as ATen does."""
    start, end, count = (c.number(name) for name in ("start", "end", "steps"))
    dtype = c.dtype("float32")
    if is_symbolic(count) or not is_float(dtype):
        raise c.call.unsupported("makes a line of an open number of places, or of whole numbers", "Use torch.arange")
    if count == 1:
        return c.b.constant([float(start)], dtype)
    step = (end - start) / (count - 1)
    values = [start + step * place if place < count // 2 else end - step * (count - 1 - place) for place in range(count)]
    return c.b.constant(values, dtype)


def meshgrid(c: AtenCall) -> list[Tensor]:
    xs = [reshaped(c.b, x, (x.type.size,)) for x in c["tensors"]]
    order = list(range(len(xs)))
    if c.get("indexing", "ij") == "xy" and len(xs) > 1:
        order[0], order[1] = 1, 0
    sizes = [xs[place].shape[0] for place in order]
    return [
        widened(c.b, reshaped(c.b, x, [size if order[d] == number else 1 for d, size in enumerate(sizes)]), sizes)
        for number, x in enumerate(xs)
    ]


def as_strided(c: AtenCall) -> Tensor:
    """Elements counted in the memory of a dense tensor: the place of each is computed."""
    x, sizes, strides = c.tensor(), c.sizes("size"), c.sizes("stride")
    places = c.scalar(c.get("storage_offset", 0), "int64")
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        line = reshaped(c.b, iota(c.b, size, "int64"), [size if d == axis else 1 for d in range(len(sizes))])
        places = c.op("Add", places, c.op("Mul", line, c.scalar(stride, "int64")))
    return c.op("Gather", reshaped(c.b, x, (x.type.size,)), places, axis=0)


SHAPE: dict[str, AtenHandler] = {
    **dict.fromkeys(("view", "_unsafe_view", "reshape", "view_copy", "_reshape_alias", "_reshape_copy"), view), "view_as": view_as, "reshape_as": view_as,
    "flatten": flatten, "unflatten": unflatten, "permute": permute, "permute_copy": permute, "transpose": transpose, "transpose_copy": transpose, "swapaxes": transpose,
    "swapdims": transpose, "t": turned, "numpy_T": turned, "mT": swapped_last, "adjoint": swapped_last, "movedim": movedim, "moveaxis": movedim, "squeeze": squeeze,
    "squeeze_copy": squeeze, "unsqueeze": unsqueeze, "unsqueeze_copy": unsqueeze, "expand": expand, "expand_copy": expand, "broadcast_to": expand, "expand_as": expand_as,
    "broadcast_tensors": broadcast_tensors, "repeat": repeat, "tile": repeat, "repeat_interleave": repeat_interleave, "select": select, "select_copy": select,
    "slice": slice_, "slice_copy": slice_, "narrow": narrow, "slice_scatter": slice_scatter, "select_scatter": select_scatter, "cat": cat, "concat": cat, "concatenate": cat,
    "stack": stack, "hstack": hstack, "vstack": vstack, "split_with_sizes": split_with_sizes, "split_with_sizes_copy": split_with_sizes, "split": split, "chunk": chunk,
    "unsafe_chunk": chunk, "unsafe_split": split, "unsafe_split_with_sizes": split_with_sizes, "unbind": unbind, "unbind_copy": unbind, "flip": flip, "roll": roll,
    "diagonal": diagonal, "diagonal_copy": diagonal, "tril": triangle("LessEqual"), "triu": triangle("GreaterEqual"), "eye": eye, "constant_pad_nd": constant_pad, "pad": pad,
    **{f"reflection_pad{d}d": pad_from("reflect") for d in (1, 2, 3)}, **{f"replication_pad{d}d": pad_from("edge") for d in (1, 2, 3)}, "_pad_circular": pad_from("wrap"),
    "pixel_shuffle": pixel_shuffle, "pixel_unshuffle": pixel_unshuffle, "channel_shuffle": channel_shuffle, "native_channel_shuffle": channel_shuffle, "unfold": unfold,
    "unfold_copy": unfold, "im2col": im2col, "col2im": col2im, "full": full, "zeros": fill(0), "ones": fill(1), "empty": fill(0), "empty_strided": fill(0), "empty_permuted": fill(0),
    "zeros_like": fill_like(0), "ones_like": fill_like(1), "empty_like": fill_like(0), "full_like": full_like, "new_zeros": new_fill(0), "new_ones": new_fill(1),
    "new_empty": new_fill(0), "new_empty_strided": new_fill(0), "new_full": new_full, "fill": filled_with, "zero": zeros_of, "scalar_tensor": scalar_tensor, "tensor": scalar_tensor,
    "copy": copy, "arange": arange, "linspace": linspace, "meshgrid": meshgrid, "as_strided": as_strided, "as_strided_copy": as_strided,
}  # fmt: skip
