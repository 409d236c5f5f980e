"""Padding with a value that is an operand."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import NodeCall
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import reshaped


def padded(
    call: NodeCall, x: Tensor, low: Sequence[int], high: Sequence[int], position: int
) -> Tensor:
    """x with `low` and `high` more elements before and after each axis. They have the value of the
    operand at `position`, which may be computed when the model runs.
    """
    b = call.builder
    attrs = {"low": tuple(low), "high": tuple(high)}
    if call.operand(position).is_constant:
        return b.op("Pad", [x], {**attrs, "value": call.scalar(position, 0)})
    inside = b.op("Pad", [b.op("Broadcast", [b.constant(1, "bool")], {"shape": x.shape})], attrs)
    return b.op("Where", [inside, b.op("Pad", [x], attrs), reshaped(b, call.tensor(position), ())])
