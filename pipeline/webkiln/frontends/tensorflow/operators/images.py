"""Raw operators on images and boxes. https://www.tensorflow.org/api_docs/python/tf/raw_ops"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import Size, is_at_least
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional import detection
from webkiln.ops.functional.detection import padded_to, selected_boxes
from webkiln.ops.functional.image import colours, hsv_of, rgb_of
from webkiln.ops.functional.segments import top_k
from webkiln.ops.pieces import cast, element, filled, iota, sized, total


def in_hsv(
    change: Callable[[GraphBuilder, Tensor, Tensor, Tensor, Tensor], Sequence[Tensor]],
) -> NodeHandler:
    """Convert images to HSV, change them by the second operand, and convert back."""

    def handler(call: NodeCall) -> Tensor:
        x, amount = call.tensors()

        def turned(b: GraphBuilder, red: Tensor, green: Tensor, blue: Tensor) -> Sequence[Tensor]:
            hue, saturation, value = hsv_of(b, red, green, blue)
            hue, saturation, value = change(b, hue, saturation, value, amount)
            return rgb_of(b, hue, saturation, value)

        result: Tensor = colours(turned)(call.builder, x)
        return result

    return handler


def _hue(
    b: GraphBuilder, hue: Tensor, saturation: Tensor, value: Tensor, amount: Tensor
) -> Sequence[Tensor]:
    return [b.binary("Mod", hue + amount, 1.0), saturation, value]


def _saturation(
    b: GraphBuilder, hue: Tensor, saturation: Tensor, value: Tensor, amount: Tensor
) -> Sequence[Tensor]:
    return [hue, b.op("Clip", [saturation * amount], {"min": 0.0, "max": 1.0}), value]


def non_max_suppression(call: NodeCall) -> list[Tensor]:
    """`NonMaxSuppression` of one class: the indices of the selected boxes, the best first. V3 has a
    score threshold; V4 pads the result with 0 and returns its length.
    """
    b = call.builder
    boxes, scores, most = call.tensor(0), call.tensor(1), call.tensor(2)
    overlap = (
        call.tensor(3) if call.has(3) else call.constant(call.attr("iou_threshold", 0.5), "float32")
    )
    least = call.tensor(4) if call.has(4) else call.constant(float("-inf"), "float32")
    if call.has(5) and (not call.operand(5).is_constant or call.numbers(5).any()):
        raise call.unsupported(
            "lowers the scores of overlapping boxes (soft_nms_sigma)", "Set soft_nms_sigma to 0"
        )
    chosen = selected_boxes(b, boxes, scores, cast(b, most, "int64"), overlap, least)
    chosen = cast(b, chosen, "int32")
    if call.spec.op not in ("NonMaxSuppressionV4", "NonMaxSuppressionV5"):
        return [chosen]
    count = sized(b, chosen.shape[0], "int32")
    if not call.flag("pad_to_max_output_size"):
        results = [chosen]
    else:
        (size,) = call.sizes(2)
        results = [padded_to(b, chosen, size)]
    if call.spec.op == "NonMaxSuppressionV5":
        best = b.op("Gather", [scores, results[0]], {"axis": 0})
        is_valid = b.binary("Less", iota(b, results[0].shape[0], "int32"), count)
        results.append(b.op("Where", [is_valid, best, call.like(0, best)]))
    return [*results, count]


def combined_non_max_suppression(call: NodeCall) -> list[Tensor]:
    """`CombinedNonMaxSuppression`: boxes [N, boxes, 1 or classes, 4] and scores [N, boxes, classes]
    -> the best boxes of all classes of each image, their scores and classes, padded with zeros, and
    their number.
    """
    b, boxes, scores = call.builder, call.tensor(0), call.tensor(1)
    each, limit = call.sizes(2)[0], call.sizes(3)[0]
    images, count, box_classes, _ = boxes.shape
    classes = scores.shape[2]
    by_class = b.op("Transpose", [scores], {"perm": (0, 2, 1)})
    kinds = b.op("Transpose", [boxes], {"perm": (0, 2, 1, 3)})
    ranked = _selected_scores(call, kinds, by_class)
    size = min(limit, each * classes) if call.flag("pad_per_class") else limit
    if not is_at_least(classes * count, size):
        ranked = b.op("Pad", [ranked], {"low": (0, 0), "high": (0, size), "value": float("-inf")})
    best, positions = top_k(b, ranked, size)
    is_there = b.binary("Greater", best, call.like(float("-inf"), best))
    positions = b.op("Where", [is_there, positions, call.like(0, positions)])
    flat = b.op("Reshape", [kinds], {"shape": (images * box_classes * count, 4)})
    label, box = (
        b.op("FloorDiv", [positions, sized(b, count, "int32")]),
        b.op("Mod", [positions, sized(b, count, "int32")]),
    )
    first = b.op(
        "Reshape",
        [iota(b, images, "int32") * sized(b, box_classes * count, "int32")],
        {"shape": (images, 1)},
    )
    gathered = b.op(
        "Gather", [flat, b.binary("Add", first, positions if box_classes > 1 else box)], {"axis": 0}
    )
    gathered = (
        b.op("Clip", [gathered], {"min": 0.0, "max": 1.0})
        if call.flag("clip_boxes", default=True)
        else gathered
    )
    is_valid = b.op("Reshape", [is_there], {"shape": (images, size, 1)})
    return [
        b.op("Where", [is_valid, gathered, call.like(0, gathered)]),
        b.op("Where", [is_there, best, call.like(0, best)]),
        b.op("Where", [is_there, cast(b, label, scores.dtype), call.like(0, scores)]),
        total(b, cast(b, is_there, "int32"), 1),
    ]


def _selected_scores(call: NodeCall, boxes: Tensor, scores: Tensor) -> Tensor:
    """Boxes [N, 1 or classes, boxes, 4] and scores [N, classes, boxes] -> [N, classes * boxes]: the
    scores of boxes that `CombinedNonMaxSuppression` selects, and -infinity for the others.
    """
    b, classes = call.builder, scores.shape[1]
    images, box_classes, count, _ = boxes.shape
    rows, columns = (images, classes) if box_classes == 1 else (images * classes, 1)
    limits = (
        cast(b, call.tensor(position), dtype)
        for position, dtype in ((2, "int64"), (4, "float32"), (5, "float32"))
    )
    selected = detection.non_max_suppression(
        b,
        b.op("Reshape", [boxes], {"shape": (rows, count, 4)}),
        b.op("Reshape", [scores], {"shape": (rows, columns, count)}),
        *limits,
    )
    stays = b.op(
        "ScatterND",
        [
            filled(b, 0, "int32", (rows, columns, count)),
            selected,
            filled(b, 1, "int32", selected.shape[:1]),
        ],
        {"reduction": "none"},
    )
    stays = b.op("Reshape", [stays], {"shape": (images, classes * count)})
    return b.op(
        "Where",
        [
            b.binary("Greater", stays, 0),
            b.op("Reshape", [scores], {"shape": (images, classes * count)}),
            call.like(float("-inf"), scores),
        ],
    )


def crop_and_resize(call: NodeCall) -> Tensor:
    """Crop [N, H, W, C] to boxes (y1, x1, y2, x2, relative to the image) of the images `box_ind`,
    resized to [boxes, h, w, C]. Outside of images, the value is constant.
    """
    b, x, boxes, numbers, (height, width) = (
        call.builder,
        call.tensor(0),
        call.tensor(1),
        call.tensor(2),
        call.integers(3),
    )
    x = cast(b, x, "float32")
    outside, method = call.attr("extrapolation_value", 0.0), call.attr("method", "bilinear")
    lines = [
        _line(b, boxes, axis, x.shape[1 + axis], size) for axis, size in enumerate((height, width))
    ]
    inside = [
        b.op(
            "And",
            [
                b.binary("GreaterEqual", line, 0.0),
                b.binary("LessEqual", line, sized(b, x.shape[1 + axis] - 1, "float32")),
            ],
        )
        for axis, line in enumerate(lines)
    ]
    is_inside = b.op("And", [_along_axis(b, inside[0], 0), _along_axis(b, inside[1], 1)])
    sampled = (
        _nearest(b, x, numbers, lines) if method == "nearest" else _between(b, x, numbers, lines)
    )
    shape = (*is_inside.shape, 1)
    return b.op(
        "Where",
        [b.op("Reshape", [is_inside], {"shape": shape}), sampled, b.constant(outside, "float32")],
    )


def _line(b: GraphBuilder, boxes: Tensor, axis: int, size: Size, out: int) -> Tensor:
    """[boxes, out]: the positions along an axis for the outputs of each box."""
    first, last = (
        b.op("Reshape", [element(b, boxes, 1, axis + side)], {"shape": (boxes.shape[0], 1)})
        for side in (0, 2)
    )
    last_index = sized(b, size - 1, "float32")
    if out == 1:
        return (first + last) * 0.5 * last_index
    step = (last - first) * last_index / float(out - 1)
    return b.binary("Add", first * last_index, b.binary("Mul", iota(b, out, "float32"), step))


def _along_axis(b: GraphBuilder, line: Tensor, axis: int) -> Tensor:
    """[boxes, out] as [boxes, h, 1] or [boxes, 1, w]."""
    count, out = line.shape
    return b.op("Reshape", [line], {"shape": (count, out, 1) if axis == 0 else (count, 1, out)})


def _at(b: GraphBuilder, x: Tensor, numbers: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Elements [boxes, h, w, C] at integer positions, clamped to the images."""
    batch, height, width, channels = x.shape
    flat = b.op("Reshape", [x], {"shape": (batch * height * width, channels)})
    rows, columns = (
        _clipped_index(b, line, size) for line, size in ((rows, height), (columns, width))
    )
    image = b.op("Reshape", [cast(b, numbers, "int32")], {"shape": (numbers.shape[0], 1, 1)})
    row = b.binary("Add", image * sized(b, height, "int32"), _along_axis(b, rows, 0))
    index = b.binary("Add", row * sized(b, width, "int32"), _along_axis(b, columns, 1))
    return b.op("Gather", [flat, index], {"axis": 0})


def _clipped_index(b: GraphBuilder, line: Tensor, size: Size) -> Tensor:
    index = cast(b, line, "int32")
    return b.binary("Max", b.binary("Min", index, sized(b, size - 1, "int32")), 0)


def _nearest(b: GraphBuilder, x: Tensor, numbers: Tensor, lines: Sequence[Tensor]) -> Tensor:
    """The nearest element. Ties round up, like C's `roundf` for positive numbers."""
    rows, columns = (b.op("Floor", [line + 0.5]) for line in lines)
    return _at(b, x, numbers, rows, columns)


def _between(b: GraphBuilder, x: Tensor, numbers: Tensor, lines: Sequence[Tensor]) -> Tensor:
    lows, highs = (
        [b.op("Floor", [line]) for line in lines],
        [b.op("Ceil", [line]) for line in lines],
    )
    down, across = (
        _along_axis(b, line - low, axis)
        for axis, (line, low) in enumerate(zip(lines, lows, strict=True))
    )
    down, across = (
        b.op("Reshape", [share], {"shape": (*share.shape, 1)}) for share in (down, across)
    )

    def row(positions: Tensor) -> Tensor:
        left, right = (
            _at(b, x, numbers, positions, lows[1]),
            _at(b, x, numbers, positions, highs[1]),
        )
        return b.binary("Add", left, b.binary("Mul", right - left, across))

    top, bottom = row(lows[0]), row(highs[0])
    return b.binary("Add", top, b.binary("Mul", bottom - top, down))


def fake_quantised(call: NodeCall) -> Tensor:
    """Quantize values to this number of bits between a minimum and a maximum, which are nudged so
    that 0 is a step, and dequantize them.

    https://www.tensorflow.org/api_docs/python/tf/quantization/fake_quant_with_min_max_args
    """
    b, x = call.builder, call.tensor(0)
    if call.spec.op == "FakeQuantWithMinMaxArgs":
        low, high = (
            call.constant(call.attr(name, value), "float32")
            for name, value in (("min", -6.0), ("max", 6.0))
        )
    else:
        low, high = call.tensor(1), call.tensor(2)
    least, most = float(call.flag("narrow_range")), float((1 << call.attr("num_bits", 8)) - 1)
    scale = (high - low) / (most - least)
    zero_point = least - low / scale
    nudged = b.op(
        "Where",
        [
            b.binary("Less", zero_point, least),
            call.like(least, zero_point),
            b.op("Floor", [zero_point + 0.5]),
        ],
    )
    nudged = b.op(
        "Where", [b.binary("Greater", zero_point, most), call.like(most, zero_point), nudged]
    )
    bottom, top = (least - nudged) * scale, (most - nudged) * scale
    clamped = b.binary("Max", b.binary("Min", x, top), bottom)
    return b.binary(
        "Add",
        b.binary("Mul", b.op("Floor", [b.binary("Div", clamped - bottom, scale) + 0.5]), scale),
        bottom,
    )


def quantize_and_dequantize(call: NodeCall) -> Tensor:
    """`QuantizeAndDequantize*`: round to steps of this number of bits, in a given range or that of
    the elements. 0 is a step.

    https://www.tensorflow.org/api_docs/python/tf/quantization/quantize_and_dequantize_v2
    """
    b, x = call.builder, call.tensor(0)
    is_third = call.spec.op == "QuantizeAndDequantizeV3"
    is_given, is_signed, axis = (
        call.flag("range_given", default=is_third),
        call.flag("signed_input", default=True),
        call.attr("axis", -1),
    )
    bits = call.integers(3)[0] if is_third else call.attr("num_bits", 8)
    most = float((1 << (bits - 1)) - 1 if is_signed else (1 << bits) - 1)
    least = (
        -float((1 << (bits - 1)) - (1 if call.flag("narrow_range") else 0)) if is_signed else 0.0
    )
    if is_given:
        low, high = call.tensor(1), call.tensor(2)
    else:
        axes = tuple(number for number in range(x.type.rank) if number != axis)
        low, high = (
            b.op(op, [x], {"axes": axes, "keepdims": False}) for op in ("ReduceMin", "ReduceMax")
        )
    if axis != -1:
        shape = tuple(size if number == axis else 1 for number, size in enumerate(x.shape))
        low, high = (b.op("Reshape", [item], {"shape": shape}) for item in (low, high))
    far = call.like(float(np.finfo(np.float32).max), x)

    def scale(end: float, size: Tensor) -> Tensor:
        return b.op(
            "Where",
            [
                b.binary("Greater", size * end, 0.0),
                b.binary("Div", call.like(end, size), size),
                far,
            ],
        )

    below, above = scale(least, low), scale(most, high)
    by_low = b.op("Less", [below, above])
    step = b.op("Where", [by_low, low / least if least else low * 0.0, high / most])
    times = b.op("Where", [by_low, below, above])
    if is_given:
        bottom, top = (
            b.op("Where", [by_low, low, step * least]),
            b.op("Where", [by_low, step * most, high]),
        )
        x = b.binary("Max", b.binary("Min", x, top), bottom)
    scaled = b.binary("Mul", x, times)
    rounded = (
        b.op("Floor", [scaled + 0.5])
        if call.attr("round_mode", "HALF_TO_EVEN") == "HALF_UP"
        else b.op("Round", [scaled])
    )
    return b.binary("Mul", rounded, step)


IMAGES: Mapping[str, NodeHandler] = {
    "RGBToHSV": lambda call: colours(hsv_of)(call.builder, call.tensor(0)),
    "HSVToRGB": lambda call: colours(rgb_of)(call.builder, call.tensor(0)),
    "AdjustHue": in_hsv(_hue),
    "AdjustSaturation": in_hsv(_saturation),
    "CropAndResize": crop_and_resize,
    "FakeQuantWithMinMaxArgs": fake_quantised,
    "CombinedNonMaxSuppression": combined_non_max_suppression,
    **dict.fromkeys(
        ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"),
        quantize_and_dequantize,
    ),
    "FakeQuantWithMinMaxVars": fake_quantised,
    "FakeQuantWithMinMaxVarsPerChannel": fake_quantised,
    "NonMaxSuppression": non_max_suppression,
    "NonMaxSuppressionV2": non_max_suppression,
    "NonMaxSuppressionV3": non_max_suppression,
    "NonMaxSuppressionV4": non_max_suppression,
    "NonMaxSuppressionV5": non_max_suppression,
}
