"""The orders of tensors under construction: inference, and alignment of operands by axis names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from webkiln.ir.axis import Axis, Order
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Type
from webkiln.ops.operator import Rules

if TYPE_CHECKING:
    from webkiln.ops.builder import Tensor

KEEPS_ORDER = frozenset(
    {
        "MaxPool",
        "AvgPool",
        "BatchNorm",
        "Softmax",
        "LogSoftmax",
        "Pad",
        "Slice",
        "Cast",
        "Identity",
        "Clip",
    }
)
"""Operators that preserve the meaning of the axes of their first input, if the rank is the same."""


def align(a: "Tensor", b: "Tensor") -> list["Tensor"]:
    """Transpose and reshape two operands so that axes of the same name broadcast together.

    Operands with anonymous axes, or without an order, are returned unchanged.
    """
    if not (_named(a) and _named(b)) or a.order == b.order:
        return [a, b]
    assert a.order is not None
    assert b.order is not None
    long, short = (a.order, b.order) if len(a.order) >= len(b.order) else (b.order, a.order)
    target = Order(long.axes + tuple(axis for axis in short.axes if axis not in long))
    return [_align_to(a, target), _align_to(b, target)]


def _align_to(tensor: "Tensor", target: Order) -> "Tensor":
    assert tensor.order is not None
    present = [axis for axis in target.axes if axis in tensor.order]
    perm = tuple(tensor.order.index(axis) for axis in present)
    if perm != tuple(range(len(perm))):
        tensor = tensor.builder.op("Transpose", [tensor], {"perm": perm}, Order(tuple(present)))
    if present == list(target.axes)[len(target) - len(present) :]:
        return tensor
    sizes = dict(zip(present, tensor.shape, strict=True))
    return tensor.builder.op(
        "Reshape",
        [tensor],
        {"shape": tuple(sizes.get(axis, 1) for axis in target.axes)},
        target,
    )


def _named(tensor: "Tensor") -> bool:
    return tensor.order is not None and not any(_is_anonymous(axis) for axis in tensor.order.axes)


def _is_anonymous(axis: Axis) -> bool:
    return axis.name.startswith("_")


def infer_order(
    rules: Rules, op: str, inputs: Sequence["Tensor"], type_: Type, attrs: Attributes
) -> Order | None:
    """The order of an output, if the operator preserves the meaning of axes."""
    if not inputs:
        return None
    first = inputs[0]
    if op == "Transpose" and first.order is not None:
        return Order(tuple(first.order.axes[axis] for axis in attrs["perm"]))
    if op == "Conv" and tuple(attrs["x_dims"]) == tuple(attrs["out_dims"]):
        return first.order
    if op in KEEPS_ORDER:
        return first.order if first.type.rank == type_.rank else None
    if rules.elementwise(op):
        return next(
            (t.order for t in inputs if t.order is not None and t.shape == type_.shape), None
        )
    return None
