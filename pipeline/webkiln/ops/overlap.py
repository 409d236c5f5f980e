"""Extraction of sliding windows (im2col), and the sum of overlapping windows (col2im)."""

from collections.abc import Sequence
from math import prod

from webkiln.ir.dim import Size
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import iota, reshaped, total, transposed

OUT_OF_BOUNDS = 1 << 30
"""An index beyond the end of any axis, where Gather reads 0."""


def unfolded(
    b: GraphBuilder,
    x: Tensor,
    axes: Sequence[int],
    window: Sequence[Size],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """Replace each of `axes` by two: the windows, then the taps in a window."""
    for axis, width, stride, gap in sorted(
        zip(axes, window, strides, dilation, strict=True), reverse=True
    ):
        count = (x.shape[axis] - (width - 1) * gap - 1) // stride + 1
        starts = reshaped(b, iota(b, count, "int32") * stride, (count, 1))
        x = b.op(
            "Gather", [x, b.op("Add", [starts, iota(b, width, "int32") * gap])], {"axis": axis}
        )
    return x


def overlapped(
    b: GraphBuilder,
    x: Tensor,
    image: Sequence[Size],
    block: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    low: Sequence[Size],
    high: Sequence[Size],
) -> Tensor:
    """Sum the windows [N, C * taps, L] into [N, C, *image], which is padded by `low` and `high`.

    For each axis, the elements of all windows that cover a position are gathered and summed. There
    are no multiplications, so infinities and NaN do not spread to other positions.
    """
    rows = list(zip(image, block, strides, dilation, low, high, strict=True))
    counts = [
        (size + before + after - (width - 1) * gap - 1) // stride + 1
        for size, width, stride, gap, before, after in rows
    ]
    y = reshaped(b, x, (x.shape[0], x.shape[1] // prod(block), *block, *counts))
    for axis, (size, width, stride, gap, before, _) in enumerate(rows):
        taps = 2 + axis
        windows = taps + len(rows) - axis
        perm = [
            *range(taps),
            windows,
            taps,
            *(d for d in range(taps + 1, y.type.rank) if d != windows),
        ]
        lead, rest = y.shape[:taps], [y.shape[d] for d in perm[taps + 2 :]]
        flat = reshaped(b, transposed(b, y, perm), (*lead, y.shape[windows] * width, *rest))
        covering = _covering(b, size, width, stride, gap, before)
        y = total(b, b.op("Gather", [flat, covering], {"axis": taps}), taps + 1)
    return y


def _covering(
    b: GraphBuilder, size: Size, width: Size, stride: int, gap: int, before: Size
) -> Tensor:
    """The elements that cover each position, as window * width + tap: [size, maximum number of
    windows per position]. Unused entries are OUT_OF_
    """
    count = -(-((width - 1) * gap + 1) // stride)
    positions = reshaped(b, iota(b, size, "int32") + before, (size, 1))
    numbers = b.op("Sub", [b.binary("FloorDiv", positions, stride), iota(b, count, "int32")])
    offset = b.op("Sub", [positions, numbers * stride])
    tap = b.binary("FloorDiv", offset, gap)
    fits = b.op(
        "And",
        [
            b.op("Equal", [tap * gap, offset]),
            b.op("And", [b.binary("Less", tap, width), b.binary("GreaterEqual", numbers, 0)]),
        ],
    )
    element = b.op("Add", [numbers * width, tap])
    return b.op("Where", [fits, element, b.constant(OUT_OF_BOUNDS, "int32")])
