"""Non-maximum suppression."""

from webkiln.ir.dim import Size
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import filled, iota, part, reshaped


def non_max_suppression(
    b: GraphBuilder,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    overlap: Tensor,
    least: Tensor,
    *,
    center: bool = False,
) -> Tensor:
    """Boxes [N, K, 4] and scores [N, C, K] -> rows [count, 3] of image, class and box, the best
    boxes of each class first; the count is data-dependent. Limits of one element: the number of
    boxes of each class (int64), the overlap above which a box is dropped, and the score that it
    must exceed. With `center`, boxes are centres and sizes, otherwise corners.
    """
    limits = [reshaped(b, limit, (1,)) for limit in (most, overlap, least)]
    attrs = {"center": center, "count": b.data_dependent()}
    return b.op("NonMaxSuppression", [boxes, scores, *limits], attrs)


def selected_boxes(
    b: GraphBuilder, boxes: Tensor, scores: Tensor, most: Tensor, overlap: Tensor, least: Tensor
) -> Tensor:
    """Boxes [K, 4] and scores [K] of one class -> the indices of the selected boxes, [count]."""
    limits = [reshaped(b, limit, (1,)) for limit in (most, overlap, least)]
    batched = reshaped(b, boxes, (1, *boxes.shape)), reshaped(b, scores, (1, 1, *scores.shape))
    rows = non_max_suppression(b, *batched, *limits)
    return reshaped(b, part(b, rows, 1, 2, 1), rows.shape[:1])


def padded_to(b: GraphBuilder, x: Tensor, size: Size) -> Tensor:
    """x [count], of a data-dependent count, followed by zeros: [size]."""
    positions = reshaped(b, iota(b, x.shape[0], "int32"), (x.shape[0], 1))
    none = filled(b, 0.0 if x.dtype == "float32" else 0, x.dtype, (size,))
    return b.op("ScatterND", [none, positions, x], {"reduction": "none"})
