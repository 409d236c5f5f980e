"""Slices, splits, reversals and mirrored padding."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.nodes.strided_slice import elements_at, masks
from webkiln.ir.dim import Shape, Size, is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.slices import bounds, reversed_along
from webkiln.ops.pieces import cast, part, reshaped


def flat(call: NodeCall, index: int) -> Shape:
    """A constant table of integers, row by row."""
    return tuple(
        size if is_symbolic(size) else int(size) for size in call.value(index).reshape(-1).tolist()
    )


def unpack(call: NodeCall) -> list[Tensor]:
    x = call.tensor(0)
    axis = call.axis(call.attr("axis", 0), x.type.rank)
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    return [
        reshaped(call.builder, part(call.builder, x, axis, index, 1), rest)
        for index in range(call.attr("num"))
    ]


def split(call: NodeCall) -> list[Tensor]:
    """Operands: the axis, x."""
    x = call.tensor(1)
    axis, count = (
        call.axis(int(call.numbers(0).reshape(-1)[0]), x.type.rank),
        call.attr("num_splits"),
    )
    size = x.shape[axis] // count
    return [part(call.builder, x, axis, index * size, size) for index in range(count)]


def split_v(call: NodeCall) -> list[Tensor]:
    """Operands: x, sizes (one may be -1), the axis."""
    x, axis = call.tensor(0), call.axis(int(call.numbers(2).reshape(-1)[0]), call.type(0).rank)
    sizes = list(call.sizes(1))
    for index, size in enumerate(sizes):
        if not is_symbolic(size) and size == -1:
            sizes[index] = x.shape[axis] - sum(
                other for other_index, other in enumerate(sizes) if other_index != index
            )
    return [
        part(call.builder, x, axis, sum(sizes[:index]), size) for index, size in enumerate(sizes)
    ]


def slice_(call: NodeCall) -> Tensor:
    """Slice by begins and sizes; a size of -1 means all remaining elements. Begins that are not
    constant are gathered.
    """
    x, counts = call.tensor(0), call.sizes(2)
    if call.operand(1).value is None:
        return moving_slice(
            call,
            x,
            call.tensor(1),
            [size if counts[d] == -1 else counts[d] for d, size in enumerate(x.shape)],
        )
    begins = call.sizes(1)
    sizes = tuple(
        x.shape[d] - begins[d] if not is_symbolic(count) and count == -1 else count
        for d, count in enumerate(counts)
    )
    return call.op("Slice", [x], {"starts": begins, "sizes": sizes, "steps": (1,) * x.type.rank})


def moving_slice(call: NodeCall, x: Tensor, begins: Tensor, sizes: Sequence[Size]) -> Tensor:
    """Slice at positions that are computed at run time."""
    b = call.builder
    for axis, count in enumerate(sizes):
        if count == x.shape[axis] and not is_symbolic(count):
            continue
        start = reshaped(b, part(b, begins, 0, axis, 1), ())
        indices = call.op(
            "Add", [b.op("Iota", [], {"size": count, "dtype": "int32"}), cast(b, start, "int32")]
        )
        x = call.op("Gather", [x, indices], {"axis": axis})
    return x


def strided_slice(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    if any(call.operand(index).value is None for index in (1, 2)):
        return elements_at(call)
    parts, shape = strided(call, x.shape)
    y = call.op("Slice", [x], {"starts": parts[0], "sizes": parts[1], "steps": parts[2]})
    return reshaped(call.builder, y, shape)


def strided(call: NodeCall, own: Sequence[Size]) -> tuple[tuple[Shape, ...], Shape]:
    """The starts, sizes and steps over the axes of x, and the shape of the result, from the node's
    masks.
    """
    begins, ends, steps = (call.sizes(index) for index in (1, 2, 3))
    rank = len(own)
    marked = masks(call)
    starts: list[Size] = []
    sizes: list[Size] = []
    strides: list[Size] = []
    shape: list[Size] = []
    axis = 0
    for index, step in enumerate(steps):
        if marked("ellipsis", index):
            later = sum(
                1 for other in range(index + 1, len(steps)) if not marked("new_axis", other)
            )
            while axis < rank - later:
                starts.append(0)
                sizes.append(own[axis])
                strides.append(1)
                shape.append(own[axis])
                axis += 1
            continue
        if marked("new_axis", index):
            shape.append(1)
            continue
        if axis >= rank:
            raise call.error(f"slices {len(steps)} axes, its operand has {rank}")
        size = own[axis]
        if marked("shrink_axis", index):
            first = 0 if marked("begin", index) else begins[index]
            starts.append(first if is_symbolic(first) or first >= 0 else first + size)
            sizes.append(1)
            strides.append(1)
        else:
            far = 1 << 30
            first = (0 if step > 0 else far) if marked("begin", index) else begins[index]
            end = ends[index] + (begins[index] if call.attr("offset", 0) else 0)
            last = (far if step > 0 else -far) if marked("end", index) else end
            start, count = bounds(size, first, last, step)
            starts.append(start)
            sizes.append(count)
            strides.append(step)
            shape.append(count)
        axis += 1
    for size in own[axis:]:
        starts.append(0)
        sizes.append(size)
        strides.append(1)
        shape.append(size)
    return (tuple(starts), tuple(sizes), tuple(strides)), tuple(shape)


def mirror_pad(call: NodeCall) -> Tensor:
    x, pads = call.tensor(0), flat(call, 1)
    low, high = tuple(pads[0::2]), tuple(pads[1::2])
    if call.attr("mode") == "REFLECT":
        return call.op("PadFrom", [x], {"low": low, "high": high, "mode": "reflect"})
    b = call.builder
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        size = x.shape[axis]
        pieces = [reversed_along(b, part(b, x, axis, 0, before), axis)] if before else []
        pieces.append(x)
        pieces += [reversed_along(b, part(b, x, axis, size - after, after), axis)] if after else []
        x = pieces[0] if len(pieces) == 1 else call.op("Concat", pieces, {"axis": axis})
    return x


def reverse(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    for axis in call.integers(1):
        x = reversed_along(call.builder, x, call.axis(axis, x.type.rank))
    return x


SLICES: dict[str, NodeHandler] = {
    "UNPACK": unpack,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SLICE": slice_,
    "STRIDED_SLICE": strided_slice,
    "MIRROR_PAD": mirror_pad,
    "REVERSE_V2": reverse,
}
