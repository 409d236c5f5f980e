"""Raw operators that normalize batches, channels and contrast.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Mapping, Sequence

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tensorflow.operators.windows import layout
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.windows import (
    dims_of,
)
from webkiln.ops.pieces import cast, part, sized


def normalized(call: NodeCall, x: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Normalize over the channels. The parameters are scale, offset, mean and variance."""
    axis = dims_of(layout(call), x.type.rank)[1]
    attrs = {"axis": axis, "epsilon": call.attr("epsilon", 1e-4)}
    return call.op("BatchNorm", [x, *parameters], attrs)


def batch_norm(call: NodeCall) -> list[Tensor]:
    """`FusedBatchNorm*` at inference. The further results, mean and variance, are for training."""
    x, scale, offset, mean, variance = (call.tensor(position) for position in range(5))
    if call.flag("is_training", default=True):
        return _trained_batch_norm(call, x, scale, offset)
    b = call.builder
    normed = normalized(call, cast(b, x, scale.dtype), [scale, offset, mean, variance])
    return [cast(b, normed, x.dtype), mean, variance]


def _trained_batch_norm(call: NodeCall, x: Tensor, scale: Tensor, offset: Tensor) -> list[Tensor]:
    """Normalize with the statistics of the batch."""
    b, dtype = call.builder, x.dtype
    x = cast(b, x, scale.dtype)
    axis = dims_of(layout(call), x.type.rank)[1]
    axes = tuple(number for number in range(x.type.rank) if number != axis)
    mean = call.op("ReduceMean", [x], {"axes": axes, "keepdims": False})
    centred = {"shape": tuple(size if number == axis else 1 for number, size in enumerate(x.shape))}
    centred_x = b.binary("Sub", x, call.op("Reshape", [mean], centred))
    variance = call.op(
        "ReduceMean", [call.op("Square", [centred_x])], {"axes": axes, "keepdims": False}
    )
    normed = normalized(call, x, [scale, offset, mean, variance])
    count = sized(b, x.type.size // x.shape[axis], x.dtype)
    return [cast(b, normed, dtype), mean, variance * (count / b.binary("Max", count - 1.0, 1.0))]


def lrn(call: NodeCall) -> Tensor:
    """Local response normalization over the channels, which are last."""
    x, radius = call.tensor(0), call.attr("depth_radius", 5)
    bias, alpha, beta = call.attr("bias", 1.0), call.attr("alpha", 1.0), call.attr("beta", 0.5)
    squares = call.op("Square", [x])
    low = tuple(radius if axis == x.type.rank - 1 else 0 for axis in range(x.type.rank))
    padded = call.op("Pad", [squares], {"low": low, "high": low, "value": 0})
    total = part(call.builder, padded, x.type.rank - 1, 0, x.shape[-1])
    for offset in range(1, 2 * radius + 1):
        total = total + part(call.builder, padded, x.type.rank - 1, offset, x.shape[-1])
    power = call.op("Pow", [total * alpha + bias, call.like(beta, x)])
    return x / power


def adjust_contrast(call: NodeCall) -> Tensor:
    """Scale the distance from the mean of each channel of each image."""
    x, factor = call.tensors()
    mean = call.op(
        "ReduceMean", [x], {"axes": (x.type.rank - 3, x.type.rank - 2), "keepdims": True}
    )
    return (x - mean) * factor + mean


NORMALIZATION: Mapping[str, NodeHandler] = {
    "FusedBatchNorm": batch_norm,
    "FusedBatchNormV2": batch_norm,
    "FusedBatchNormV3": batch_norm,
    "LRN": lrn,
    "AdjustContrastv2": adjust_contrast,
}
