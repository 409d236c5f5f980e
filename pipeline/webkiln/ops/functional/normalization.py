"""Normalization over axes."""

from collections.abc import Mapping, Sequence

from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast


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


def standardise_with_moments(
    b: GraphBuilder, x: Tensor, axes: Sequence[int], epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / deviation over some axes, the mean, and 1 / deviation."""
    attrs = {"axes": tuple(axes), "keepdims": True}
    mean = b.op("ReduceMean", [x], attrs)
    centred = x - mean
    inverse = b.op("Rsqrt", [b.op("ReduceMean", [centred * centred], attrs) + epsilon])
    return centred * inverse, mean, inverse


def layer_norm(
    b: GraphBuilder,
    x: Tensor,
    scale: Tensor,
    bias: Tensor | None,
    *,
    axes: Sequence[int],
    epsilon: float,
    precision: str = "float32",
) -> list[Tensor]:
    """x normalised over some axes, scaled and shifted, the mean, and 1 / deviation; the latter are
    computed in another precision.
    """
    normalised, mean, inverse = standardise_with_moments(b, cast(b, x, precision), axes, epsilon)
    y = cast(b, normalised, x.dtype) * scale
    return [y if bias is None else y + bias, mean, inverse]


def local_response_norm(
    b: GraphBuilder,
    x: Tensor,
    widths: Mapping[int, int],
    *,
    alpha: float,
    beta: float,
    bias: float,
) -> Tensor:
    """x (bias + alpha * mean of the squares of neighbours) ** -beta. `widths` are the sizes of the
    window by axis; elements outside are zeros.
    """
    before = tuple((width - 1) // 2 for width in widths.values())
    ones = (1,) * len(widths)
    attrs = {
        "axes": tuple(widths),
        "window": tuple(widths.values()),
        "strides": ones,
        "dilation": ones,
        "pad_low": before,
        "pad_high": tuple(
            width - 1 - low for width, low in zip(widths.values(), before, strict=True)
        ),
        "count_include_pad": True,
    }
    base = b.op("AvgPool", [x * x], attrs) * alpha + bias
    return b.op("Mul", [x, b.op("Pow", [base, b.constant(-beta, x.dtype)])])
