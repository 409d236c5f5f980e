"""Operators that rearrange elements: reshape, slice, concatenate, pad and similar."""

from collections.abc import Sequence
from math import prod

import numpy as np

from webkiln.frontends.nodes import padding
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.nodes.ranges import arithmetic_sequence
from webkiln.frontends.onnx.operators.elementwise import cast, dtype_of, part
from webkiln.ir.dim import is_symbolic, maximum
from webkiln.ir.rational import truncated_quotient
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.slices import bounds
from webkiln.ops.pieces import broadcast_input, one_or, squeezed


def reshaped(call: NodeCall, x: Tensor, shape: Sequence[int]) -> Tensor:
    return x if tuple(shape) == x.shape else call.op("Reshape", [x], {"shape": tuple(shape)})


def transposed(call: NodeCall, x: Tensor, perm: Sequence[int]) -> Tensor:
    return (
        x
        if tuple(perm) == tuple(range(len(perm)))
        else call.op("Transpose", [x], {"perm": tuple(perm)})
    )


def reshape(call: NodeCall) -> Tensor:
    """0 copies a size, -1 is inferred."""
    x = call.tensor(0)
    target = call.sizes(1) if call.has(1) else call.attr("shape", ())
    shape = [
        (
            x.shape[axis]
            if not is_symbolic(size) and size == 0 and not call.attr("allowzero", 0)
            else size
        )
        for axis, size in enumerate(target)
    ]
    if any(not is_symbolic(size) and size == -1 for size in shape):
        open_axis = next(
            axis for axis, size in enumerate(shape) if not is_symbolic(size) and size == -1
        )
        rest = prod(size for axis, size in enumerate(shape) if axis != open_axis)
        shape[open_axis] = 0 if not is_symbolic(rest) and rest == 0 else x.type.size // rest
    return reshaped(call, x, shape)


def flatten(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axis = call.attr("axis", 1)
    axis = axis + x.type.rank if axis < 0 else axis
    return reshaped(call, x, (prod(x.shape[:axis]), prod(x.shape[axis:])))


def axes_of(call: NodeCall, position: int, rank: int) -> tuple[int, ...] | None:
    """Axes from an operand or, in older opsets, an attribute; None if the node has neither."""
    axes = call.sizes(position) if call.has(position) else call.attr("axes")
    return None if axes is None else tuple(call.axis(axis, rank) for axis in axes)


def squeeze(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axes = axes_of(call, 1, x.type.rank)
    if axes is None:
        return squeezed(call.builder, x)
    return reshaped(call, x, [size for axis, size in enumerate(x.shape) if axis not in axes])


def unsqueeze(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    count = len(call.sizes(1) if call.has(1) else call.attr("axes"))
    axes = axes_of(call, 1, x.type.rank + count) or ()
    sizes = iter(x.shape)
    return reshaped(
        call, x, [1 if axis in axes else next(sizes) for axis in range(x.type.rank + count)]
    )


def transpose(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return transposed(call, x, call.attr("perm") or tuple(reversed(range(x.type.rank))))


def concat(call: NodeCall) -> Tensor:
    parts = call.tensors()
    axis = call.axis(call.attr("axis", 1), parts[0].type.rank)
    return call.op("Concat", parts, {"axis": axis})


def split(call: NodeCall) -> list[Tensor]:
    x = call.tensor(0)
    axis = call.axis(call.attr("axis", 0), x.type.rank)
    size = x.shape[axis]
    sizes = call.sizes(1) if call.has(1) else call.attr("split")
    if sizes is None:
        count = call.attr("num_outputs", call.outputs)
        each = -(-size // count)
        sizes = [each] * (count - 1) + [size - each * (count - 1)]
    starts = [sum(sizes[:position]) for position in range(len(sizes))]
    return [part(call, x, axis, start, count) for start, count in zip(starts, sizes, strict=True)]


def slice_(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    if call.version < 10:
        starts, ends = call.attr("starts"), call.attr("ends")
        axes, steps = call.attr("axes") or tuple(range(len(starts))), (1,) * len(starts)
    else:
        starts, ends = call.sizes(1), call.sizes(2)
        axes = call.sizes(3) if call.has(3) else tuple(range(len(starts)))
        steps = call.sizes(4) if call.has(4) else (1,) * len(starts)
    begin, sizes, step = [0] * x.type.rank, list(x.shape), [1] * x.type.rank
    for start, end, axis, stride in zip(starts, ends, axes, steps, strict=True):
        index = call.axis(axis, x.type.rank)
        begin[index], sizes[index] = bounds(x.shape[index], start, end, stride)
        step[index] = stride
    return call.op(
        "Slice", [x], {"starts": tuple(begin), "sizes": tuple(sizes), "steps": tuple(step)}
    )


def expand(call: NodeCall) -> Tensor:
    """Broadcast in both directions."""
    shape = call.sizes(1)
    x = broadcast_input(call.builder, call.tensor(0), shape)
    rank = max(x.type.rank, len(shape))
    own, target = (1,) * (rank - x.type.rank) + x.shape, (1,) * (rank - len(shape)) + tuple(shape)
    sizes = tuple(
        _broadcast_size(call, a, b) if is_symbolic(b) and not is_symbolic(a) else a if b == 1 else b
        for a, b in zip(own, target, strict=True)
    )
    return call.op("Broadcast", [x], {"shape": sizes})


def _broadcast_size(call: NodeCall, own: int, target: int) -> int:
    """The size that an axis of a known size is broadcast to. A target that is open may be 1 when
    the model runs; a guard rejects all other sizes.
    """
    if own == 1:
        return target
    one_or(call.builder, target, own)
    return own


def tile(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    if call.version < 6:
        axis = call.sizes(2)[0]
        repeats = tuple(call.sizes(1)[0] if d == axis else 1 for d in range(x.type.rank))
    else:
        repeats = call.sizes(1)
    wide = [size for pair in zip(repeats, x.shape, strict=True) for size in pair]
    unsqueezed = reshaped(call, x, [size for own in x.shape for size in (1, own)])
    repeated = call.op("Broadcast", [unsqueezed], {"shape": tuple(wide)})
    return reshaped(
        call, repeated, [count * size for count, size in zip(repeats, x.shape, strict=True)]
    )


def constant_of_shape(call: NodeCall) -> Tensor:
    value = call.attr_array("value")
    fill = np.zeros(1, np.float32) if value is None else value
    return call.op("Broadcast", [call.constant(fill.reshape(()))], {"shape": call.sizes(0)})


def iota(call: NodeCall, size: int, dtype: str) -> Tensor:
    """0, 1, ..., size - 1."""
    return call.op("Iota", [], {"size": size, "dtype": dtype})


def eye_like(call: NodeCall) -> Tensor:
    rows, columns = call.type(0).shape
    dtype = dtype_of(call, "dtype", call.type(0).dtype)
    down = reshaped(call, iota(call, rows, "int32"), (rows, 1)) + call.attr("k", 0)
    return cast(call, call.op("Equal", [down, iota(call, columns, "int32")]), dtype)


def trilu(call: NodeCall) -> Tensor:
    """The elements on one side of a diagonal, zeros elsewhere."""
    x = call.tensor(0)
    rows, columns = x.shape[-2:]
    k = cast(call, call.tensor(1), "int32") if call.has(1) else call.constant(0, "int32")
    diagonal = call.op(
        "Add", [reshaped(call, iota(call, rows, "int32"), (rows, 1)), reshaped(call, k, ())]
    )
    is_kept = call.op(
        "GreaterEqual" if call.attr("upper", 1) else "LessEqual",
        [iota(call, columns, "int32"), diagonal],
    )
    return call.op("Where", [is_kept, x, call.like(0, x)])


def depth_to_space(call: NodeCall) -> Tensor:
    x, block = call.tensor(0), call.attr("blocksize")
    n, c, h, w = x.shape
    if call.attr("mode", "DCR") == "DCR":
        split_, perm = (n, block, block, c // block**2, h, w), (0, 3, 4, 1, 5, 2)
    else:
        split_, perm = (n, c // block**2, block, block, h, w), (0, 1, 4, 2, 5, 3)
    return reshaped(
        call,
        transposed(call, reshaped(call, x, split_), perm),
        (n, c // block**2, h * block, w * block),
    )


def space_to_depth(call: NodeCall) -> Tensor:
    x, block = call.tensor(0), call.attr("blocksize")
    n, c, h, w = x.shape
    split_ = reshaped(call, x, (n, c, h // block, block, w // block, block))
    perm = (0, 3, 5, 1, 2, 4) if call.attr("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return reshaped(call, transposed(call, split_, perm), (n, c * block**2, h // block, w // block))


def pad(call: NodeCall) -> Tensor:
    """Negative counts crop."""
    x = call.tensor(0)
    pads = list(call.sizes(1)) if call.has(1) else list(call.attr("pads") or call.attr("paddings"))
    axes = (
        [call.axis(axis, x.type.rank) for axis in call.sizes(3)]
        if call.has(3)
        else list(range(x.type.rank))
    )
    low, high = [0] * x.type.rank, [0] * x.type.rank
    for position, axis in enumerate(axes):
        low[axis], high[axis] = pads[position], pads[position + len(axes)]
    return padded(call, x, low, high, call.attr("mode", "constant"))


def padded(call: NodeCall, x: Tensor, low: list[int], high: list[int], mode: str) -> Tensor:
    for axis, (first, last) in enumerate(zip(low, high, strict=True)):
        crop = (maximum([-first, 0]), maximum([-last, 0]))
        if any(crop):
            x = part(call, x, axis, crop[0], x.shape[axis] - sum(crop))
    before, after = (tuple(maximum([count, 0]) for count in counts) for counts in (low, high))
    if not any((*before, *after)):
        return x
    if mode != "constant":
        return call.op("PadFrom", [x], {"low": before, "high": after, "mode": mode})
    if call.has(2):
        return padding.padded(call, x, before, after, 2)
    attrs = {"low": before, "high": after, "value": call.attr("value", 0.0)}
    return call.op("Pad", [x], attrs)


def center_crop_pad(call: NodeCall) -> Tensor:
    x, target = call.tensor(0), call.sizes(1)
    axes = [call.axis(axis, x.type.rank) for axis in call.attr("axes", range(x.type.rank))]
    low, high = [0] * x.type.rank, [0] * x.type.rank
    for axis, size in zip(axes, target, strict=True):
        added = size - x.shape[axis]
        low[axis] = truncated_quotient(added, 2)
        high[axis] = added - low[axis]
    return padded(call, x, low, high, "constant")


SHAPE: dict[str, NodeHandler] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "Slice": slice_,
    "Expand": expand,
    "Tile": tile,
    "ConstantOfShape": constant_of_shape,
    "Range": arithmetic_sequence,
    "EyeLike": eye_like,
    "Trilu": trilu,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Pad": pad,
    "CenterCropPad": center_crop_pad,
}
