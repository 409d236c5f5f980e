"""Operators that move elements: reshape, concatenate, pad, repeat, space to batch."""

from math import prod

from webkiln.frontends.nodes.blocks import batch_to_space, space_to_batch
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.nodes.ranges import arithmetic_sequence
from webkiln.frontends.tflite.operators.fused import activated
from webkiln.frontends.tflite.operators.integers import (
    bounded,
    factor,
    has,
    is_quantized,
    limits,
    number,
    operand_count,
    operands,
    out_zero,
    zero,
)
from webkiln.frontends.tflite.operators.slices import flat
from webkiln.ir.dim import is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.pads import pad_with
from webkiln.ops.pieces import (
    blocks_to_space,
    broadcast_input,
    cast,
    part,
    reshaped,
    space_to_blocks,
    squeezed,
    stacked,
    transposed,
    widened,
)


def reshape(call: NodeCall) -> Tensor:
    """-1 is inferred."""
    x = call.tensor(0)
    shape = list(call.sizes(1) if has(call, 1) else call.attr("new_shape", ()))
    if not has(call, 1) and shape == [0]:
        shape = []
    for index, size in enumerate(shape):
        if not is_symbolic(size) and size == -1:
            rest = prod(other for other_index, other in enumerate(shape) if other_index != index)
            shape[index] = x.type.size // rest if is_symbolic(rest) or rest else 0
    return reshaped(call.builder, x, shape)


def squeeze(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axes = {call.axis(axis, x.type.rank) for axis in call.attr("squeeze_dims", ())}
    if not axes:
        return squeezed(call.builder, x)
    sizes = [size for axis, size in enumerate(x.shape) if axis not in axes]
    return reshaped(call.builder, x, sizes)


def expand_dims(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axis = call.axis(int(call.numbers(1).reshape(-1)[0]), x.type.rank + 1)
    return reshaped(call.builder, x, (*x.shape[:axis], 1, *x.shape[axis:]))


def transpose(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return transposed(call.builder, x, [call.axis(axis, x.type.rank) for axis in call.integers(1)])


def concatenation(call: NodeCall) -> Tensor:
    """uint8 operands with other scales are rescaled to that of the result."""
    parts = operands(call)
    for index, x in enumerate(parts):
        if f"ratio{index}" in call.attr("extra", ()):
            parts[index] = _rescaled(call, x, index)
    axis = call.axis(call.attr("axis", 0), parts[0].type.rank)
    y = parts[0] if len(parts) == 1 else call.op("Concat", parts, {"axis": axis})
    return y if is_quantized(call) else activated(call, y)


def _rescaled(call: NodeCall, x: Tensor, index: int) -> Tensor:
    b = call.builder
    real = call.op(
        "Add",
        [
            call.op("Mul", [cast(b, x, "float32"), factor(call, f"ratio{index}")]),
            factor(call, f"move{index}"),
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
    result = call.op(
        "Add", [cast(b, call.op("Add", [real, half]), "int32"), number(call, out_zero(call))]
    )
    return cast(b, bounded(call, result, *limits(x.dtype)), x.dtype)


def pack(call: NodeCall) -> Tensor:
    return stacked(call.builder, operands(call), call.attr("axis", 0))


def pad(call: NodeCall) -> Tensor:
    """Pad with zeros, with the zero point of integers, or with the third operand."""
    x, pads = call.tensor(0), flat(call, 1)
    low, high = tuple(pads[0::2]), tuple(pads[1::2])
    if has(call, 2):
        return pad_with(call.builder, x, low, high, call.number_or_tensor(2))
    fill = out_zero(call) if is_quantized(call) else 0
    return call.op("Pad", [x], {"low": low, "high": high, "value": fill})


def tile(call: NodeCall) -> Tensor:
    x, repeats = call.tensor(0), call.sizes(1)
    expanded = reshaped(call.builder, x, [size for part_ in x.shape for size in (1, part_)])
    wide = widened(
        call.builder,
        expanded,
        [size for pair in zip(repeats, x.shape, strict=True) for size in pair],
    )
    return reshaped(
        call.builder, wide, [count * size for count, size in zip(repeats, x.shape, strict=True)]
    )


def broadcast_to(call: NodeCall) -> Tensor:
    shape = call.sizes(1)
    x = broadcast_input(call.builder, call.tensor(0), shape)
    return widened(call.builder, x, shape)


def fill(call: NodeCall) -> Tensor:
    return call.op(
        "Broadcast", [reshaped(call.builder, call.tensor(1), ())], {"shape": call.sizes(0)}
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
            expanded = reshaped(b, x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
            value = call.scalar(2, 0) if operand_count(call) > 2 else 0
            wide = call.op(
                "Pad", [expanded], {"low": (0,) * (x.type.rank + 1), "high": high, "value": value}
            )
            result = reshaped(
                b, wide, (*x.shape[:axis], x.shape[axis] * step, *x.shape[axis + 1 :])
            )
            x = part(b, result, axis, 0, (x.shape[axis] - 1) * step + 1)
    return x


SHAPE: dict[str, NodeHandler] = {
    "RESHAPE": reshape,
    "SQUEEZE": squeeze,
    "EXPAND_DIMS": expand_dims,
    "TRANSPOSE": transpose,
    "CONCATENATION": concatenation,
    "PACK": pack,
    "PAD": pad,
    "PADV2": pad,
    "TILE": tile,
    "BROADCAST_TO": broadcast_to,
    "FILL": fill,
    "RANGE": arithmetic_sequence,
    "DEPTH_TO_SPACE": depth_to_space,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPACE_TO_BATCH_ND": space_to_batch_nd,
    "BATCH_TO_SPACE_ND": batch_to_space_nd,
    "DILATE": dilate,
}
