"""Operators that rearrange elements: reshape, slice, concatenate, pad and similar."""

from collections.abc import Sequence
from math import prod

import numpy as np

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.nodes.ranges import arithmetic_sequence
from webkiln.frontends.onnx.operators.elementwise import cast, dtype_of, part
from webkiln.ir.dim import Shape, Size, is_symbolic
from webkiln.ir.rational import truncated_quotient
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.pads import pad_or_crop
from webkiln.ops.functional.rearrange import (
    depth_to_space,
    expand,
    reshape_inferred,
    space_to_depth,
    tile,
    unsqueeze,
)
from webkiln.ops.functional.slices import bounds
from webkiln.ops.pieces import squeezed


def reshaped(call: NodeCall, x: Tensor, shape: Sequence[Size]) -> Tensor:
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
    return reshape_inferred(call.builder, x, shape)


def flatten(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axis = call.attr("axis", 1)
    axis = axis + x.type.rank if axis < 0 else axis
    return reshaped(call, x, (prod(x.shape[:axis]), prod(x.shape[axis:])))


def axes_of(call: NodeCall, position: int, rank: int) -> tuple[int, ...] | None:
    """Axes from an operand or, in older opsets, an attribute; None if the node has neither."""
    axes = call.integers(position) if call.has(position) else call.attr("axes")
    return None if axes is None else tuple(call.axis(axis, rank) for axis in axes)


def squeeze(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axes = axes_of(call, 1, x.type.rank)
    if axes is None:
        return squeezed(call.builder, x)
    return reshaped(call, x, [size for axis, size in enumerate(x.shape) if axis not in axes])


def insert_axes(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    count = len(call.sizes(1) if call.has(1) else call.attr("axes"))
    return unsqueeze(call.builder, x, axes_of(call, 1, x.type.rank + count) or ())


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
        axes = call.attr("axes") or tuple(range(len(starts)))
        steps: Shape = (1,) * len(starts)
    else:
        starts, ends = call.sizes(1), call.sizes(2)
        axes = call.integers(3) if call.has(3) else tuple(range(len(starts)))
        steps = call.sizes(4) if call.has(4) else (1,) * len(starts)
    begin: list[Size] = [0] * x.type.rank
    sizes = list(x.shape)
    step: list[Size] = [1] * x.type.rank
    for start, end, axis, stride in zip(starts, ends, axes, steps, strict=True):
        index = call.axis(axis, x.type.rank)
        begin[index], sizes[index] = bounds(x.shape[index], start, end, stride)
        step[index] = stride
    return call.op(
        "Slice", [x], {"starts": tuple(begin), "sizes": tuple(sizes), "steps": tuple(step)}
    )


def expand_to(call: NodeCall) -> Tensor:
    """Broadcast in both directions."""
    return expand(call.builder, call.tensor(0), call.sizes(1))


def tile_by(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    if call.version < 6:
        axis = call.sizes(2)[0]
        repeats = tuple(call.sizes(1)[0] if d == axis else 1 for d in range(x.type.rank))
    else:
        repeats = call.sizes(1)
    return tile(call.builder, x, repeats)


def constant_of_shape(call: NodeCall) -> Tensor:
    value = call.attr_array("value")
    fill = np.zeros(1, np.float32) if value is None else value
    return call.op("Broadcast", [call.constant(fill.reshape(()))], {"shape": call.sizes(0)})


def iota(call: NodeCall, size: Size, dtype: str) -> Tensor:
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


def deep_to_wide(call: NodeCall) -> Tensor:
    depth_first = call.attr("mode", "DCR") == "DCR"
    return depth_to_space(
        call.builder, call.tensor(0), call.attr("blocksize"), depth_first=depth_first
    )


def wide_to_deep(call: NodeCall) -> Tensor:
    depth_first = call.attr("mode", "DCR") == "DCR"
    return space_to_depth(
        call.builder, call.tensor(0), call.attr("blocksize"), depth_first=depth_first
    )


def pad(call: NodeCall) -> Tensor:
    """Negative counts crop."""
    x = call.tensor(0)
    pads = list(call.sizes(1)) if call.has(1) else list(call.attr("pads") or call.attr("paddings"))
    axes = (
        [call.axis(axis, x.type.rank) for axis in call.integers(3)]
        if call.has(3)
        else list(range(x.type.rank))
    )
    low: list[Size] = [0] * x.type.rank
    high: list[Size] = [0] * x.type.rank
    for position, axis in enumerate(axes):
        low[axis], high[axis] = pads[position], pads[position + len(axes)]
    value = call.number_or_tensor(2) if call.has(2) else call.attr("value", 0.0)
    return pad_or_crop(call.builder, x, low, high, mode=call.attr("mode", "constant"), value=value)


def center_crop_pad(call: NodeCall) -> Tensor:
    x, target = call.tensor(0), call.sizes(1)
    axes = [call.axis(axis, x.type.rank) for axis in call.attr("axes", range(x.type.rank))]
    low: list[Size] = [0] * x.type.rank
    high: list[Size] = [0] * x.type.rank
    for axis, size in zip(axes, target, strict=True):
        added = size - x.shape[axis]
        low[axis] = truncated_quotient(added, 2)
        high[axis] = added - low[axis]
    return pad_or_crop(call.builder, x, low, high)


SHAPE: dict[str, NodeHandler] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": insert_axes,
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "Slice": slice_,
    "Expand": expand_to,
    "Tile": tile_by,
    "ConstantOfShape": constant_of_shape,
    "Range": arithmetic_sequence,
    "EyeLike": eye_like,
    "Trilu": trilu,
    "DepthToSpace": deep_to_wide,
    "SpaceToDepth": wide_to_deep,
    "Pad": pad,
    "CenterCropPad": center_crop_pad,
}
