"""Well-known custom operators: SSD's postprocessing, and MediaPipe's, whose options are structs of
32-bit integers.
"""

import struct
from typing import Any

import numpy as np

from webkiln.frontends.nodes import audio
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.flexbuffer import read_map
from webkiln.frontends.tflite.operators.conv import transposed
from webkiln.frontends.tflite.operators.integers import factor, is_quantized
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.detection import non_max_suppression
from webkiln.ops.functional.windows import window_of
from webkiln.ops.overlap import unfolded
from webkiln.ops.pieces import cast, element, filled, iota, part, reshaped, stacked, total
from webkiln.ops.pieces import transposed as permuted

SAME, VALID = 1, 2


def structure(call: NodeCall, *names: str) -> dict[str, int]:
    """The first 32-bit integers of the options."""
    data = bytes(call.attr("custom_options", ()))
    if len(data) < 4 * len(names):
        raise call.error(
            f"has {len(data)} bytes of options, expected at least {4 * len(names)}; convert the"
            " model again"
        )
    options = dict(zip(names, struct.unpack_from(f"<{len(names)}i", data), strict=True))
    if options["padding"] not in (SAME, VALID) or any(value < 1 for value in options.values()):
        raise call.error(f"has the options {options}; convert the model again")
    return options


def kind(options: dict[str, int]) -> str:
    return "SAME" if options["padding"] == SAME else "VALID"


def convolution_transpose_bias(call: NodeCall) -> Tensor:
    """Operands: x, weights [out, h, w, in], bias."""
    options = structure(call, "padding", "stride_w", "stride_h")
    x, weights = call.tensor(0), call.tensor(1)
    inner = _with(
        call,
        {
            "padding": kind(options),
            "stride_h": options["stride_h"],
            "stride_w": options["stride_w"],
        },
    )
    pairs = zip(
        x.shape[1:3], weights.shape[1:3], (options["stride_h"], options["stride_w"]), strict=True
    )
    declared = call.attr("shapes")[0][1:3]
    computed = [
        size * stride if kind(options) == "SAME" else (size - 1) * stride + window
        for size, window, stride in pairs
    ]
    sizes = [own if own > 0 else size for own, size in zip(declared, computed, strict=True)]
    order = {"x_dims": (0, 3, 1, 2), "w_dims": (0, 3, 1, 2), "out_dims": (0, 3, 1, 2), "groups": 1}
    factors = [x, cast(call.builder, weights, x.dtype)]
    y = transposed(inner, "", factors, (1, 2), order, sizes)
    return call.op("Add", [y, call.tensor(2)]) if len(call) > 2 and call.has(2) else y


def _with(call: NodeCall, attrs: dict[str, Any]) -> NodeCall:
    """The node with other attributes."""
    pooling = call.with_operands(call.builder, call.operands)
    pooling.spec = type(call.spec)(
        call.spec.name,
        call.spec.op,
        call.spec.domain,
        call.spec.inputs,
        call.spec.outputs,
        {**call.spec.attrs, **attrs},
    )
    return pooling


POOL = ("padding", "stride_w", "stride_h", "filter_w", "filter_h")


def max_pooling_with_argmax(call: NodeCall) -> list[Tensor]:
    """The maximum of each window, and its row-major index in the window, plus 0.1."""
    options, b, x = structure(call, *POOL), call.builder, call.tensor(0)
    window, strides = (
        (options["filter_h"], options["filter_w"]),
        (options["stride_h"], options["stride_w"]),
    )
    attrs = window_of(x, window, None, kind(options).lower(), strides, 1)
    low, high = ((0, *attrs[name], 0) for name in ("pad_low", "pad_high"))
    least = float(np.finfo(np.float32).min)
    wide = (
        call.op("Pad", [x], {"low": low, "high": high, "value": least}) if any((*low, *high)) else x
    )
    n, rows, tall, columns, broad, c = (
        y := unfolded(b, wide, (1, 2), window, strides, (1, 1))
    ).shape
    taps = reshaped(b, permuted(b, y, (0, 1, 3, 5, 2, 4)), (n, rows, columns, c, tall * broad))
    index = cast(b, call.op("ArgMax", [taps], {"axis": 4, "keepdims": False}), "float32")
    return [call.op("ReduceMax", [taps], {"axes": (4,), "keepdims": False}), index + 0.1]


def max_unpooling(call: NodeCall) -> Tensor:
    """Operands: x, and the index of each element in its window. Windows do not overlap."""
    options, b, x = structure(call, *POOL), call.builder, call.tensor(0)
    window, strides = (
        (options["filter_h"], options["filter_w"]),
        (options["stride_h"], options["stride_w"]),
    )
    if window != strides:
        raise call.unsupported(
            "has strides other than the size of the window",
            "Set the strides to the size of the window",
        )
    n, h, w, c = x.shape
    numbers = reshaped(b, iota(b, window[0] * window[1], "int32"), (*window, 1))
    index = reshaped(b, cast(b, call.tensor(1), "int32"), (n, h, 1, w, 1, c))
    own = call.op("Equal", [index, reshaped(b, numbers, (1, 1, window[0], 1, window[1], 1))])
    y = call.op("Where", [own, reshaped(b, x, (n, h, 1, w, 1, c)), call.like(0, x)])
    return reshaped(b, y, (n, h * window[0], w * window[1], c))


def detection_post_process(call: NodeCall) -> list[Tensor]:
    """Operands: encoded boxes [1, n, 4...], scores [1, n, classes and background], anchors [n, 4];
    results: boxes, classes, scores, count.
    """
    options = read_map(bytes(call.attr("custom_options", ())), f"{call.spec.name} ({call.spec.op})")
    b = call.builder
    encoded, scores, anchors = (_float(call, index) for index in range(3))
    boxes = decoded(call, options, reshaped(b, encoded, encoded.shape[1:]), anchors)
    count, classes = int(options["max_detections"]), int(options["num_classes"])
    scores = part(b, reshaped(b, scores, scores.shape[1:]), 1, scores.shape[2] - classes, classes)
    chosen = regular if options.get("use_regular_nms") else fast
    return chosen(call, options, boxes, scores, count)


def _float(call: NodeCall, index: int) -> Tensor:
    x = call.tensor(index)
    if x.dtype == "float32" and not is_quantized(call, index):
        return x
    wide = cast(call.builder, x, "float32")
    return call.op("Mul", [wide - float(call.attr("zeros")[index]), factor(call, f"scale{index}")])


def decoded(call: NodeCall, options: dict[str, Any], boxes: Tensor, anchors: Tensor) -> Tensor:
    """Decode boxes (centre and logarithmic size, relative to anchors) to corners [n, 4]."""
    b = call.builder
    y, x, h, w = (element(b, boxes, 1, index) for index in range(4))
    around = [element(b, anchors, 1, index) for index in range(4)]
    centres = [
        y / float(options["y_scale"]) * around[2] + around[0],
        x / float(options["x_scale"]) * around[3] + around[1],
    ]
    halves = [
        call.op("Exp", [size / float(options[name])]) * own * 0.5
        for size, name, own in ((h, "h_scale", around[2]), (w, "w_scale", around[3]))
    ]
    corners = [
        call.op(op, [centre, half])
        for op in ("Sub", "Add")
        for centre, half in zip(centres, halves, strict=True)
    ]
    return stacked(b, corners, 1)


def _suppressed(
    call: NodeCall, options: dict[str, Any], boxes: Tensor, scores: Tensor, most: Size
) -> Tensor:
    """Rows (batch, class, box) of the selected boxes. Scores are [classes, n]; scores equal to the
    threshold are kept.
    """
    b = call.builder
    least = float(np.nextafter(np.float32(options["nms_score_threshold"]), np.float32(-np.inf)))
    return non_max_suppression(
        b,
        reshaped(b, boxes, (1, *boxes.shape)),
        reshaped(b, scores, (1, *scores.shape)),
        call.constant([most], "int64"),
        call.constant([float(options["nms_iou_threshold"])], "float32"),
        call.constant([least], "float32"),
    )


def fast(
    call: NodeCall, options: dict[str, Any], boxes: Tensor, scores: Tensor, count: int
) -> list[Tensor]:
    """Suppress boxes by their best class. Each box is returned with its best classes."""
    b, shown = call.builder, min(int(options["max_classes_per_detection"]), scores.shape[1])
    best = call.op("ReduceMax", [scores], {"axes": (1,), "keepdims": False})
    rows = _suppressed(call, options, boxes, reshaped(b, best, (1, best.shape[0])), count)
    indices = cast(b, reshaped(b, part(b, rows, 1, 2, 1), (rows.shape[0],)), "int32")
    order = b.ops("Sort", [scores], {"axis": 1, "descending": True})
    values, labels = (part(b, item, 1, 0, shown) for item in order)
    positions = reshaped(b, iota(b, rows.shape[0], "int32"), (rows.shape[0], 1))

    def listed(x: Tensor) -> Tensor:
        own = call.op("Gather", [x, indices], {"axis": 0})
        return call.op(
            "ScatterND",
            [filled(b, 0.0, "float32", (count, *x.shape[1:])), positions, own],
            {"reduction": "none"},
        )

    found = reshaped(b, b.op("Sizes", [], {"sizes": (rows.shape[0],), "dtype": "float32"}), (1,))
    wide = call.op(
        "Broadcast", [reshaped(b, listed(boxes), (1, count, 1, 4))], {"shape": (1, count, shown, 4)}
    )
    flat = [
        reshaped(b, listed(cast(b, item, "float32")), (1, count * shown))
        for item in (labels, values)
    ]
    return [reshaped(b, wide, (1, count * shown, 4)), *flat, found]


def regular(
    call: NodeCall, options: dict[str, Any], boxes: Tensor, scores: Tensor, count: int
) -> list[Tensor]:
    """Suppress boxes within each class, then select the best of all."""
    b, classes = call.builder, scores.shape[1]
    each = min(int(options.get("detections_per_class") or 100), count, boxes.shape[0])
    by_class = permuted(b, scores, (1, 0))
    rows = _suppressed(call, options, boxes, by_class, each)
    positions = reshaped(b, iota(b, rows.shape[0], "int32"), (rows.shape[0], 1))
    labels, indices = (
        cast(b, reshaped(b, part(b, rows, 1, index, 1), (rows.shape[0],)), "int32")
        for index in (1, 2)
    )
    own = call.op("GatherND", [by_class, part(b, rows, 1, 1, 2)], {"batch": 0})
    room = max(classes * each, count)

    def listed(x: Tensor, empty: float) -> Tensor:
        return call.op(
            "ScatterND", [filled(b, empty, x.dtype, (room,)), positions, x], {"reduction": "none"}
        )

    values, order = b.ops("Sort", [listed(own, -1.0)], {"axis": 0, "descending": True})
    values, order = part(b, values, 0, 0, count), part(b, order, 0, 0, count)
    real = b.binary("GreaterEqual", values, 0.0)
    label = cast(b, call.op("Gather", [listed(labels, 0), order], {"axis": 0}), "float32")
    corners = call.op(
        "Gather", [boxes, call.op("Gather", [listed(indices, 0), order], {"axis": 0})], {"axis": 0}
    )
    zero = call.constant(0.0, "float32")
    shown = [
        call.op("Where", [reshaped(b, real, (count, 1)), corners, zero]),
        *(call.op("Where", [real, x, zero]) for x in (label, values)),
    ]
    found = reshaped(b, total(b, cast(b, real, "float32"), 0), (1,))
    return [reshaped(b, x, (1, *x.shape)) for x in shown] + [found]


def spectrogram(call: NodeCall) -> Tensor:
    """Operand: samples [time, channels]."""
    options = _map(call, "window_size", "stride", "magnitude_squared")
    return audio.spectrogram(
        call.builder,
        call.tensor(0),
        int(options["window_size"]),
        int(options["stride"]),
        squared=bool(options["magnitude_squared"]),
    )


def mfcc(call: NodeCall) -> Tensor:
    """Operands: squared magnitudes, and the sampling rate."""
    options = _map(
        call,
        "upper_frequency_limit",
        "lower_frequency_limit",
        "filterbank_channel_count",
        "dct_coefficient_count",
    )
    return audio.mfcc(
        call.builder,
        call.tensor(0),
        call.numbers(1).reshape(()).item(),
        (int(options["lower_frequency_limit"]), int(options["upper_frequency_limit"])),
        int(options["filterbank_channel_count"]),
        int(options["dct_coefficient_count"]),
    )


def _map(call: NodeCall, *names: str) -> dict[str, Any]:
    """The options, with all of these names."""
    options = read_map(bytes(call.attr("custom_options", ())), f"{call.spec.name} ({call.spec.op})")
    if missing := [name for name in names if name not in options]:
        raise call.error(f"has no option {', '.join(missing)}; convert the model again")
    return options


CUSTOM: dict[str, NodeHandler] = {
    "TFLite_Detection_PostProcess": detection_post_process,
    "Convolution2DTransposeBias": convolution_transpose_bias,
    "MaxPoolingWithArgmax2D": max_pooling_with_argmax,
    "MaxUnpooling2D": max_unpooling,
    "AudioSpectrogram": spectrogram,
    "Mfcc": mfcc,
}
