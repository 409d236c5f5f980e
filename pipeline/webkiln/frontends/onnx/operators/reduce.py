"""Reductions, softmax and normalisations."""

from collections.abc import Callable, Sequence
from math import prod

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, NodeResult
from webkiln.frontends.onnx.operators.elementwise import DTYPES, cast
from webkiln.frontends.onnx.operators.pool import power
from webkiln.frontends.onnx.operators.shape import axes_of, reshaped
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.activations import stepwise_softmax
from webkiln.ops.functional.normalization import (
    layer_norm,
    local_response_norm,
    standardise_with_moments,
)
from webkiln.ops.functional.reductions import log_sum_exp
from webkiln.ops.functional.slices import reversed_along

Reduction = Callable[[NodeCall, Tensor], Tensor]


def reduce_axes(
    call: NodeCall, op: str, x: Tensor, axes: Sequence[int], *, keep: bool = True
) -> Tensor:
    return call.op(op, [x], {"axes": tuple(axes), "keepdims": keep})


def reduction(
    op: str, before: Reduction | None = None, after: Reduction | None = None
) -> NodeHandler:
    """A reduction; `before` is applied to each element, `after` to each result."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        axes = axes_of(call, 1, x.type.rank)
        changed = before(call, x) if before is not None else x
        if not axes:
            axes = () if call.attr("noop_with_empty_axes", 0) else tuple(range(x.type.rank))
        y = reduce_axes(call, op, changed, axes, keep=bool(call.attr("keepdims", 1)))
        return after(call, y) if after is not None else y

    return handler


def _log_sum_exp(call: NodeCall) -> Tensor:
    """log(sum(exp(x - max))) + max, which does not overflow."""
    x = call.tensor(0)
    axes = axes_of(call, 1, x.type.rank)
    if not axes:
        axes = () if call.attr("noop_with_empty_axes", 0) else tuple(range(x.type.rank))
    return log_sum_exp(call.builder, x, axes, keepdims=call.flag("keepdims", default=True))


def _extreme(op: str) -> NodeHandler:
    """The maximum or minimum; booleans are reduced as 0 and 1."""
    plain = reduction(op)
    numbers = reduction(
        op, lambda call, x: cast(call, x, "uint8"), lambda call, y: cast(call, y, "bool")
    )
    return lambda call: (numbers if call.type(0).dtype == "bool" else plain)(call)


def arg_extreme(op: str) -> NodeHandler:
    """The index of the maximum or minimum, the first or the last of equal elements."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        axis = call.axis(call.attr("axis", 0), x.type.rank)
        attrs = {"axis": axis, "keepdims": bool(call.attr("keepdims", 1))}
        if not call.attr("select_last_index", 0):
            return cast(call, call.op(op, [x], attrs), "int64")
        flipped = reversed_along(call.builder, x, axis)
        return cast(
            call,
            call.constant(0, "int32") + (x.shape[axis] - 1) - call.op(op, [flipped], attrs),
            "int64",
        )

    return handler


def flatten_at(call: NodeCall, x: Tensor) -> Tensor:
    """Reshape to two axes: those before the attribute `axis`, and the rest."""
    axis = call.attr("axis", 1)
    axis = call.axis(axis, x.type.rank + (axis >= 0))
    return reshaped(call, x, (prod(x.shape[:axis]), prod(x.shape[axis:])))


def softmax(op: str) -> NodeHandler:
    """Before opset 13, over all axes from `axis` on."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        if call.version >= 13:
            return stepwise_softmax(
                call.builder, op, x, call.axis(call.attr("axis", -1), x.type.rank)
            )
        flat = flatten_at(call, x)
        return reshaped(call, call.op(op, [flat], {"axis": 1}), x.shape)

    return handler


def hardmax(call: NodeCall) -> Tensor:
    """1 at the first maximum, 0 elsewhere."""
    x = call.tensor(0)
    if call.version < 13:
        return reshaped(call, _first_largest(call, flatten_at(call, x), 1), x.shape)
    return _first_largest(call, x, call.axis(call.attr("axis", -1), x.type.rank))


def _first_largest(call: NodeCall, x: Tensor, axis: int) -> Tensor:
    index = call.op("ArgMax", [x], {"axis": axis, "keepdims": True})
    numbers = call.op("Iota", [], {"size": x.shape[axis], "dtype": "int32"})
    positions = reshaped(
        call, numbers, [x.shape[axis] if d == axis else 1 for d in range(x.type.rank)]
    )
    return cast(call, call.op("Equal", [positions, index]), x.dtype)


def _per_channel(call: NodeCall, parameter: Tensor, rank: int, axis: int = 1) -> Tensor:
    return reshaped(call, parameter, [*[1] * axis, *parameter.shape, *[1] * (rank - axis - 1)])


def batch_statistics(call: NodeCall) -> list[Tensor]:
    """In training mode: x normalised by its own mean and variance over all axes but the channels',
    the running mean and variance [C], and, before opset 14, the mean and variance themselves.
    """
    x, rank = call.tensor(0), call.type(0).rank
    if rank < 2:
        raise call.error(f"its operand is {x.type}, expected [N, C, ...]")
    axes = tuple(axis for axis in range(rank) if axis != 1)
    wide = cast(call, x, "float64" if x.dtype == "float64" else "float32")
    mean = reduce_axes(call, "ReduceMean", wide, axes)
    centred = wide - mean
    variance = reduce_axes(call, "ReduceMean", centred * centred, axes)
    inverse = call.op("Rsqrt", [variance + call.attr("epsilon", 1e-5)])
    scale, bias = (
        _per_channel(call, cast(call, call.tensor(position), wide.dtype), rank)
        for position in (1, 2)
    )
    results = [cast(call, centred * inverse * scale + bias, x.dtype)]
    momentum = call.attr("momentum", 0.9)
    current = [reshaped(call, item, (x.shape[1],)) for item in (mean, variance)]
    for position, item in zip((3, 4), current, strict=True):
        running = call.tensor(position)
        moved = cast(call, running, item.dtype) * momentum + item * (1 - momentum)
        results.append(cast(call, moved, running.dtype))
    return [*results, *(cast(call, item, call.type(3).dtype) for item in current)][: call.outputs]


def batch_norm(call: NodeCall) -> Tensor | list[Tensor]:
    """Before opset 14, a node that returns statistics is in training mode."""
    x = call.tensor(0)
    statistics = any(call.is_output_used(position) for position in range(1, 5))
    if call.attr("training_mode", 0) or (call.version < 14 and statistics):
        if not call.attr("spatial", 1):
            raise call.unsupported(
                "has statistics of each position (spatial=0)", "Export the model for inference"
            )
        return batch_statistics(call)
    parameters = [cast(call, call.tensor(position), x.dtype) for position in range(1, 5)]
    axis = min(1, x.type.rank - 1)
    return call.op(
        "BatchNorm", [x, *parameters], {"axis": axis, "epsilon": call.attr("epsilon", 1e-5)}
    )


def instance_norm(call: NodeCall) -> Tensor:
    x, scale, bias = call.tensors()
    normalised, _, _ = standardise_with_moments(
        call.builder, x, range(2, x.type.rank), call.attr("epsilon", 1e-5)
    )
    return normalised * _per_channel(call, scale, x.type.rank) + _per_channel(
        call, bias, x.type.rank
    )


def group_norm(call: NodeCall) -> Tensor:
    """Scale and bias are per group before opset 21, per channel since then."""
    x, scale, bias = call.tensors()
    groups = call.attr("num_groups")
    channels = x.shape[1]
    shape = (x.shape[0], groups, channels // groups, prod(x.shape[2:]))
    grouped = reshaped(call, x, shape)
    precision = DTYPES[call.attr("stash_type", 1)]
    normalised, _, _ = standardise_with_moments(
        call.builder, cast(call, grouped, precision), (2, 3), call.attr("epsilon", 1e-5)
    )
    parameter = (1, groups, 1, 1) if call.version < 21 else (1, groups, channels // groups, 1)
    scaled = cast(call, normalised, x.dtype) * reshaped(call, scale, parameter) + reshaped(
        call, bias, parameter
    )
    return reshaped(call, scaled, x.shape)


def layer_norm_of(call: NodeCall) -> list[Tensor]:
    """The normalised tensor, the mean, and 1 / deviation."""
    x, scale = call.tensor(0), call.tensor(1)
    axes = range(call.axis(call.attr("axis", -1), x.type.rank), x.type.rank)
    return layer_norm(
        call.builder,
        x,
        scale,
        call.optional(2),
        axes=axes,
        epsilon=call.attr("epsilon", 1e-5),
        precision=DTYPES[call.attr("stash_type", 1)],
    )


def rms_norm(call: NodeCall) -> Tensor:
    x, scale = call.tensor(0), call.tensor(1)
    axes = range(call.axis(call.attr("axis", -1), x.type.rank), x.type.rank)
    wide = cast(call, x, DTYPES[call.attr("stash_type", 1)])
    inverse = call.op(
        "Rsqrt", [reduce_axes(call, "ReduceMean", wide * wide, axes) + call.attr("epsilon", 1e-5)]
    )
    return cast(call, cast(call, wide * inverse, x.dtype), scale.dtype) * scale


def lp_norm(call: NodeCall) -> Tensor:
    """x divided by its norm; zeros stay zeros."""
    x, p = call.tensor(0), call.attr("p", 2)
    axis = call.axis(call.attr("axis", -1), x.type.rank)
    norm = power(
        call, reduce_axes(call, "ReduceSum", power(call, call.op("Abs", [x]), p), (axis,)), 1 / p
    )
    return call.op("Where", [call.op("Equal", [norm, call.like(0, x)]), call.like(0, x), x / norm])


def mean_variance_norm(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axes = call.attr("axes") or (0, 2, 3)
    mean = reduce_axes(call, "ReduceMean", x, axes)
    centred = x - mean
    return centred / (
        call.op("Sqrt", [reduce_axes(call, "ReduceMean", centred * centred, axes)]) + 1e-9
    )


def lrn(call: NodeCall) -> Tensor:
    """x (bias + alpha / size * sum of the squares of neighbouring channels) ** -beta."""
    return local_response_norm(
        call.builder,
        call.tensor(0),
        {1: call.attr("size")},
        alpha=call.attr("alpha", 1e-4),
        beta=call.attr("beta", 0.75),
        bias=call.attr("bias", 1.0),
    )


def cumulative(op: str) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        axis = call.axis(int(call.numbers(1).reshape(())), x.type.rank)
        attrs = {
            "axis": axis,
            "exclusive": bool(call.attr("exclusive", 0)),
            "reverse": bool(call.attr("reverse", 0)),
        }
        return call.op(op, [x], attrs)

    return handler


def _logarithm(call: NodeCall, y: Tensor) -> Tensor:
    return call.op("Log", [y])


def _root(call: NodeCall, y: Tensor) -> Tensor:
    return (
        call.op("Sqrt", [y])
        if is_float(y.dtype)
        else cast(call, call.op("Sqrt", [cast(call, y, "float64")]), y.dtype)
    )


def _square(call: NodeCall, x: Tensor) -> Tensor:
    return x * x


def _size(call: NodeCall, x: Tensor) -> Tensor:
    return call.op("Abs", [x])


def on_floats(handler: NodeHandler) -> NodeHandler:
    """Compute on floats; for integers, truncate the result."""

    def convert(call: NodeCall) -> NodeResult:
        x = call.operand(0)
        if is_float(x.type.dtype):
            return handler(call)
        wide = cast(call, call.tensor(0), "float32")
        inner = call.with_operands(call.builder, [GraphValue(wide.type, wide), *call.operands[1:]])
        result = handler(inner)
        assert isinstance(result, Tensor)
        return cast(call, result, x.type.dtype)

    return convert


REDUCE: dict[str, NodeHandler] = {
    "ReduceSum": reduction("ReduceSum"),
    "ReduceMean": reduction("ReduceMean"),
    "ReduceProd": reduction("ReduceProd"),
    "ReduceMax": _extreme("ReduceMax"),
    "ReduceMin": _extreme("ReduceMin"),
    "ReduceL1": reduction("ReduceSum", _size),
    "ReduceL2": reduction("ReduceSum", _square, _root),
    "ReduceSumSquare": reduction("ReduceSum", _square),
    "ReduceLogSum": on_floats(reduction("ReduceSum", None, _logarithm)),
    "ReduceLogSumExp": on_floats(_log_sum_exp),
    "ArgMax": arg_extreme("ArgMax"),
    "ArgMin": arg_extreme("ArgMin"),
    "Softmax": softmax("Softmax"),
    "LogSoftmax": softmax("LogSoftmax"),
    "Hardmax": hardmax,
    "BatchNormalization": batch_norm,
    "InstanceNormalization": instance_norm,
    "GroupNormalization": group_norm,
    "LayerNormalization": layer_norm_of,
    "RMSNormalization": rms_norm,
    "SimplifiedLayerNormalization": rms_norm,
    "LpNormalization": lp_norm,
    "MeanVarianceNormalization": mean_variance_norm,
    "LRN": lrn,
    "CumSum": cumulative("CumSum"),
    "CumProd": cumulative("CumProd"),
}
