"""Transposed convolution as a convolution with a dilated input."""

from collections.abc import Sequence

from webkiln.ir.dim import Size
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import reshaped, transposed


def transposed_conv(
    b: GraphBuilder,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    strides: Sequence[int],
    dilation: Sequence[int],
    low: Sequence[Size],
    high: Sequence[Size],
    extra: Sequence[Size],
    groups: int,
) -> Tensor:
    """Transposed convolution of x [N, C, ...] with the kernel w [C, features / groups, ...].

    The output is truncated by `low` and `high` at the ends of each axis, and extended by `extra` at
    the high end. It is computed as a convolution with the reversed kernel, over an input that is
    dilated by `strides`.
    """
    count = x.type.rank - 2
    spans = [(size - 1) * gap + 1 for size, gap in zip(w.shape[2:], dilation, strict=True)]
    starts = tuple(0 if axis < 2 else size - 1 for axis, size in enumerate(w.shape))
    steps = (1, 1, *(-1,) * count)
    kernel = b.op("Slice", [w], {"starts": starts, "sizes": w.shape, "steps": steps})
    if groups > 1:
        channels, features = w.shape[0] // groups, w.shape[1]
        grouped = reshaped(b, kernel, (groups, channels, features, *w.shape[2:]))
        swapped = transposed(b, grouped, (0, 2, 1, *range(3, 3 + count)))
        kernel = reshaped(b, swapped, (groups * features, channels, *w.shape[2:]))
        w_dims = tuple(range(w.type.rank))
    else:
        w_dims = (1, 0, *range(2, w.type.rank))
    dims = tuple(range(x.type.rank))
    attrs = {
        "x_dims": dims,
        "w_dims": w_dims,
        "out_dims": dims,
        "strides": (1,) * count,
        "dilation": tuple(dilation),
        "x_dilation": tuple(strides),
        "pad_low": tuple(span - 1 - before for span, before in zip(spans, low, strict=True)),
        "pad_high": tuple(
            span - 1 + more - after for span, more, after in zip(spans, extra, high, strict=True)
        ),
        "groups": groups,
    }
    return b.op("Conv", [x, kernel] if bias is None else [x, kernel, bias], attrs)
