"""Sequences: values of the conversion that hold tensors of different shapes. Their lengths are
known, and the program has their elements only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, as_tensor
from webkiln.ir.types import Type
from webkiln.ops.builder import GraphBuilder, Tensor


@dataclass(frozen=True, slots=True)
class SequenceValue(GraphValue):
    """A sequence; the shape of its type is its length."""

    items: tuple[GraphValue, ...] = ()


def sequence(items: Sequence[GraphValue | Tensor], dtype: str = "float32") -> SequenceValue:
    """A sequence of values; `dtype` is that of an empty one."""
    values = tuple(
        GraphValue(item.type, item) if isinstance(item, Tensor) else item for item in items
    )
    dtypes = {item.type.dtype for item in values} or {dtype}
    if len(dtypes) > 1:
        raise ShapeError(f"a sequence of {' and '.join(sorted(dtypes))}; one dtype is expected")
    return SequenceValue(Type(min(dtypes), (len(values),)), items=values)


def items_of(call: NodeCall, position: int) -> tuple[GraphValue, ...]:
    """The elements of an operand. Raise ShapeError if it is no sequence."""
    operand = call.operand(position)
    if not isinstance(operand, SequenceValue):
        raise call.error(f"operand {position} is {operand.type}, expected a sequence")
    return operand.items


def flattened(builder: GraphBuilder, values: Sequence[GraphValue]) -> list[Tensor]:
    """The tensors of values, with the elements of sequences in their place."""
    return [
        as_tensor(builder, item)
        for value in values
        for item in (value.items if isinstance(value, SequenceValue) else (value,))
    ]


def lengths(values: Sequence[GraphValue]) -> list[int | None]:
    """The length of each value that is a sequence; None for a tensor."""
    return [len(value.items) if isinstance(value, SequenceValue) else None for value in values]


def regrouped(
    tensors: Sequence[Tensor], structure: Sequence[int | None], dtypes: Sequence[str]
) -> list[Tensor | GraphValue]:
    """The inverse of `flattened`, given the `lengths` and dtypes of the values."""
    remaining = iter(tensors)
    return [
        next(remaining)
        if length is None
        else sequence([next(remaining) for _ in range(length)], dtype)
        for length, dtype in zip(structure, dtypes, strict=True)
    ]
