"""Raw operators of pooling and grayscale dilation.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tensorflow.operators.windows import layout, padding
from webkiln.ir.dim import Size, known_shape
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.windows import (
    dims_of,
    pads,
    spans,
)
from webkiln.ops.pieces import cast, element, iota, part, sized


def pool(op: str) -> NodeHandler:
    """Averages exclude padding. In `V2` of max pooling, window and strides are operands."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        rank = x.type.rank
        window_and_strides = (
            (call.integers(1), call.integers(2))
            if call.spec.op == "MaxPoolV2"
            else (call.attr("ksize"), call.attr("strides"))
        )
        axes = dims_of(layout(call), rank)[2:]
        window, strides = ([values[axis] for axis in axes] for values in window_and_strides)
        others = [
            values[axis]
            for values in window_and_strides
            for axis in dims_of(layout(call), rank)[:2]
        ]
        if any(value != 1 for value in others):
            raise call.unsupported(
                "pools over the batch or the channels", "Pool over the spatial axes"
            )
        ones = (1,) * len(axes)
        pad_pairs = padding(call, [x.shape[axis] for axis in axes], window, strides, ones, rank)
        attrs = {
            "axes": axes,
            "window": tuple(window),
            "strides": tuple(strides),
            "dilation": ones,
        } | pads(pad_pairs)
        return call.op(op, [x], attrs)

    return handler


def taps(
    call: NodeCall,
    x: Tensor,
    window: Sequence[Size],
    strides: Sequence[int],
    dilation: Sequence[int],
    outside: float,
) -> Iterator[tuple[tuple[int, int], Tensor, Tensor]]:
    """For images [N, H, W, C], by position in the window: the position, the elements of all windows
    there, and their indices in the image, [rows, columns, 1].
    """
    b = call.builder
    pad_pairs = padding(call, x.shape[1:3], window, strides, dilation, 4)
    low, high = ((0, *(pair[side] for pair in pad_pairs), 0) for side in (0, 1))
    padded = call.op("Pad", [x], {"low": low, "high": high, "value": outside})
    counts = [
        (size - span) // step + 1
        for size, span, step in zip(
            padded.shape[1:3], spans(window, dilation), strides, strict=True
        )
    ]
    rows_of_window, columns_of_window = known_shape(window, "the window")
    for row in range(rows_of_window):
        for column in range(columns_of_window):
            elements = padded
            lines = []
            for axis, position in enumerate((row, column)):
                start, step, count = position * dilation[axis], strides[axis], counts[axis]
                elements = part(b, elements, axis + 1, start, count, step)
                lines.append(
                    iota(b, count, "int64") * step + sized(b, start - pad_pairs[axis][0], "int64")
                )
            rows, columns = (
                call.op("Reshape", [line], {"shape": shape})
                for line, shape in zip(lines, ((counts[0], 1, 1), (counts[1], 1)), strict=True)
            )
            yield (row, column), elements, rows * sized(b, x.shape[2], "int64") + columns


def pool_with_argmax(call: NodeCall) -> list[Tensor]:
    """The maxima, and their indices in the image or in the batch; of equal ones, the first."""
    b, x = call.builder, call.tensor(0)
    window, strides = call.attr("ksize")[1:3], call.attr("strides")[1:3]

    def larger(
        before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        is_more = b.op("Greater", [after[0], before[0]])
        value, index = (b.op("Where", [is_more, *pair]) for pair in zip(after, before, strict=True))
        return value, index

    positions = taps(call, x, window, strides, (1, 1), float("-inf"))
    best, index = reduce(
        larger,
        (
            (value, b.op("Broadcast", [plane], {"shape": value.shape}))
            for _, value, plane in positions
        ),
    )
    channels = x.shape[3]
    index = index * sized(b, channels, "int64") + iota(b, channels, "int64")
    if call.flag("include_batch_in_index"):
        size = sized(b, x.shape[1] * x.shape[2] * channels, "int64")
        index = index + call.op(
            "Reshape", [iota(b, x.shape[0], "int64") * size], {"shape": (x.shape[0], 1, 1, 1)}
        )
    return [best, cast(b, index, call.attr("Targmax", "int64"))]


def dilation(call: NodeCall) -> Tensor:
    """Grayscale dilation: the maximum of the sums of an element and a filter [rows, columns, C]."""
    b, x, w = call.builder, call.tensor(0), call.tensor(1)
    strides, rates = call.attr("strides")[1:3], call.attr("rates")[1:3]
    positions = taps(call, x, w.shape[:2], strides, rates, float("-inf"))
    sums = (
        b.op("Add", [value, element(b, element(b, w, 0, row), 0, column)])
        for (row, column), value, _ in positions
    )
    return reduce(lambda best, total: b.op("Max", [best, total]), sums)


POOLING: Mapping[str, NodeHandler] = {
    "MaxPool": pool("MaxPool"),
    "MaxPoolV2": pool("MaxPool"),
    "MaxPool3D": pool("MaxPool"),
    "AvgPool": pool("AvgPool"),
    "AvgPool3D": pool("AvgPool"),
    "MaxPoolWithArgmax": pool_with_argmax,
    "Dilation2D": dilation,
}
