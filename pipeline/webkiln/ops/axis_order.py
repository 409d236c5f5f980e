"""The orders of tensors under construction: inference, and alignment of operands by axis names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from webkiln.ir.attributes import Attributes
from webkiln.ir.axis import Axis, Order
from webkiln.ir.types import Type
from webkiln.ops.operator import Rules

if TYPE_CHECKING:
    from webkiln.ops.builder import Tensor


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
    traits, order, rank = rules.traits(op), inputs[0].order, type_.rank
    if traits.elementwise:
        return next(
            (t.order for t in inputs if t.order is not None and t.shape == type_.shape), None
        )
    axes = traits.source_axes(attrs, rank)
    if axes is None or order is None or len(order) != rank:
        return None
    return Order(tuple(order.axes[axis] for axis in axes))
