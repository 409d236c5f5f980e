"""Padding and cropping."""

from collections.abc import Sequence

from webkiln.ir.dim import Size, maximum
from webkiln.ops.builder import GraphBuilder, Scalar, Tensor
from webkiln.ops.functional.slices import sliced
from webkiln.ops.pieces import reshaped


def pad_with(
    b: GraphBuilder, x: Tensor, low: Sequence[Size], high: Sequence[Size], value: Tensor | Scalar
) -> Tensor:
    """x with `low` and `high` more elements before and after each axis. Their value may be a tensor
    of one element.
    """
    attrs = {"low": tuple(low), "high": tuple(high)}
    if not isinstance(value, Tensor):
        return b.op("Pad", [x], {**attrs, "value": value})
    inside = b.op("Pad", [b.op("Broadcast", [b.constant(1, "bool")], {"shape": x.shape})], attrs)
    return b.op("Where", [inside, b.op("Pad", [x], attrs), reshaped(b, value, ())])


def pad_or_crop(
    b: GraphBuilder,
    x: Tensor,
    low: Sequence[Size],
    high: Sequence[Size],
    *,
    mode: str = "constant",
    value: Tensor | Scalar = 0.0,
) -> Tensor:
    """`pad_with`, or in another `mode` (edge, reflect, wrap) padding with elements of x. Negative
    counts crop.
    """
    for axis, (first, last) in enumerate(zip(low, high, strict=True)):
        crop = (maximum([-first, 0]), maximum([-last, 0]))
        if any(crop):
            x = sliced(b, x, axis, crop[0], x.shape[axis] - sum(crop))
    before, after = (tuple(maximum([count, 0]) for count in counts) for counts in (low, high))
    if not any((*before, *after)):
        return x
    if mode != "constant":
        return b.op("PadFrom", [x], {"low": before, "high": after, "mode": mode})
    return pad_with(b, x, before, after, value)
