"""Layers of SSD: prior boxes, and the selection of detected boxes."""

from collections.abc import Sequence
from math import inf, sqrt

from webkiln.frontends.caffe.operators.operands import blob, bottoms
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import is_symbolic, minimum
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.detection import non_max_suppression
from webkiln.ops.pieces import (
    cast,
    filled,
    iota,
    part,
    reshaped,
    sized,
    stacked,
    transposed,
    widened,
)

ROW = 7
"""A row of the output: image, label, score and four corners."""


def normalize(call: NodeCall) -> Tensor:
    """Normalise by the L2 norm over channels, or over all elements, and multiply by a factor or one
    per channel.
    """
    x = call.tensor(0)
    axes = tuple(range(1, x.type.rank)) if call.attr("across_spatial") else (1,)
    length = call.op(
        "Sqrt", [call.op("ReduceSum", [x * x], {"axes": axes, "keepdims": True}) + call.attr("eps")]
    )
    factors = (
        (1,) * x.type.rank
        if call.attr("channel_shared")
        else (1, x.shape[1], *(1,) * (x.type.rank - 2))
    )
    return call.op("Mul", [x / length, blob(call, 0, factors)])


def prior_sizes(call: NodeCall) -> list[tuple[float, float]]:
    """The widths and heights of a position's prior boxes. Caffe truncates sizes to integers."""
    ratios = [1.0]
    for ratio in call.attr("aspect_ratio") or ():
        if ratio <= 0:
            raise call.error(f"has an aspect ratio of {ratio}, expected a positive number")
        if all(abs(ratio - other) >= 1e-6 for other in ratios):
            ratios += [ratio, 1 / ratio] if call.attr("flip") else [ratio]
    smallest, largest = (list(map(int, call.attr(name) or ())) for name in ("min_size", "max_size"))
    if (
        not smallest
        or (largest and len(largest) != len(smallest))
        or any(size < 1 for size in smallest)
    ):
        raise call.error(
            f"has {len(smallest)} sizes and {len(largest)} largest sizes; expected at least one"
            " size, and the same number of largest sizes or none"
        )
    pairs: list[tuple[float, float]] = []
    for index, size in enumerate(smallest):
        pairs.append((size, size))
        if largest:
            pairs.append((sqrt(size * largest[index]),) * 2)
        pairs += [
            (size * sqrt(ratio), size / sqrt(ratio)) for ratio in ratios if abs(ratio - 1) >= 1e-6
        ]
    return pairs


def prior_box(call: NodeCall) -> Tensor:
    """Prior boxes on a grid, relative to the image, and their variances: [1, 2, boxes * 4]."""
    b, (grid, image) = call.builder, bottoms(call)[:2]
    rows, columns = grid.shape[2:]
    one = call.attr("img_size")
    height, width = (
        call.attr("img_h", one) or image.shape[2],
        call.attr("img_w", one) or image.shape[3],
    )
    both = call.attr("step")
    steps = call.attr("step_h", both), call.attr("step_w", both)
    sizes = prior_sizes(call)
    count = len(sizes)
    centres = []
    for size, cells, step in ((height, rows, steps[0]), (width, columns, steps[1])):
        pixels = cast(b, sized(b, size, "int32"), "float32")
        offsets = (
            b.constant(step, "float32")
            if step
            else pixels / cast(b, sized(b, cells, "int32"), "float32")
        )
        centres.append(((iota(b, cells, "float32") + call.attr("offset")) * offsets, pixels))
    (down, tall), (along, breadth) = centres
    halves = [b.constant([size[axis] / 2 for size in sizes], "float32") for axis in (0, 1)]
    x, y = reshaped(b, along, (1, columns, 1)), reshaped(b, down, (rows, 1, 1))
    corners = [
        (x - halves[0]) / breadth,
        (y - halves[1]) / tall,
        (x + halves[0]) / breadth,
        (y + halves[1]) / tall,
    ]
    boxes = stacked(b, [widened(b, corner, (rows, columns, count)) for corner in corners], 3)
    if call.attr("clip"):
        boxes = call.op("Clip", [boxes], {"min": 0.0, "max": 1.0})
    variance = call.attr("variance") or (0.1,)
    if len(variance) not in (1, 4):
        raise call.error(f"has {len(variance)} variances, expected one or four")
    variances = widened(
        b, b.constant(list(variance) * (4 // len(variance)), "float32"), boxes.shape
    )
    return b.op(
        "Concat",
        [reshaped(b, item, (1, 1, rows * columns * count * 4)) for item in (boxes, variances)],
        {"axis": 1},
    )


def decoded(call: NodeCall, location: Tensor, priors: Tensor) -> Tensor:
    """Decode predictions [N, P, L, 4] with priors and variances [2, P, 4] to [N, P, L, 4]."""
    b, count = call.builder, priors.shape[1]
    box, variance = (
        reshaped(b, part(b, priors, 0, index, 1), (1, count, 1, 4)) for index in (0, 1)
    )
    if not call.attr("variance_encoded_in_target"):
        location = location * variance
    kind = call.attr("code_type")
    if kind == "CORNER":
        return box + location
    low, high = (part(b, box, 3, index, 2) for index in (0, 2))
    size = high - low
    if kind == "CORNER_SIZE":
        return box + location * b.op("Concat", [size, size], {"axis": 3})
    centre = (low + high) * 0.5 + part(b, location, 3, 0, 2) * size
    half = b.op("Exp", [part(b, location, 3, 2, 2)]) * size * 0.5
    return b.op("Concat", [centre - half, centre + half], {"axis": 3})


def detection_output(call: NodeCall) -> Tensor:
    """Rows [1, 1, detections, 7], sorted by image and label, the best score first. An image without
    detections has a row of -1.
    """
    b, labels = call.builder, call.attr("num_classes") or 0
    location, confidence, priors = bottoms(call)[:3]
    if call.attr("nms_param.eta", 1.0) < 1:
        raise call.unsupported("changes its threshold (eta)", "Only an eta of 1 is supported")
    images, count = location.shape[0], priors.shape[2] // 4
    shared = call.attr("share_location")
    boxes = decoded(
        call,
        reshaped(b, location, (images, count, 1 if shared else labels, 4)),
        reshaped(b, priors, (2, count, 4)),
    )
    scores = transposed(b, reshaped(b, confidence, (images, count, labels)), (0, 2, 1))
    scores = _without_background(call, scores, call.attr("background_label_id"))
    most = call.attr("nms_param.top_k", -1)
    retained = minimum(count, most) if most > -1 else count
    ordered, positions = (
        part(b, item, 2, 0, retained)
        for item in b.ops("Sort", [scores], {"axis": 2, "descending": True})
    )
    chosen = _boxes_at(b, boxes, cast(b, positions, "int32"), labels)
    shown = _suppressed(call, chosen, ordered)
    ordered = reshaped(b, ordered, (images, labels * retained))
    shown = _best(call, ordered, shown)
    return _rows(b, shown, ordered, chosen, labels)


def _without_background(call: NodeCall, scores: Tensor, background: int) -> Tensor:
    """Scores [N, labels, P], without the background."""
    b = call.builder
    number = reshaped(b, iota(b, scores.shape[1], "int32"), (1, scores.shape[1], 1))
    return call.op(
        "Where",
        [
            call.op("Equal", [number, b.constant(background, "int32")]),
            call.like(-inf, scores),
            scores,
        ],
    )


def _boxes_at(b: GraphBuilder, boxes: Tensor, positions: Tensor, labels: int) -> Tensor:
    """Gather boxes [N, P, 1 or labels, 4] at indices [N, labels, K]: [N, labels, K, 4]."""
    images, count, box_labels, _ = boxes.shape
    retained = positions.shape[2]
    by_label = reshaped(b, transposed(b, boxes, (0, 2, 1, 3)), (images * box_labels, count, 4))
    rows = reshaped(b, positions, (images * box_labels, labels * retained // box_labels, 1))
    return reshaped(
        b, b.op("GatherND", [by_label, rows], {"batch": 1}), (images, labels, retained, 4)
    )


def _suppressed(call: NodeCall, boxes: Tensor, scores: Tensor) -> Tensor:
    """Non-maximum suppression of boxes [N, labels, K, 4] within each label: a mask [N, labels * K].
    Boxes with negative sizes are empty.
    """
    b = call.builder
    images, labels, retained, _ = boxes.shape
    low, high = (part(b, boxes, 3, start, 2) for start in (0, 2))
    clean = b.op("Concat", [low, b.op("Max", [low, high])], {"axis": 3})
    most = (
        b.constant([retained], "int64")
        if not is_symbolic(retained)
        else b.op("Sizes", [], {"sizes": (retained,), "dtype": "int64"})
    )
    selected = non_max_suppression(
        b,
        reshaped(b, clean, (images * labels, retained, 4)),
        reshaped(b, scores, (images * labels, 1, retained)),
        most,
        b.constant([call.attr("nms_param.nms_threshold", 0.3)], "float32"),
        b.constant([call.attr("confidence_threshold", -inf)], "float32"),
    )
    rows = part(b, selected, 1, 0, 2, 2)
    none = filled(b, 0.0, "float32", (images * labels, retained))
    ones = filled(b, 1.0, "float32", (selected.shape[0],))
    marked = b.op("ScatterND", [none, rows, ones])
    return b.op("Greater", [reshaped(b, marked, (images, labels * retained)), b.constant(0.5)])


def _best(call: NodeCall, scores: Tensor, shown: Tensor) -> Tensor:
    """Keep the best `keep_top_k` detections of each image."""
    b, most = call.builder, call.attr("keep_top_k")
    if most < 0:
        return shown
    total = scores.shape[1]
    _, positions = b.ops(
        "Sort", [b.op("Where", [shown, scores, b.constant(-inf)])], {"axis": 1, "descending": True}
    )
    numbers = widened(b, reshaped(b, iota(b, total, "int32"), (1, total)), scores.shape)
    ranks = b.op(
        "ScatterElements",
        [filled(b, 0, "int32", scores.shape), cast(b, positions, "int32"), numbers],
        {"axis": 1},
    )
    return b.op("And", [shown, b.op("Less", [ranks, b.constant(most, "int32")])])


def _rows(b: GraphBuilder, shown: Tensor, scores: Tensor, boxes: Tensor, labels: int) -> Tensor:
    images, total = scores.shape
    retained = boxes.shape[2]
    image = reshaped(b, iota(b, images, "float32"), (images, 1))
    label = reshaped(b, iota(b, labels, "float32"), (1, labels, 1))
    flat: Sequence[Tensor] = [
        widened(b, image, (images, total)),
        reshaped(b, widened(b, label, (images, labels, retained)), (images, total)),
        scores,
    ]
    table = b.op(
        "Concat", [stacked(b, list(flat), 2), reshaped(b, boxes, (images, total, 4))], {"axis": 2}
    )
    empty = b.op("Concat", [image, filled(b, -1.0, "float32", (images, ROW - 1))], {"axis": 1})
    every = b.op("Concat", [reshaped(b, table, (images * total, ROW)), empty], {"axis": 0})
    marks = reshaped(b, shown, (images * total,))
    nothing = b.op(
        "Equal",
        [
            b.op("ReduceSum", [cast(b, marks, "int32")], {"axes": (0,), "keepdims": True}),
            b.constant(0, "int32"),
        ],
    )
    is_row = b.op("Concat", [marks, widened(b, nothing, (images,))], {"axis": 0})
    nonzero = b.nonzero(is_row)
    return reshaped(
        b,
        b.op("Gather", [every, reshaped(b, nonzero, (nonzero.shape[1],))], {"axis": 0}),
        (1, 1, nonzero.shape[1], ROW),
    )


DETECTION: dict[str, NodeHandler] = {
    "Normalize": normalize,
    "PriorBox": prior_box,
    "DetectionOutput": detection_output,
}
