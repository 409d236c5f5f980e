"""Raw operators that move elements. https://www.tensorflow.org/api_docs/python/tf/raw_ops"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from webkiln.frontends.nodes import blocks
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.nodes.ranges import arithmetic_sequence
from webkiln.frontends.nodes.strided_slice import elements_at, masks
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import shapes
from webkiln.ops.functional.indexing import get_item
from webkiln.ops.functional.indexing import slice_ as slice_at
from webkiln.ops.functional.pads import pad_with
from webkiln.ops.pieces import broadcast_input, filled, iota, part


def reshape(call: NodeCall) -> Tensor:
    return shapes.reshape(call.builder, call.tensor(0), call.sizes(1))


def expand_dims(call: NodeCall) -> Tensor:
    return shapes.expand_dims(call.builder, call.tensor(0), call.integers(1))


def squeeze(call: NodeCall) -> Tensor:
    return shapes.squeeze(call.builder, call.tensor(0), call.attr("squeeze_dims") or None)


def transpose(call: NodeCall) -> Tensor:
    return shapes.transpose(call.builder, call.tensor(0), call.integers(1))


def concat(call: NodeCall) -> Tensor:
    """`ConcatV2` has the axis after the operands, `Concat` before them."""
    last = call.spec.op == "ConcatV2"
    positions = range(len(call) - 1) if last else range(1, len(call))
    (axis,) = call.integers(len(call) - 1 if last else 0)
    tensors = [call.tensor(position) for position in positions]
    return (
        tensors[0]
        if len(tensors) == 1
        else call.op("Concat", tensors, {"axis": call.axis(axis, tensors[0].type.rank)})
    )


def pack(call: NodeCall) -> Tensor:
    return shapes.stack(
        call.builder, call.tensors(), call.axis(call.attr("axis", 0), call.type(0).rank + 1)
    )


def unpack(call: NodeCall) -> list[Tensor]:
    return shapes.unstack(
        call.builder, call.tensor(0), call.axis(call.attr("axis", 0), call.type(0).rank)
    )


def split(call: NodeCall) -> list[Tensor]:
    (axis,) = call.integers(0)
    x = call.tensor(1)
    return shapes.split(call.builder, x, call.attr("num_split"), call.axis(axis, x.type.rank))


def split_v(call: NodeCall) -> list[Tensor]:
    x, (axis,) = call.tensor(0), call.integers(2)
    axis = call.axis(axis, x.type.rank)
    declared = call.sizes(1)
    total = sum(size for size in declared if size != -1)
    sizes = [
        x.shape[axis] - total if not is_symbolic(size) and size == -1 else size for size in declared
    ]
    starts = [0, *accumulate(sizes)]
    return [
        part(call.builder, x, axis, start, size) for start, size in zip(starts, sizes, strict=False)
    ]


def slice_(call: NodeCall) -> Tensor:
    x, sizes = call.tensor(0), call.sizes(2)
    if call.operand(1).value is None:
        if any(not is_symbolic(size) and size == -1 for size in sizes):
            raise call.data_dependent_error(1)
        return slice_at(call.builder, x, call.tensor(1), sizes)
    starts = call.sizes(1)
    lengths = [
        x.shape[axis] - starts[axis] if not is_symbolic(size) and size == -1 else size
        for axis, size in enumerate(sizes)
    ]
    return call.op(
        "Slice",
        [x],
        {"starts": tuple(starts), "sizes": tuple(lengths), "steps": (1,) * x.type.rank},
    )


def key_of(call: NodeCall, position: int = 1) -> tuple[object, ...]:
    """A StridedSlice as Python slices."""
    starts, ends, strides = (call.sizes(number) for number in range(position, position + 3))
    is_set = masks(call)
    key: list[object] = []
    for number, (start, stop, step) in enumerate(zip(starts, ends, strides, strict=True)):
        if is_set("ellipsis", number):
            key.append(Ellipsis)
        elif is_set("new_axis", number):
            key.append(None)
        elif is_set("shrink_axis", number):
            key.append(start)
        else:
            key.append(
                slice(
                    None if is_set("begin", number) else start,
                    None if is_set("end", number) else stop,
                    step,
                )
            )
    return tuple(key)


def strided_slice(call: NodeCall) -> Tensor:
    if call.operand(1).value is None:
        return elements_at(call)
    return get_item(call.builder, call.tensor(0), key_of(call))


def pad(call: NodeCall) -> Tensor:
    pairs = call.value(1).tolist()
    low, high = (tuple(pair[side] for pair in pairs) for side in (0, 1))
    if call.has(2):
        return pad_with(call.builder, call.tensor(0), low, high, call.number_or_tensor(2))
    return call.op("Pad", [call.tensor(0)], {"low": low, "high": high})


def mirror_pad(call: NodeCall) -> Tensor:
    pairs = call.value(1).tolist()
    mode = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}[call.attr("mode")]
    return shapes.pad(call.builder, call.tensor(0), pairs, mode)


def tile(call: NodeCall) -> Tensor:
    return shapes.tile(call.builder, call.tensor(0), call.sizes(1))


def broadcast_to(call: NodeCall) -> Tensor:
    shape = call.sizes(1)
    x = broadcast_input(call.builder, call.tensor(0), shape)
    return shapes.broadcast_to(call.builder, x, shape)


def fill(call: NodeCall) -> Tensor:
    value = call.tensor(1)
    return call.op("Broadcast", [value], {"shape": tuple(call.sizes(0))})


def lin_space(call: NodeCall) -> Tensor:
    start, stop = call.tensor(0), call.tensor(1)
    (count,) = call.integers(2)
    if count == 1:
        return call.op("Reshape", [start], {"shape": (1,)})
    step = (stop - start) / call.like(float(count - 1), start)
    return start + iota(call.builder, count, start.dtype) * step


def reverse(call: NodeCall) -> Tensor:
    """`ReverseV2` has axes, `Reverse` a boolean per axis."""
    x = call.tensor(0)
    axes = (
        call.integers(1)
        if call.spec.op == "ReverseV2"
        else [axis for axis, is_turned in enumerate(call.numbers(1).tolist()) if is_turned]
    )
    return (
        shapes.flip(call.builder, x, [call.axis(axis, x.type.rank) for axis in axes])
        if len(axes)
        else x
    )


def roll(call: NodeCall) -> Tensor:
    return shapes.roll(call.builder, call.tensor(0), call.sizes(1), call.integers(2))


def shape_n(call: NodeCall) -> list[Tensor]:
    return [_shape(call, x.shape) for x in call.tensors()]


def _shape(call: NodeCall, shape: Sequence[Size]) -> Tensor:
    return call.op("Sizes", [], {"sizes": tuple(shape), "dtype": call.attr("out_type", "int32")})


def _block(call: NodeCall) -> tuple[tuple[int, ...], list[list[Size]]]:
    """The block sizes, and the padding or cropping: operands or, for older operators, one number
    for both axes and an operand.
    """
    if "block_size" in call.spec.attrs:
        return (call.attr("block_size"),) * 2, call.value(1).tolist()
    return call.integers(1), call.value(2).tolist()


def space_to_batch(call: NodeCall) -> Tensor:
    return blocks.space_to_batch(call.builder, call.tensor(0), *_block(call))


def batch_to_space(call: NodeCall) -> Tensor:
    return blocks.batch_to_space(call.builder, call.tensor(0), *_block(call))


def zeros(call: NodeCall) -> Tensor:
    return filled(call.builder, 0, call.attr("dtype", "float32"), call.sizes(0))


SHAPE: Mapping[str, NodeHandler] = {
    "Reshape": reshape,
    "ExpandDims": expand_dims,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "ConcatV2": concat,
    "Concat": concat,
    "Pack": pack,
    "ParallelConcat": lambda call: call.op("Concat", call.tensors(), {"axis": 0}),
    "Unpack": unpack,
    "Split": split,
    "SplitV": split_v,
    "Slice": slice_,
    "StridedSlice": strided_slice,
    "Pad": pad,
    "PadV2": pad,
    "MirrorPad": mirror_pad,
    "Tile": tile,
    "BroadcastTo": broadcast_to,
    "Fill": fill,
    "Range": arithmetic_sequence,
    "LinSpace": lin_space,
    "ReverseV2": reverse,
    "Reverse": reverse,
    "Roll": roll,
    "ShapeN": shape_n,
    "SpaceToBatchND": space_to_batch,
    "BatchToSpaceND": batch_to_space,
    "SpaceToBatch": space_to_batch,
    "BatchToSpace": batch_to_space,
    "Empty": zeros,
}
