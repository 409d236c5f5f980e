"""Operators that move elements: reshape, slice, concatenate, pad, space to batch."""

from collections.abc import Sequence
from math import prod

from webkiln.frontends.nodes.blocks import batch_to_space, space_to_batch
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.nodes.strided_slice import elements_at, masks
from webkiln.frontends.onnx.operators.shape import bounds
from webkiln.frontends.tflite.operators.fused import activated
from webkiln.frontends.tflite.operators.integers import (
    bounded,
    factor,
    given,
    has,
    is_quantized,
    limits,
    number,
    out_dtype,
    out_zero,
    own,
    zero,
)
from webkiln.ir.dim import is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import (
    blocks_to_space,
    cast,
    part,
    reshaped,
    space_to_blocks,
    stacked,
    transposed,
    widened,
)


def flat(call: NodeCall, place: int) -> tuple[int, ...]:
    """A constant table of integers, row by row."""
    return tuple(
        size if is_symbolic(size) else int(size) for size in call.value(place).reshape(-1).tolist()
    )


def reshape(call: NodeCall) -> Tensor:
    """-1 is inferred."""
    x = call.tensor(0)
    shape = list(call.sizes(1) if has(call, 1) else call.attr("new_shape", ()))
    if not has(call, 1) and shape == [0]:
        shape = []
    for place, size in enumerate(shape):
        if not is_symbolic(size) and size == -1:
            rest = prod(other for other_place, other in enumerate(shape) if other_place != place)
            shape[place] = x.type.size // rest if is_symbolic(rest) or rest else 0
    return reshaped(call.builder, x, shape)


def squeeze(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axes = {call.axis(axis, x.type.rank) for axis in call.attr("squeeze_dims", ())}
    return reshaped(
        call.builder,
        x,
        [size for axis, size in enumerate(x.shape) if (axis not in axes if axes else size != 1)],
    )


def expand_dims(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axis = call.axis(int(call.numbers(1).reshape(-1)[0]), x.type.rank + 1)
    return reshaped(call.builder, x, (*x.shape[:axis], 1, *x.shape[axis:]))


def transpose(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return transposed(call.builder, x, [call.axis(axis, x.type.rank) for axis in call.sizes(1)])


def concatenation(call: NodeCall) -> Tensor:
    """uint8 operands with other scales are rescaled to that of the result."""
    parts = given(call)
    for place, x in enumerate(parts):
        if f"ratio{place}" in call.attr("extra", ()):
            parts[place] = _rescaled(call, x, place)
    axis = call.axis(call.attr("axis", 0), parts[0].type.rank)
    y = parts[0] if len(parts) == 1 else call.op("Concat", parts, {"axis": axis})
    return y if is_quantized(call) else activated(call, y)


def _rescaled(call: NodeCall, x: Tensor, place: int) -> Tensor:
    b = call.builder
    real = call.op(
        "Add",
        [
            call.op("Mul", [cast(b, x, "float32"), factor(call, f"ratio{place}")]),
            factor(call, f"move{place}"),
        ],
    )
    half = call.op(
        "Where",
        [
            b.binary("Less", real, 0.0),
            call.constant(-0.5, "float32"),
            call.constant(0.5, "float32"),
        ],
    )
    whole = call.op(
        "Add", [cast(b, call.op("Add", [real, half]), "int32"), number(call, out_zero(call))]
    )
    return cast(b, bounded(call, whole, *limits(x.dtype)), x.dtype)


def pack(call: NodeCall) -> Tensor:
    return stacked(call.builder, given(call), call.attr("axis", 0))


def unpack(call: NodeCall) -> list[Tensor]:
    x = call.tensor(0)
    axis = call.axis(call.attr("axis", 0), x.type.rank)
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    return [
        reshaped(call.builder, part(call.builder, x, axis, place, 1), rest)
        for place in range(call.attr("num"))
    ]


def split(call: NodeCall) -> list[Tensor]:
    """Operands: the axis, x."""
    x = call.tensor(1)
    axis, count = (
        call.axis(int(call.numbers(0).reshape(-1)[0]), x.type.rank),
        call.attr("num_splits"),
    )
    size = x.shape[axis] // count
    return [part(call.builder, x, axis, place * size, size) for place in range(count)]


def split_v(call: NodeCall) -> list[Tensor]:
    """Operands: x, sizes (one may be -1), the axis."""
    x, axis = call.tensor(0), call.axis(int(call.numbers(2).reshape(-1)[0]), call.type(0).rank)
    sizes = list(call.sizes(1))
    for place, size in enumerate(sizes):
        if not is_symbolic(size) and size == -1:
            sizes[place] = x.shape[axis] - sum(
                other for other_place, other in enumerate(sizes) if other_place != place
            )
    return [
        part(call.builder, x, axis, sum(sizes[:place]), size) for place, size in enumerate(sizes)
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


def moving_slice(call: NodeCall, x: Tensor, begins: Tensor, sizes: Sequence[int]) -> Tensor:
    """Slice at positions that are computed at run time."""
    b = call.builder
    for axis, count in enumerate(sizes):
        if count == x.shape[axis] and not is_symbolic(count):
            continue
        start = reshaped(b, part(b, begins, 0, axis, 1), ())
        places = call.op(
            "Add", [b.op("Iota", [], {"size": count, "dtype": "int32"}), cast(b, start, "int32")]
        )
        x = call.op("Gather", [x, places], {"axis": axis})
    return x


def strided_slice(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    if any(call.operand(place).value is None for place in (1, 2)):
        return elements_at(call)
    parts, shape = strided(call, x.shape)
    y = call.op("Slice", [x], {"starts": parts[0], "sizes": parts[1], "steps": parts[2]})
    return reshaped(call.builder, y, shape)


def strided(
    call: NodeCall, own: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """The starts, sizes and steps over the axes of x, and the shape of the result, from the node's
    masks.
    """
    begins, ends, steps = (call.sizes(place) for place in (1, 2, 3))
    rank = len(own)
    marked = masks(call)
    starts, sizes, strides, shape = [], [], [], []
    axis = 0
    for place, step in enumerate(steps):
        if marked("ellipsis", place):
            later = sum(
                1 for other in range(place + 1, len(steps)) if not marked("new_axis", other)
            )
            while axis < rank - later:
                starts.append(0)
                sizes.append(own[axis])
                strides.append(1)
                shape.append(own[axis])
                axis += 1
            continue
        if marked("new_axis", place):
            shape.append(1)
            continue
        if axis >= rank:
            raise call.error(f"slices {len(steps)} axes, its operand has {rank}")
        size = own[axis]
        if marked("shrink_axis", place):
            first = 0 if marked("begin", place) else begins[place]
            starts.append(first if is_symbolic(first) or first >= 0 else first + size)
            sizes.append(1)
            strides.append(1)
        else:
            far = 1 << 30
            first = (0 if step > 0 else far) if marked("begin", place) else begins[place]
            end = ends[place] + (begins[place] if call.attr("offset", 0) else 0)
            last = (far if step > 0 else -far) if marked("end", place) else end
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


def pad(call: NodeCall) -> Tensor:
    """Pad with zeros, with the zero point of integers, or with the third operand."""
    x, pads = call.tensor(0), flat(call, 1)
    low, high = tuple(pads[0::2]), tuple(pads[1::2])
    if has(call, 2):
        value = call.operand(2)
        if not value.is_constant:
            inside = call.op(
                "Pad",
                [call.op("Broadcast", [call.constant(1, "bool")], {"shape": x.shape})],
                {"low": low, "high": high},
            )
            wide = call.op("Pad", [x], {"low": low, "high": high})
            return call.op("Where", [inside, wide, reshaped(call.builder, call.tensor(2), ())])
        fill = call.scalar(2, 0)
    else:
        fill = out_zero(call) if is_quantized(call) else 0
    return call.op("Pad", [x], {"low": low, "high": high, "value": fill})


def mirror_pad(call: NodeCall) -> Tensor:
    x, pads = call.tensor(0), flat(call, 1)
    low, high = tuple(pads[0::2]), tuple(pads[1::2])
    if call.attr("mode") == "REFLECT":
        return call.op("PadFrom", [x], {"low": low, "high": high, "mode": "reflect"})
    b = call.builder
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        size = x.shape[axis]
        pieces = [_turned(call, part(b, x, axis, 0, before), axis)] if before else []
        pieces.append(x)
        pieces += [_turned(call, part(b, x, axis, size - after, after), axis)] if after else []
        x = pieces[0] if len(pieces) == 1 else call.op("Concat", pieces, {"axis": axis})
    return x


def _turned(call: NodeCall, x: Tensor, axis: int) -> Tensor:
    starts = tuple(size - 1 if d == axis else 0 for d, size in enumerate(x.shape))
    return call.op(
        "Slice",
        [x],
        {
            "starts": starts,
            "sizes": x.shape,
            "steps": tuple(-1 if d == axis else 1 for d in range(x.type.rank)),
        },
    )


def reverse(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    for axis in call.sizes(1):
        x = _turned(call, x, call.axis(axis, x.type.rank))
    return x


def tile(call: NodeCall) -> Tensor:
    x, repeats = call.tensor(0), call.sizes(1)
    apart = reshaped(call.builder, x, [size for part_ in x.shape for size in (1, part_)])
    wide = widened(
        call.builder, apart, [size for pair in zip(repeats, x.shape, strict=True) for size in pair]
    )
    return reshaped(
        call.builder, wide, [count * size for count, size in zip(repeats, x.shape, strict=True)]
    )


def broadcast_to(call: NodeCall) -> Tensor:
    return widened(call.builder, call.tensor(0), call.sizes(1))


def fill(call: NodeCall) -> Tensor:
    return call.op(
        "Broadcast", [reshaped(call.builder, call.tensor(1), ())], {"shape": call.sizes(0)}
    )


def range_(call: NodeCall) -> Tensor:
    start, limit, step = (call.numbers(place).reshape(()).item() for place in range(3))
    if step == 0:
        raise call.error("its step is 0")
    count = (
        max(0, -int(-((limit - start) / step) // 1))
        if isinstance(start, float)
        else max(0, -(-(limit - start) // step))
    )
    dtype = out_dtype(call)
    steps = call.op("Iota", [], {"size": count, "dtype": dtype})
    return call.op(
        "Add", [call.op("Mul", [steps, call.constant(step, dtype)]), call.constant(start, dtype)]
    )


def depth_to_space(call: NodeCall) -> Tensor:
    return blocks_to_space(call.builder, call.tensor(0), call.attr("block_size"))


def space_to_depth(call: NodeCall) -> Tensor:
    return space_to_blocks(call.builder, call.tensor(0), call.attr("block_size"))


def space_to_batch_nd(call: NodeCall) -> Tensor:
    pads = flat(call, 2)
    value = zero(call) if is_quantized(call) else 0
    return space_to_batch(
        call.builder,
        call.tensor(0),
        call.sizes(1),
        list(zip(pads[0::2], pads[1::2], strict=True)),
        value,
    )


def batch_to_space_nd(call: NodeCall) -> Tensor:
    crops = flat(call, 2)
    return batch_to_space(
        call.builder,
        call.tensor(0),
        call.sizes(1),
        list(zip(crops[0::2], crops[1::2], strict=True)),
    )


def dilate(call: NodeCall) -> Tensor:
    """Dilate: insert a value between elements."""
    b, x, steps = call.builder, call.tensor(0), call.sizes(1)
    for axis, step in enumerate(steps):
        if step > 1:
            high = tuple(step - 1 if d == axis + 1 else 0 for d in range(x.type.rank + 1))
            apart = reshaped(b, x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
            value = call.scalar(2, 0) if own(call) > 2 else 0
            wide = call.op(
                "Pad", [apart], {"low": (0,) * (x.type.rank + 1), "high": high, "value": value}
            )
            whole = reshaped(b, wide, (*x.shape[:axis], x.shape[axis] * step, *x.shape[axis + 1 :]))
            x = part(b, whole, axis, 0, (x.shape[axis] - 1) * step + 1)
    return x


SHAPE: dict[str, NodeHandler] = {
    "RESHAPE": reshape,
    "SQUEEZE": squeeze,
    "EXPAND_DIMS": expand_dims,
    "TRANSPOSE": transpose,
    "CONCATENATION": concatenation,
    "PACK": pack,
    "UNPACK": unpack,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SLICE": slice_,
    "STRIDED_SLICE": strided_slice,
    "PAD": pad,
    "PADV2": pad,
    "MIRROR_PAD": mirror_pad,
    "REVERSE_V2": reverse,
    "TILE": tile,
    "BROADCAST_TO": broadcast_to,
    "FILL": fill,
    "RANGE": range_,
    "DEPTH_TO_SPACE": depth_to_space,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPACE_TO_BATCH_ND": space_to_batch_nd,
    "BATCH_TO_SPACE_ND": batch_to_space_nd,
    "DILATE": dilate,
}
