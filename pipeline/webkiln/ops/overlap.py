"""Windows as axes of their own, and their sum where they overlap."""

from collections.abc import Sequence
from math import prod

from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import iota, reshaped, total, transposed

FAR = 1 << 30
"""An index behind every axis."""


def unfolded(
    b: GraphBuilder,
    x: Tensor,
    axes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """Each of the axes as two: the windows, then their taps."""
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
    image: Sequence[int],
    block: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
) -> Tensor:
    """Blocks [N, C * taps, L] added where they were taken in [N, C, *image], padded by `low` and
    `high`.

    Axis by axis: the elements of all blocks that lie over a place are read, and summed. Nothing is
    multiplied, so that what is not finite stays where it is.
    """
    rows = list(zip(image, block, strides, dilation, low, high, strict=True))
    counts = [
        (size + before + after - (width - 1) * gap - 1) // stride + 1
        for size, width, stride, gap, before, after in rows
    ]
    y = reshaped(b, x, (x.shape[0], x.shape[1] // prod(block), *block, *counts))
    for axis, (size, width, stride, gap, before, _) in enumerate(rows):
        place = 2 + axis
        blocks = place + len(rows) - axis
        perm = [
            *range(place),
            blocks,
            place,
            *(d for d in range(place + 1, y.type.rank) if d != blocks),
        ]
        lead, rest = y.shape[:place], [y.shape[d] for d in perm[place + 2 :]]
        flat = reshaped(b, transposed(b, y, perm), (*lead, y.shape[blocks] * width, *rest))
        read = b.op(
            "Gather", [flat, _covering(b, size, width, stride, gap, before)], {"axis": place}
        )
        y = total(b, read, place + 1)
    return y


def _covering(b: GraphBuilder, size: int, width: int, stride: int, gap: int, before: int) -> Tensor:
    """For each place the elements over it, block * width + tap, [size, blocks that may reach it];
    FAR where there is none.
    """
    reach = -(-((width - 1) * gap + 1) // stride)
    places = reshaped(b, iota(b, size, "int32") + before, (size, 1))
    numbers = b.op("Sub", [b.binary("FloorDiv", places, stride), iota(b, reach, "int32")])
    offset = b.op("Sub", [places, numbers * stride])
    tap = b.binary("FloorDiv", offset, gap)
    fits = b.op(
        "And",
        [
            b.op("Equal", [tap * gap, offset]),
            b.op("And", [b.binary("Less", tap, width), b.binary("GreaterEqual", numbers, 0)]),
        ],
    )
    return b.op("Where", [fits, b.op("Add", [numbers * width, tap]), b.constant(FAR, "int32")])
