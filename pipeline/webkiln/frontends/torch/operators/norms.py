"""Normalisation layers."""

from collections.abc import Sequence
from math import prod

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.frontends.torch.operators.reduce import first, reduced
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import reshaped, widened


def normalised(
    c: AtenCall, x: Tensor, axes: Sequence[int], eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / deviation; the mean; 1 / deviation."""
    centre = reduced(c, "ReduceMean", x, axes, keep=True)
    centred = x - centre
    inverse = c.op("Rsqrt", reduced(c, "ReduceMean", centred * centred, axes, keep=True) + eps)
    return c.op("Mul", centred, inverse), centre, inverse


def scaled(
    c: AtenCall, x: Tensor, weight: Tensor | None, bias: Tensor | None, axis: int | None = None
) -> Tensor:
    """x times a weight plus a bias, over one axis or the last ones."""

    def fitted(item: Tensor) -> Tensor:
        return (
            item
            if axis is None
            else reshaped(c.b, item, [*[1] * axis, item.type.size, *[1] * (x.type.rank - axis - 1)])
        )

    x = x if weight is None else c.op("Mul", x, fitted(weight))
    return x if bias is None else c.op("Add", x, fitted(bias))


def layer_norm(c: AtenCall) -> list[Tensor]:
    x = c.tensor("input")
    axes = range(x.type.rank - len(c.sizes("normalized_shape")), x.type.rank)
    y, centre, inverse = normalised(c, x, axes, float(c["eps"]))
    return [scaled(c, y, c.optional("weight"), c.optional("bias")), centre, inverse]


EPSILON = {
    "float16": 0.0009765625,
    "float32": 1.1920928955078125e-07,
    "float64": 2.220446049250313e-16,
}


def rms_norm(c: AtenCall) -> Tensor:
    x = c.tensor("input")
    axes = range(x.type.rank - len(c.sizes("normalized_shape")), x.type.rank)
    inverse = c.op(
        "Rsqrt",
        reduced(c, "ReduceMean", x * x, axes, keep=True) + float(c.get("eps", EPSILON[x.dtype])),
    )
    return scaled(c, c.op("Mul", x, inverse), c.optional("weight"), None)


def group_norm(c: AtenCall) -> list[Tensor]:
    x = c.tensor("input")
    groups = c["group"] if c.has("group") else c.number("num_groups")
    n, channels, *rest = x.shape
    y, centre, inverse = normalised(
        c, reshaped(c.b, x, (n, groups, channels // groups * prod(rest))), (2,), float(c["eps"])
    )
    ends = [reshaped(c.b, item, (n, groups)) for item in (centre, inverse)]
    return [
        scaled(c, reshaped(c.b, y, x.shape), c.optional("weight"), c.optional("bias"), 1),
        *ends,
    ]


def instance_norm(c: AtenCall) -> Tensor:
    if not c.get("use_input_stats", True):
        return batch_norm(c)[0]
    x = c.tensor("input")
    y, _, _ = normalised(c, x, range(2, x.type.rank), float(c["eps"]))
    return scaled(c, y, c.optional("weight"), c.optional("bias"), 1)


def by_batch(c: AtenCall, x: Tensor) -> list[Tensor]:
    """Normalise with the mean and variance of the batch, which are also returned: the mean and
    1 / deviation, [channels].
    """
    axes = [d for d in range(x.type.rank) if d != 1]
    y, *ends = normalised(c, x, axes, float(c["eps"]))
    flat = [reshaped(c.b, item, (x.shape[1],)) for item in ends]
    return [scaled(c, y, c.optional("weight"), c.optional("bias"), 1), *flat]


def batch_norm_and_updates(c: AtenCall) -> list[Tensor]:
    """Batch normalisation, and the next running mean and variance."""
    running = [c.tensor("running_mean"), c.tensor("running_var")]
    if not c["training"]:
        return [*batch_norm(c), *(c.op("Identity", item) for item in running)]
    x, factor = c.tensor("input"), float(c["momentum"])
    y, centre, inverse = by_batch(c, x)
    axes = [d for d in range(x.type.rank) if d != 1]
    deviations = x - reshaped(
        c.b, centre, [1 if d != 1 else size for d, size in enumerate(x.shape)]
    )
    squares = reduced(c, "ReduceSum", deviations * deviations, axes, keep=False)
    # torch stores the unbiased variance
    variance = c.op("Div", squares, c.scalar(x.type.size // x.shape[1] - 1, x.dtype))
    updates = [
        c.op("Add", item * (1 - factor), c.cast(current, item.dtype) * factor)
        for item, current in zip(running, (centre, variance), strict=True)
    ]
    return [y, centre, inverse, *updates]


def batch_norm(c: AtenCall) -> list[Tensor]:
    """Normalise with running statistics, or without any, with those of the batch."""
    if c.get("training", False) and c.has("running_mean"):
        raise c.unsupported(
            "updates its running mean and variance", "Call model.eval() before it is exported"
        )
    x = c.tensor("input" if c.has("input") else "self")
    mean_, variance_ = c.optional("running_mean"), c.optional("running_var")
    empty = c.op("Broadcast", c.like(0, x), shape=(0,))
    if mean_ is None or variance_ is None:
        return by_batch(c, x)
    count = (x.shape[1],)
    weight = c.optional("weight") or widened(c.b, c.like(1, x), count)
    bias = c.optional("bias") or widened(c.b, c.like(0, x), count)
    parameters = [c.cast(item, x.dtype) for item in (weight, bias, mean_, variance_)]
    return [c.op("BatchNorm", x, *parameters, axis=1, epsilon=float(c["eps"])), empty, empty]


NORMS: dict[str, AtenHandler] = {
    "native_layer_norm": layer_norm,
    "layer_norm": first(layer_norm),
    "rms_norm": rms_norm,
    "native_group_norm": group_norm,
    "group_norm": first(group_norm),
    "instance_norm": instance_norm,
    "_native_batch_norm_legit_no_training": batch_norm,
    "_native_batch_norm_legit": batch_norm,
    "_native_batch_norm_legit_functional": batch_norm_and_updates,
    "native_batch_norm": batch_norm,
    "batch_norm": first(batch_norm),
    "_batch_norm_no_update": lambda c: [*batch_norm(c), c.b.constant([], "uint8")],
    "cudnn_batch_norm": batch_norm,
}
