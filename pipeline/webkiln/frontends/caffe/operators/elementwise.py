"""Elementwise layers."""

from functools import reduce
from math import exp, log

from webkiln.frontends.caffe.operators.operands import aligned, blob, blob_count, bottoms
from webkiln.frontends.nodes.call import NodeCall, NodeHandler, NodeResult
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import activations
from webkiln.ops.pieces import cast, filled

EULER = -1
"""The value of `base` that represents e."""


def plain(op: str) -> NodeHandler:
    return lambda call: call.op(op, [call.tensor(0)])


def identity(call: NodeCall) -> NodeResult:
    """Return the bottom for each top."""
    return [call.tensor(0)] * call.outputs


def relu(call: NodeCall) -> Tensor:
    slope = call.attr("negative_slope", 0.0)
    return (
        call.op("LeakyRelu", [call.tensor(0)], {"alpha": slope})
        if slope
        else call.op("Relu", [call.tensor(0)])
    )


def prelu(call: NodeCall) -> Tensor:
    """A slope per channel, or a single one."""
    x = call.tensor(0)
    slope = blob(call, 0, () if call.attr("channel_shared") else (x.shape[1],))
    factors = slope if call.attr("channel_shared") else aligned(call, slope, x.type.rank, 1)
    return activations.prelu(call.builder, x, factors)


def power(call: NodeCall) -> Tensor:
    """(shift + scale x) ** power."""
    x, exponent, scale, shift = (
        call.tensor(0),
        call.attr("power"),
        call.attr("scale"),
        call.attr("shift"),
    )
    if not exponent * scale:
        return filled(call.builder, 1.0 if not exponent else shift**exponent, x.dtype, x.shape)
    x = x * scale if scale != 1 else x
    x = x + shift if shift else x
    if exponent in (1, 2):
        return (
            x
            if exponent == 1 and (scale != 1 or shift)
            else call.op("Identity", [x])
            if exponent == 1
            else x * x
        )
    return (
        call.op("Sqrt", [x])
        if exponent == 0.5
        else call.op("Pow", [x, call.like(float(exponent), x)])
    )


def exponential(call: NodeCall) -> Tensor:
    """base ** (shift + scale x)."""
    base, scale, shift = call.attr("base"), call.attr("scale"), call.attr("shift")
    if base != EULER and base <= 0:
        raise call.error(f"its base is {base}, expected a positive number")
    y = call.op("Exp", [call.tensor(0) * (scale if base == EULER else log(base) * scale)])
    return y * (exp(shift) if base == EULER else base**shift) if shift else y


def logarithm(call: NodeCall) -> Tensor:
    """The logarithm of (shift + scale x) to a base."""
    base = call.attr("base")
    if base != EULER and (base <= 0 or base == 1):
        raise call.error(f"its base is {base}, expected a positive number that is not 1")
    y = call.op("Log", [call.tensor(0) * call.attr("scale") + call.attr("shift")])
    return y if base == EULER else y * (1 / log(base))


def threshold(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return cast(
        call.builder, call.op("Greater", [x, call.like(call.attr("threshold"), x)]), x.dtype
    )


def elu(call: NodeCall) -> Tensor:
    return call.op("Elu", [call.tensor(0)], {"alpha": call.attr("alpha")})


def swish(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return x * call.op("Sigmoid", [x * call.attr("beta")])


def clip(call: NodeCall) -> Tensor:
    low, high = call.attr("min"), call.attr("max")
    if low is None or high is None:
        raise call.error("needs both min and max")
    return call.op("Clip", [call.tensor(0)], {"min": low, "max": high})


def relu6(call: NodeCall) -> Tensor:
    if slope := call.attr("negative_slope", 0.0):
        raise call.unsupported(f"has a slope of {slope}", "Only 0 is supported")
    return call.op("Clip", [call.tensor(0)], {"min": 0.0, "max": 6.0})


def eltwise(call: NodeCall) -> Tensor:
    xs, factors = bottoms(call), call.attr("coeff") or ()
    operation = call.attr("operation")
    if factors and (operation != "SUM" or len(factors) != len(xs)):
        raise call.error(
            f"has {len(factors)} coefficients for {operation} of {len(xs)} blobs; a SUM needs one"
            " per blob"
        )
    if different := [x for x in xs[1:] if x.type.rank != xs[0].type.rank or _must_differ(x, xs[0])]:
        raise call.error(
            f"reads {list(xs[0].shape)} and {list(different[0].shape)}, which must be equal"
        )
    if factors:
        xs = [x * factor if factor != 1 else x for x, factor in zip(xs, factors, strict=True)]
    op = {"PROD": "Mul", "SUM": "Add", "MAX": "Max"}[operation]
    return reduce(lambda a, b: call.op(op, [a, b]), xs)


def _must_differ(a: Tensor, b: Tensor) -> bool:
    return any(
        isinstance(m, int) and isinstance(n, int) and m != n
        for m, n in zip(a.shape, b.shape, strict=True)
    )


def scale(call: NodeCall) -> Tensor:
    """Multiply by the second bottom or a weight, and add a bias."""
    x = call.tensor(0)
    factors = bottoms(call)[1:]
    factor, next_weight = (factors[0], 0) if factors else (_axes_weight(call, x, 0), 1)
    y = call.op("Mul", [x, _broadcast_factor(call, x, factor)])
    if not call.attr("bias_term"):
        return y
    shape = factor.shape
    return call.op("Add", [y, _broadcast_factor(call, x, blob(call, next_weight, shape))])


def bias(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    offsets = bottoms(call)[1:]
    return call.op(
        "Add", [x, _broadcast_factor(call, x, offsets[0] if offsets else _axes_weight(call, x, 0))]
    )


def _axes_weight(call: NodeCall, x: Tensor, index: int) -> Tensor:
    """Add a weight over `num_axes` axes of x, starting at `axis`; -1 means all remaining axes."""
    axis, count = call.axis(call.attr("axis"), x.type.rank), call.attr("num_axes")
    return blob(call, index, x.shape[axis:] if count < 0 else x.shape[axis : axis + count])


def _broadcast_factor(call: NodeCall, x: Tensor, factor: Tensor) -> Tensor:
    return aligned(
        call,
        factor,
        x.type.rank,
        call.axis(call.attr("axis"), x.type.rank) if factor.type.rank else 0,
    )


def axpy(call: NodeCall) -> Tensor:
    """a x + y, with one factor a per channel."""
    a, x, y = bottoms(call)
    return call.op(
        "Add",
        [
            call.op(
                "Mul",
                [call.op("Reshape", [a], {"shape": (*x.shape[:2], *(1,) * (x.type.rank - 2))}), x],
            ),
            y,
        ],
    )


def batch_norm(call: NodeCall) -> Tensor:
    """Normalise with the stored mean and variance, which are scaled by a stored factor, or with
    those of the batch.
    """
    x = call.tensor(0)
    axis = min(1, x.type.rank - 1)
    channels = (x.shape[1],) if x.type.rank > 1 else (1,)
    one, zero = (
        filled(call.builder, 1.0, x.dtype, channels),
        filled(call.builder, 0.0, x.dtype, channels),
    )
    epsilon = call.attr("eps")
    if call.attr("use_global_stats", default=True):
        if blob_count(call) != 3:
            raise call.unsupported(
                f"has {blob_count(call)} weights",
                "BVLC Caffe has three: a mean, a variance and their scale factor",
            )
        total = blob(call, 2, (1,))
        none = call.op("Equal", [total, call.like(0, total)])
        factor = call.op(
            "Where",
            [
                none,
                call.like(0, total),
                call.op("Reciprocal", [call.op("Where", [none, call.like(1, total), total])]),
            ],
        )
        mean, variance = (call.op("Mul", [blob(call, index, channels), factor]) for index in (0, 1))
    else:
        axes = tuple(d for d in range(x.type.rank) if d != axis)
        centre = call.op("ReduceMean", [x], {"axes": axes, "keepdims": True})
        centred = x - centre
        mean = call.op("Reshape", [centre], {"shape": channels})
        variance = call.op("ReduceMean", [centred * centred], {"axes": axes, "keepdims": False})
    return call.op("BatchNorm", [x, one, zero, mean, variance], {"axis": axis, "epsilon": epsilon})


ELEMENTWISE: dict[str, NodeHandler] = {
    "ReLU": relu,
    "PReLU": prelu,
    "ELU": elu,
    "Sigmoid": plain("Sigmoid"),
    "TanH": plain("Tanh"),
    "AbsVal": plain("Abs"),
    "BNLL": plain("Softplus"),
    "Power": power,
    "Exp": exponential,
    "Log": logarithm,
    "Threshold": threshold,
    "Swish": swish,
    "Clip": clip,
    "ReLU6": relu6,
    "Dropout": identity,
    "Split": identity,
    "Eltwise": eltwise,
    "Scale": scale,
    "Bias": bias,
    "Axpy": axpy,
    "BatchNorm": batch_norm,
}
