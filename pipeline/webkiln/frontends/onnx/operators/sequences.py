"""Sequences of known length, at known positions."""

from collections.abc import Sequence

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, as_tensor, known
from webkiln.frontends.nodes.sequences import SequenceValue, items_of, sequence
from webkiln.frontends.onnx.operators.elementwise import dtype_of
from webkiln.ir.dim import Size, is_symbolic, known_shape
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import part, reshaped, stacked


def split_to_sequence(call: NodeCall) -> GraphValue:
    """Elements of one size, or of the sizes of the second operand; without it, elements of size 1,
    with or without the axis.
    """
    operand = call.operand(0)
    axis = call.axis(call.attr("axis", 0), operand.type.rank)
    sizes = _split_sizes(call, operand.type.shape[axis])
    drop = not call.has(1) and not call.attr("keepdims", 1)
    if operand.value is not None:
        parts = (
            np.split(operand.value, np.cumsum(known_shape(sizes, "a part"))[:-1], axis)
            if sizes
            else []
        )
        values = [np.squeeze(item, axis) if drop else item for item in parts]
        return sequence([known(item, operand.type.dtype) for item in values], operand.type.dtype)
    x = call.tensor(0)
    starts = [sum(sizes[:position]) for position in range(len(sizes))]
    items = [
        part(call.builder, x, axis, start, size) for start, size in zip(starts, sizes, strict=True)
    ]
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return sequence(
        [reshaped(call.builder, item, shape) for item in items] if drop else items, x.dtype
    )


def _split_sizes(call: NodeCall, size: Size) -> list[Size]:
    if call.has(1) and call.type(1).rank == 1:
        sizes = [*call.sizes(1)]
        if not is_symbolic(total := sum(sizes) - size) and total != 0:
            raise call.error(f"its parts are {sizes}, the axis has {size} elements")
        return sizes
    if is_symbolic(size):
        raise call.unsupported(
            "splits an axis of open size, so that the length of the sequence is unknown",
            "Fix the size with --dim",
        )
    if call.has(1) and not call.attr("keepdims", 1):
        raise call.unsupported(
            "has keepdims=0 and parts of one size; the standard ignores keepdims, and onnxruntime"
            " does not",
            "Export it with keepdims=1",
        )
    each = int(call.scalar(1, 1))
    if each < 1:
        raise call.error(f"its parts have {each} elements, expected 1 or more")
    return [min(each, size - start) for start in range(0, size, each)]


def _position(call: NodeCall, number: int, count: int, *, ends: int = 0) -> int:
    """A position in a sequence of `count` elements. Negative ones count from its end."""
    position = int(call.numbers(number).reshape(()))
    if not -count <= position < count + ends:
        raise call.error(f"position {position} is out of range for {count} elements")
    return position + count if position < 0 else position


def at(call: NodeCall) -> GraphValue:
    items = items_of(call, 0)
    return items[_position(call, 1, len(items))]


def length(call: NodeCall) -> GraphValue:
    return known(len(items_of(call, 0)), "int64")


def construct(call: NodeCall) -> GraphValue:
    return sequence([call.operand(position) for position in range(len(call))])


def empty(call: NodeCall) -> GraphValue:
    return sequence([], dtype_of(call, "dtype", "float32"))


def insert(call: NodeCall) -> GraphValue:
    items = [*items_of(call, 0)]
    position = _position(call, 2, len(items), ends=1) if call.has(2) else len(items)
    return sequence([*items[:position], call.operand(1), *items[position:]])


def erase(call: NodeCall) -> GraphValue:
    items = [*items_of(call, 0)]
    del items[_position(call, 1, len(items)) if call.has(1) else -1]
    return sequence(items, call.type(0).dtype)


def concat(call: NodeCall) -> Tensor | GraphValue:
    items, new_axis = items_of(call, 0), call.flag("new_axis")
    if not items:
        raise call.unsupported("joins an empty sequence", "Give it elements, or remove the node")
    axis = call.axis(call.attr("axis"), items[0].type.rank + new_axis)
    values = [item.value for item in items if item.value is not None]
    if len(values) == len(items):
        joined = np.stack(values, axis) if new_axis else np.concatenate(values, axis)
        return known(joined, items[0].type.dtype)
    tensors = [as_tensor(call.builder, item) for item in items]
    if new_axis:
        return stacked(call.builder, tensors, axis)
    return tensors[0] if len(tensors) == 1 else call.op("Concat", tensors, {"axis": axis})


def sequence_map(call: NodeCall) -> Sequence[GraphValue]:
    """A graph of each element. Further sequences are read element by element, and tensors whole."""
    body, count = call.attr("body"), len(items_of(call, 0))
    operands = [call.operand(position) for position in range(len(call))]
    if any(isinstance(item, SequenceValue) and len(item.items) != count for item in operands):
        raise call.error("its sequences have different lengths")
    results = [
        call.convert_subgraph(
            call.builder,
            body,
            [item.items[step] if isinstance(item, SequenceValue) else item for item in operands],
        )
        for step in range(count)
    ]
    dtypes = [item.dtype for item in body.outputs]
    return [
        sequence([result[number] for result in results], dtype)
        for number, dtype in enumerate(dtypes)
    ]


def identity(call: NodeCall) -> Tensor | GraphValue:
    operand = call.operand(0)
    return operand if isinstance(operand, SequenceValue) else call.op("Identity", call.tensors())


SEQUENCES: dict[str, NodeHandler] = {
    "SplitToSequence": split_to_sequence,
    "SequenceAt": at,
    "SequenceLength": length,
    "SequenceConstruct": construct,
    "SequenceEmpty": empty,
    "SequenceInsert": insert,
    "SequenceErase": erase,
    "ConcatFromSequence": concat,
    "SequenceMap": sequence_map,
    "Identity": identity,
}
