"""Lists of tensors (TensorList, and TensorArray of TensorFlow 1) as one tensor. Its first axis is
the element's index.

https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/kernels/list_kernels.cc
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import Type
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, filled, part, sized


@dataclass(frozen=True, slots=True)
class UnwrittenList(GraphValue):
    """A list of this length, whose element shape is unknown until an element is written."""

    count: Size = 0


def reserve(call: NodeCall) -> Tensor | GraphValue:
    """A list of zeros. The first operand is the element shape, with -1 for unknown sizes, the
    second the length.
    """
    dtype = call.attr("element_dtype", call.attr("dtype"))
    shape = call.operand(0).value
    (count,) = call.sizes(1)
    sizes = () if shape is None else call.sizes(0)
    if (
        shape is None
        or shape.ndim == 0
        or any(not is_symbolic(size) and size < 0 for size in sizes)
    ):
        return UnwrittenList(Type(dtype, (count,)), count=count)
    return filled(call.builder, 0, dtype, (count, *sizes))


def written(builder: GraphBuilder, unwritten: UnwrittenList, shape: Sequence[Size]) -> Tensor:
    """The list, once its element shape is known."""
    return filled(builder, 0, unwritten.type.dtype, (unwritten.count, *shape))


def from_tensor(call: NodeCall) -> Tensor | GraphValue:
    return call.operand(0)


def set_item(call: NodeCall) -> Tensor:
    """The list with a replaced element."""
    b, item, operand = call.builder, call.tensor(2), call.operand(0)
    elements = (
        written(b, operand, item.shape) if isinstance(operand, UnwrittenList) else call.tensor(0)
    )
    row = call.op("Reshape", [item], {"shape": (1, *item.shape)})
    if not is_symbolic(elements.shape[0]) and elements.shape[0] == 1:
        return row
    index = call.op("Reshape", [cast(b, call.tensor(1), "int32")], {"shape": (1, 1)})
    return call.op("ScatterND", [elements, index, row], {"reduction": "none"})


def get_item(call: NodeCall) -> Tensor:
    if isinstance(call.operand(0), UnwrittenList):
        raise call.unsupported(
            "reads an element of an empty list",
            "Write the list before it is read",
        )
    return call.op(
        "Gather", [call.tensor(0), cast(call.builder, call.tensor(1), "int32")], {"axis": 0}
    )


def stack(call: NodeCall) -> Tensor | GraphValue:
    if isinstance(call.operand(0), UnwrittenList):
        raise call.unsupported("stacks an empty list", "Write the list before it is stacked")
    return call.operand(0)


def length(call: NodeCall) -> Tensor:
    return sized(call.builder, call.type(0).shape[0], "int32")


def gather(call: NodeCall) -> Tensor:
    return call.op(
        "Gather", [call.tensor(0), cast(call.builder, call.tensor(1), "int32")], {"axis": 0}
    )


def scatter(call: NodeCall) -> Tensor:
    """Scatter elements into a list. The third operand is its length, by default the number of
    elements.
    """
    x, index = call.tensor(0), cast(call.builder, call.tensor(1), "int32")
    count = call.sizes(3)[0] if call.has(3) else -1
    size = x.shape[0] if not is_symbolic(count) and count == -1 else count
    zeros = filled(call.builder, 0, x.dtype, (size, *x.shape[1:]))
    return call.op(
        "ScatterND",
        [zeros, call.op("Reshape", [index], {"shape": (*index.shape, 1)}), x],
        {"reduction": "none"},
    )


def concat(call: NodeCall) -> list[Tensor]:
    """Concatenate elements of the same size; returns also their lengths."""
    x = call.tensor(0)
    if x.type.rank < 2:
        raise call.error("its elements are scalars, which have no axis to concatenate along")
    lengths = call.op(
        "Broadcast", [sized(call.builder, x.shape[1], "int64")], {"shape": (x.shape[0],)}
    )
    return [call.op("Reshape", [x], {"shape": (x.shape[0] * x.shape[1], *x.shape[2:])}), lengths]


def split(call: NodeCall) -> Tensor:
    """Cut a tensor into elements along its first axis. The third operand has their lengths."""
    x, lengths = call.tensor(0), call.sizes(2)
    if len({*lengths}) != 1:
        raise call.unsupported(
            f"splits into elements of the lengths {', '.join(map(str, lengths)) or 'none'}",
            "Split into elements of one length",
        )
    return call.op("Reshape", [x], {"shape": (len(lengths), lengths[0], *x.shape[1:])})


def resize(call: NodeCall) -> Tensor | GraphValue:
    """Drop elements at the end, or append zeros."""
    operand, (count,) = call.operand(0), call.sizes(1)
    if isinstance(operand, UnwrittenList):
        return UnwrittenList(Type(operand.type.dtype, (count,)), count=count)
    x = call.tensor(0)
    if is_symbolic(count) or is_symbolic(x.shape[0]):
        raise call.unsupported("resizes a list to an open length", "Reserve its length at once")
    if count <= x.shape[0]:
        return part(call.builder, x, 0, 0, count)
    zeros = filled(call.builder, 0, x.dtype, (count - x.shape[0], *x.shape[1:]))
    return call.op("Concat", [x, zeros], {"axis": 0})


def push_back(call: NodeCall) -> Tensor:
    """For lists of known length, as in unrolled loops."""
    item, operand = call.tensor(1), call.operand(0)
    row = call.op("Reshape", [item], {"shape": (1, *item.shape)})
    if isinstance(operand, UnwrittenList):
        if is_symbolic(operand.count) or operand.count:
            raise ShapeError(
                f"{call.spec.name} ({call.spec.op}): appends"
                " to a list whose element shape is unknown"
            )
        return row
    return call.op("Concat", [call.tensor(0), row], {"axis": 0})


def pop_back(call: NodeCall) -> list[Tensor]:
    x = call.tensor(0)
    last = x.shape[0] - 1
    item = call.op("Reshape", [part(call.builder, x, 0, last, 1)], {"shape": x.shape[1:]})
    return [part(call.builder, x, 0, 0, last), item]


def empty(call: NodeCall) -> GraphValue:
    return UnwrittenList(Type(call.attr("element_dtype"), (0,)), count=0)


def _array(handler: NodeHandler, *positions: int) -> NodeHandler:
    """Adapt a handler of lists to TensorArrays, whose contents are their `flow`. The arguments map
    operands.
    """
    return lambda call: handler(
        call.with_operands(
            call.builder,
            [call.operands[position] if position < len(call) else None for position in positions],
        )
    )


def array(call: NodeCall) -> list[GraphValue]:
    """A TensorArray: a dummy handle, and its contents as the flow."""
    (count,) = call.sizes(0)
    elements = UnwrittenList(Type(call.attr("dtype"), (count,)), count=count)
    return [elements, elements]


LISTS: Mapping[str, NodeHandler] = {
    "TensorArrayV3": array,
    "TensorArrayWriteV3": _array(set_item, 3, 1, 2),
    "TensorArrayReadV3": _array(get_item, 2, 1),
    "TensorArrayGatherV3": _array(gather, 2, 1),
    "TensorArrayScatterV3": _array(scatter, 2, 1),
    "TensorArraySplitV3": _array(split, 1, 3, 2),
    "TensorArraySizeV3": _array(length, 1),
    "TensorArrayConcatV3": _array(concat, 1),
    "TensorListReserve": reserve,
    "TensorListFromTensor": from_tensor,
    "TensorListSetItem": set_item,
    "TensorListGetItem": get_item,
    "TensorListStack": stack,
    "TensorListLength": length,
    "TensorListGather": gather,
    "TensorListScatter": scatter,
    "TensorListScatterV2": scatter,
    "TensorListConcat": concat,
    "TensorListConcatV2": concat,
    "TensorListSplit": split,
    "TensorListResize": resize,
    "TensorListPushBack": push_back,
    "TensorListPopBack": pop_back,
    "EmptyTensorList": empty,
}
