"""Transposed convolution, written with a convolution: batch and channels first."""

from collections.abc import Sequence

from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import reshaped, transposed


def transposed_conv(
    b: GraphBuilder,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    strides: Sequence[int],
    dilation: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    extra: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution over elements that lie the stride apart, by the kernel [in, out / groups, ...]
    turned round; `low` and `high` are cut off the full result at each end, which `extra` makes
    longer.
    """
    count = x.type.rank - 2
    spans = [(size - 1) * gap + 1 for size, gap in zip(w.shape[2:], dilation, strict=True)]
    starts = tuple(0 if axis < 2 else size - 1 for axis, size in enumerate(w.shape))
    steps = (1, 1, *(-1,) * count)
    turned = b.op("Slice", [w], {"starts": starts, "sizes": w.shape, "steps": steps})
    if groups > 1:
        channels, features = w.shape[0] // groups, w.shape[1]
        apart = reshaped(b, turned, (groups, channels, features, *w.shape[2:]))
        swapped = transposed(b, apart, (0, 2, 1, *range(3, 3 + count)))
        turned = reshaped(b, swapped, (groups * features, channels, *w.shape[2:]))
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
    return b.op("Conv", [x, turned] if bias is None else [x, turned, bias], attrs)
