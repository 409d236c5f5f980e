"""Normalization over axes."""

from webkiln.ops.builder import GraphBuilder, Tensor


def standardise(
    b: GraphBuilder, x: Tensor, axes: tuple[int, ...], epsilon: float, *, centre: bool = True
) -> Tensor:
    """Subtract the mean over `axes` (unless `centre` is false), and divide by the standard
    deviation.
    """
    attrs = {"axes": axes, "keepdims": True}
    centred = b.op("Sub", [x, b.op("ReduceMean", [x], attrs)])
    variance = b.op("ReduceMean", [b.op("Square", [centred])], attrs)
    return b.op("Mul", [centred if centre else x, b.op("Rsqrt", [variance + epsilon])])


def by_root_mean_square(
    b: GraphBuilder, x: Tensor, axes: tuple[int, ...], epsilon: float
) -> Tensor:
    mean = b.op("ReduceMean", [b.op("Square", [x])], {"axes": axes, "keepdims": True})
    return b.op("Mul", [x, b.op("Rsqrt", [mean + epsilon])])


def to_length_1(b: GraphBuilder, x: Tensor, axes: tuple[int, ...], epsilon: float) -> Tensor:
    """Divide x by its norm over `axes`, which is at least `epsilon`."""
    squares = b.op("ReduceSum", [b.op("Square", [x])], {"axes": axes, "keepdims": True})
    return b.op("Mul", [x, b.binary("Min", b.op("Rsqrt", [squares]), 1 / epsilon)])
