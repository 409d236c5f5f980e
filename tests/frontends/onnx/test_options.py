"""Every attribute of ONNX's operators with every value, in old and new opsets, against
onnxruntime.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.frontends.corpus import Sample, reference_mismatch
from tests.frontends.onnx.models import model
from tests.frontends.onnx.running import converted, onnxruntime_outputs

RNG = np.random.default_rng(41)
X = RNG.standard_normal((2, 3, 4)).astype(np.float32)
IMAGE = RNG.standard_normal((2, 4, 7, 8)).astype(np.float32)


def real(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Row:
    """A node: `operands` are inputs of the model, `fixed` the positions of those that are part of
    it.
    """

    op: str
    opset: int
    operands: tuple[np.ndarray | None, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    fixed: tuple[int, ...] = ()
    outputs: int = 1

    @property
    def label(self) -> str:
        return f"{self.op} {self.opset} {self.attrs}"


def softmaxes() -> Iterator[Row]:
    """Before opset 13 over all axes from `axis` on, since then along `axis`."""
    for op, opset in product(("Softmax", "LogSoftmax", "Hardmax"), (9, 11, 13)):
        yield Row(op, opset, (X,))
        for axis in (0, 1, 2) if opset == 9 else (0, 1, 2, -1, -2):
            yield Row(op, opset, (X,), {"axis": axis})
    for axis in (0, 1, 2, 3):
        yield Row("Flatten", 9, (X,), {"axis": axis})
        yield Row("Flatten", 13, (X,), {"axis": axis})
    yield Row("Flatten", 13, (X,), {"axis": -1})


REDUCTIONS = (
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSumExp",
    "ReduceSumSquare",
)


def reductions() -> Iterator[Row]:
    for op, keep in product(REDUCTIONS, (0, 1)):
        for axes in ([0], [1, 2], [-1], None):
            attrs = {"keepdims": keep, **({"axes": axes} if axes else {})}
            yield Row(op, 11, (X,), attrs)
            operands = (X, whole(*axes)) if axes else (X,)
            yield Row(op, 18, operands, {"keepdims": keep}, (1,) if axes else ())
        yield Row(op, 18, (X,), {"keepdims": keep, "noop_with_empty_axes": 1})
    ties = np.array([[3, 1, 3], [2, 2, 0], [0, 5, 5]], np.float32)
    for op, keep, last, axis in product(("ArgMax", "ArgMin"), (0, 1), (0, 1), (0, 1, -1)):
        yield Row(op, 13, (ties,), {"axis": axis, "keepdims": keep, "select_last_index": last})
    for op in ("ArgMax", "ArgMin"):
        yield Row(op, 11, (ties,))


def windows() -> Iterator[Row]:
    w = {groups: real(4, 4 // groups, 3, 2) for groups in (1, 2, 4)}
    turned = {groups: real(4, 6 // groups if groups < 4 else 2, 3, 2) for groups in (1, 2, 4)}
    for pad, strides in product(("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), ([1, 1], [2, 3])):
        attrs = {"auto_pad": pad, "strides": strides}
        for groups in (1, 2, 4):
            yield Row("Conv", 11, (IMAGE, w[groups], real(4)), {**attrs, "group": groups})
        for op in ("MaxPool", "AveragePool"):
            yield Row(op, 11, (IMAGE,), {**attrs, "kernel_shape": [2, 3]})
        yield Row("LpPool", 11, (IMAGE,), {**attrs, "kernel_shape": [2, 3]})
        if pad != "NOTSET":
            yield Row(
                "ConvTranspose",
                11,
                (IMAGE, turned[1]),
                {**attrs, "strides": [2, 2] if max(strides) > 1 else strides},
            )
    for pads, strides, gaps in product(
        ([0, 0, 0, 0], [1, 0, 2, 1]), ([1, 1], [2, 3]), ([1, 1], [2, 1])
    ):
        attrs = {"pads": pads, "strides": strides}
        yield Row("Conv", 11, (IMAGE, w[2]), {**attrs, "dilations": gaps, "group": 2})
        for groups in (1, 2, 4):
            yield Row(
                "ConvTranspose",
                11,
                (IMAGE, turned[groups]),
                {**attrs, "dilations": gaps, "group": groups},
            )
        yield Row(
            "ConvTranspose",
            11,
            (IMAGE, turned[1], real(6)),
            {**attrs, "output_padding": [1, 0] if max(strides) > 1 else [0, 0]},
        )
        for ceil in (0, 1):
            yield Row(
                "MaxPool",
                12,
                (IMAGE,),
                {**attrs, "kernel_shape": [3, 2], "ceil_mode": ceil, "dilations": gaps},
                outputs=2,
            )
            for counted in (0, 1):
                if max(gaps) == 1:
                    yield Row(
                        "AveragePool",
                        11,
                        (IMAGE,),
                        {
                            **attrs,
                            "kernel_shape": [3, 2],
                            "ceil_mode": ceil,
                            "count_include_pad": counted,
                        },
                    )
    yield Row(
        "MaxPool",
        12,
        (IMAGE,),
        {"kernel_shape": [3, 2], "strides": [2, 2], "storage_order": 1},
        outputs=2,
    )
    yield Row(
        "ConvTranspose", 11, (IMAGE, turned[1]), {"strides": [2, 3], "output_shape": [15, 24]}
    )
    yield Row("MaxPool", 8, (IMAGE,), {"kernel_shape": [3, 2]})
    signs = -np.arange(1, 17, dtype=np.int8).reshape(1, 1, 4, 4)
    for dtype in (np.int8, np.uint8):
        yield Row(
            "MaxPool",
            12,
            (signs.astype(dtype),),
            {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        )
    for op in ("GlobalMaxPool", "GlobalAveragePool"):
        yield Row(op, 11, (IMAGE,))


def products() -> Iterator[Row]:
    for a, b, alpha, beta in product((0, 1), (0, 1), (1.0, 0.5), (1.0, -2.0)):
        left, right = real(*(3, 4)[:: -1 if a else 1]), real(*(4, 5)[:: -1 if b else 1])
        for c in ((3, 5), (5,), (3, 1)):
            yield Row(
                "Gemm",
                11,
                (left, right, real(*c)),
                {"transA": a, "transB": b, "alpha": alpha, "beta": beta},
            )
    yield Row("Gemm", 11, (real(3, 4), real(4, 5)))


def shapes() -> Iterator[Row]:
    for axis in (0, 1, 2, -1, -2):
        yield Row("Concat", 13, (X, X), {"axis": axis})
        yield Row(
            "Split",
            13,
            (
                real(4, 6, 8),
                whole(*[(1, 3), (2, 4), (5, 3), (5, 3), (2, 4)][(0, 1, 2, -1, -2).index(axis)]),
            ),
            {"axis": axis},
            (1,),
            2,
        )
        yield Row("Split", 11, (real(4, 6, 8),), {"axis": axis}, outputs=2)
        yield Row("Gather", 13, (X, whole(1, -1, 0)), {"axis": axis})
        yield Row("GatherElements", 13, (X, RNG.integers(-2, 2, X.shape)), {"axis": axis})
        yield Row("Squeeze", 13, (X[:1, :1, :1], whole(axis)), {}, (1,))
        yield Row("Squeeze", 11, (X[:1, :1, :1],), {"axes": [axis]})
        yield Row("Unsqueeze", 13, (X, whole(axis)), {}, (1,))
        yield Row("Unsqueeze", 11, (X,), {"axes": [axis]})
        for exclusive, reverse in product((0, 1), (0, 1)):
            yield Row(
                "CumSum",
                14,
                (X, np.array(axis)),
                {"exclusive": exclusive, "reverse": reverse},
                (1,),
            )
        for largest, ordered in product((0, 1), (1,)):
            yield Row(
                "TopK",
                11,
                (X, whole(2)),
                {"axis": axis, "largest": largest, "sorted": ordered},
                (1,),
                2,
            )
        yield Row(
            "OneHot", 11, (RNG.integers(-3, 3, (2, 3)), np.array(4), real(2)), {"axis": axis}, (1,)
        )
        for how in ("none", "add", "mul", "max", "min"):
            attrs = {"axis": axis, **({"reduction": how} if how != "none" else {})}
            at = np.zeros((1, 1, 1), np.int64) + 1
            yield Row("ScatterElements", 18, (X, at, real(1, 1, 1)), attrs)
        yield Row("LpNormalization", 11, (X,), {"axis": axis, "p": 1})
        yield Row("LpNormalization", 11, (X,), {"axis": axis, "p": 2})
    yield Row("TopK", 10, (X, whole(2)), {"axis": 1}, (1,), 2)
    yield Row("TopK", 9, (X,), {"axis": 1, "k": 2}, outputs=2)
    for perm in ([0, 2, 1], [2, 0, 1], None):
        yield Row("Transpose", 13, (X,), {"perm": perm} if perm else {})
    for zero, shape in ((0, (0, -1)), (0, (-1, 2)), (1, (2, 12))):
        yield Row("Reshape", 14, (X, whole(*shape)), {"allowzero": zero}, (1,))
    for op, mode in product(("DepthToSpace",), ("DCR", "CRD")):
        yield Row(op, 13, (IMAGE,), {"blocksize": 2, "mode": mode})
    yield Row("DepthToSpace", 9, (IMAGE,), {"blocksize": 2})
    yield Row("SpaceToDepth", 13, (IMAGE[..., :6, :],), {"blocksize": 2})
    for mode, pads in product(
        ("constant", "reflect", "edge"), ((0, 1, 2, 1, 0, 0), (0, 1, 1, 0, 1, 3))
    ):
        yield Row(
            "Pad",
            13,
            (X, whole(*pads), np.float32(1.5)) if mode == "constant" else (X, whole(*pads)),
            {"mode": mode},
            (1, 2)[: 1 + (mode == "constant")],
        )
        yield Row("Pad", 9, (X,), {"mode": mode, "pads": list(pads), "value": 1.5})
    yield Row("Pad", 18, (X, whole(1, 2, 0, 1), None, whole(-1, 0)), {}, (1, 3))
    yield Row("Pad", 19, (X, whole(1, 2, 0, 1), None, whole(2, 1)), {"mode": "wrap"}, (1, 3))
    for upper, k in product((0, 1), (-1, 0, 2)):
        yield Row("Trilu", 14, (X, np.array(k)), {"upper": upper}, (1,))
    for batch in (0, 1):
        yield Row(
            "ReverseSequence",
            10,
            (real(4, 4, 2), whole(1, 3, 2, 4)),
            {"batch_axis": batch, "time_axis": 1 - batch},
        )
        yield Row(
            "GatherND",
            13,
            (real(2, 2, 3), whole(1, 0)[:, None] if batch else np.array([[0, 1], [1, 0]])),
            {"batch_dims": batch},
        )
    for starts, ends, axes in (([1, -3], [2, -1], [0, 2]), ([0], [100], [1])):
        yield Row("Slice", 9, (X,), {"starts": starts, "ends": ends, "axes": axes})
    yield Row(
        "Slice", 13, (X, whole(-1, 3), whole(-10, 0), whole(1, 2), whole(-1, -2)), {}, (1, 2, 3, 4)
    )
    for start, end in ((0, 2), (-2, 3), (1, -1)):
        yield Row("Shape", 15, (X,), {"start": start, "end": end})
    yield Row("EyeLike", 9, (real(3, 4),), {"k": 1})
    yield Row("EyeLike", 9, (real(3, 4),), {"k": -1, "dtype": 6})


def norms() -> Iterator[Row]:
    scale = [real(4) for _ in range(3)] + [np.abs(real(4)) + 0.1]
    for opset, epsilon in product((7, 9, 15), (1e-5, 0.3)):
        yield Row("BatchNormalization", opset, (IMAGE, *scale), {"epsilon": epsilon})
    for epsilon in (1e-5, 0.3):
        yield Row("InstanceNormalization", 6, (IMAGE, *scale[:2]), {"epsilon": epsilon})
        for axis in (1, 2, -1, -3):
            rest = IMAGE.shape[axis:]
            yield Row(
                "LayerNormalization",
                17,
                (IMAGE, real(*rest), real(*rest)),
                {"axis": axis, "epsilon": epsilon},
            )
        yield Row(
            "GroupNormalization", 21, (IMAGE, *scale[:2]), {"num_groups": 2, "epsilon": epsilon}
        )
    for size, alpha, beta, bias in product((1, 3), (1e-4, 0.5), (0.75, 1.5), (1.0, 2.0)):
        yield Row("LRN", 13, (IMAGE,), {"size": size, "alpha": alpha, "beta": beta, "bias": bias})
    for axes in ([0, 2, 3], [1]):
        yield Row("MeanVarianceNormalization", 13, (IMAGE,), {"axes": axes})


def elements() -> Iterator[Row]:
    x = real(3, 5) * 3
    for alpha in (0.1, 1.0, 1.7):
        for op in ("Elu", "LeakyRelu", "ThresholdedRelu", "Celu"):
            yield Row(op, 12, (x,), {"alpha": alpha})
        yield Row("Selu", 12, (x,), {"alpha": alpha, "gamma": 0.7})
        yield Row("HardSigmoid", 12, (x,), {"alpha": alpha, "beta": 0.2})
        yield Row("Shrink", 12, (x,), {"lambd": alpha, "bias": 0.3})
        yield Row("Clip", 6, (x,), {"min": -alpha, "max": alpha * 2})
        yield Row("Clip", 12, (x, np.float32(-alpha), np.float32(alpha)), {}, (1, 2))
    for op in (
        "Elu",
        "LeakyRelu",
        "ThresholdedRelu",
        "Celu",
        "Selu",
        "HardSigmoid",
        "Shrink",
        "Clip",
        "HardSwish",
        "Mish",
    ):
        yield Row(op, 18, (x,))
    for approximate in ("none", "tanh"):
        yield Row("Gelu", 20, (x,), {"approximate": approximate})
    signs = np.array([-7, -3, 0, 3, 7], np.int32)
    for fmod, dtype in product((0, 1), (np.int32, np.int8, np.int64, np.float32)):
        if fmod or dtype is not np.float32:
            yield Row(
                "Mod", 13, (signs.astype(dtype), np.array([3, -2, 5, -4, 2], dtype)), {"fmod": fmod}
            )
    for dtype in (np.int32, np.int8, np.uint8, np.int64):
        yield Row("Div", 14, (signs.astype(dtype), np.array([3, 2, 5, 4, 2], dtype)))
        if dtype is np.uint8:
            for direction in ("LEFT", "RIGHT"):
                yield Row(
                    "BitShift",
                    11,
                    (np.array([1, 200, 255], dtype), np.array([1, 3, 7], dtype)),
                    {"direction": direction},
                )
    for positive, negative in product((0, 1), (0, 1)):
        yield Row(
            "IsInf",
            10,
            (np.array([np.inf, -np.inf, np.nan, 1], np.float32),),
            {"detect_positive": positive, "detect_negative": negative},
        )
    for to in (1, 2, 3, 6, 7, 9, 10, 11):
        yield Row(
            "Cast",
            13,
            (
                np.array([2049.0, 2051.0, -1.7, 0.0, 3.5, 100.4], np.float32)[
                    {2: 3, 3: 2}.get(to, 0) :
                ],
            ),
            {"to": to},
        )
    image_axes = {"equation": "nchw,ncij->nhwij"}
    yield Row("Einsum", 12, (IMAGE[:, :, :2, :3], IMAGE[:, :, 2:4, :2]), image_axes)
    yield Row("Einsum", 12, (X, real(4, 5)), {"equation": "...k,kj->...j"})
    for width, axis in ((3, None), (4, 1)):
        y = real(width) if axis is None else real(4)
        yield Row(
            "PRelu", 9, (IMAGE if axis else X.reshape(2, 4, 3), y[:, None, None] if axis else y)
        )


def resizings() -> Iterator[Row]:
    """Without cubic filters at a border, where onnxruntime repeats elements and the standard's
    reference moves the whole filter.
    """
    image = IMAGE[:1, :2, :5, :6]
    scales = np.array([1, 1, 1.6, 0.5], np.float32)
    modes = (
        "half_pixel",
        "asymmetric",
        "align_corners",
        "pytorch_half_pixel",
        "half_pixel_symmetric",
    )
    for where in modes:
        opset = 19 if where == "half_pixel_symmetric" else 13
        for given in (
            ((image, None, scales), (2,)),
            ((image, None, None, whole(1, 2, 8, 3)), (3,)),
        ):
            for mode in ("linear", "cubic"):
                yield Row(
                    "Resize",
                    opset,
                    given[0],
                    {"mode": mode, "coordinate_transformation_mode": where},
                    given[1],
                )
            for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
                attrs = {
                    "mode": "nearest",
                    "nearest_mode": rounding,
                    "coordinate_transformation_mode": where,
                }
                yield Row("Resize", opset, given[0], attrs, given[1])
    for outside, a in product((0, 1), (-0.75, -0.5)):
        attrs = {"mode": "cubic", "cubic_coeff_a": a, "exclude_outside": outside}
        yield Row("Resize", 13, (image, None, scales), attrs, (2,))
    yield Row(
        "Resize", 10, (image, np.array([1, 1, 1.6, 2], np.float32)), {"mode": "nearest"}, (1,)
    )
    yield Row("Upsample", 9, (image, np.array([1, 1, 2, 3], np.float32)), {"mode": "nearest"}, (1,))
    grid = (RNG.random((1, 3, 4, 2)) * 2.6 - 1.3).astype(np.float32)
    for mode, padding, corners in product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (0, 1)
    ):
        if (mode, padding) != ("bicubic", "border"):
            yield Row(
                "GridSample",
                16,
                (image, grid),
                {"mode": mode, "padding_mode": padding, "align_corners": corners},
            )
    rois, batch = np.array([[0, 0, 4, 3], [1, 1.5, 3, 4]], np.float32), whole(0, 0)
    for mode, ratio, scale in product(("avg", "max"), (1, 2), (1.0, 0.5)):
        attrs = {
            "mode": mode,
            "sampling_ratio": ratio,
            "spatial_scale": scale,
            "output_height": 2,
            "output_width": 3,
        }
        yield Row("RoiAlign", 10, (image, rois, batch), attrs)
        yield Row(
            "RoiAlign",
            16,
            (image, rois, batch),
            {**attrs, "coordinate_transformation_mode": "output_half_pixel"},
        )


def recurrent() -> Iterator[Row]:
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for direction in ("forward", "reverse", "bidirectional"):
            two = 2 if direction == "bidirectional" else 1
            operands = (
                real(4, 2, 3),
                real(two, gates * 5, 3),
                real(two, gates * 5, 5),
                real(two, gates * 10),
                np.array([4, 2], np.int32),
            )
            options: list[dict[str, Any]] = [{}, {"clip": 0.4}]
            options += (
                [{"linear_before_reset": 1}]
                if op == "GRU"
                else [{"input_forget": 1}]
                if op == "LSTM"
                else [{"activations": ["Relu"] * two}]
            )
            for more in options:
                yield Row(
                    op,
                    14,
                    operands,
                    {"hidden_size": 5, "direction": direction, **more},
                    outputs=3 if op == "LSTM" else 2,
                )


def further() -> Iterator[Row]:
    """Defaults, and opsets with other semantics."""
    yield Row("MeanVarianceNormalization", 13, (IMAGE,))
    yield Row("LpNormalization", 11, (X,))
    yield Row("LpNormalization", 11, (X,), {"p": 1})
    yield Row("LRN", 13, (IMAGE,), {"size": 3})
    for shape in ((3, 9), (9, 5), (5, 2), (4, 11)):
        yield Row("CenterCropPad", 18, (IMAGE, whole(*shape)), {"axes": [2, -1]}, (1,))
    yield Row("CenterCropPad", 18, (X, whole(3, 1, 7)), {}, (1,))
    for count, axis in ((3, 2), (2, 1), (2, -1)):
        yield Row("Split", 18, (IMAGE,), {"num_outputs": count, "axis": axis}, outputs=count)
    yield Row("Trilu", 14, (X,))
    for op, periodic in product(("HannWindow", "HammingWindow", "BlackmanWindow"), (0, 1)):
        yield Row(op, 17, (np.array(7),), {"periodic": periodic}, (0,))
    signal = real(2, 8, 1)
    for axis, inverse, onesided in ((1, 0, 0), (1, 0, 1), (1, 1, 0)):
        attrs = {"axis": axis, "inverse": inverse, "onesided": onesided}
        yield Row("DFT", 17, (real(2, 8, 2) if inverse else signal,), attrs)
    yield Row("DFT", 17, (real(2, 5, 8, 1),), {"axis": 2})
    yield Row("DFT", 17, (real(2, 5, 8, 1),))
    yield Row("STFT", 17, (real(1, 20, 1), np.array(3), real(6)), {}, (1, 2))
    for onesided in (0, 1):
        yield Row(
            "STFT", 17, (real(1, 20, 1), np.array(3), real(6)), {"onesided": onesided}, (1, 2)
        )
    for p in (1, 3):
        yield Row("LpPool", 18, (IMAGE,), {"kernel_shape": [3, 2], "p": p, "strides": [2, 1]})
        yield Row("GlobalLpPool", 2, (IMAGE,), {"p": p})
    operands = (real(4, 2, 3), real(1, 5, 3), real(1, 5, 5), real(1, 10))
    for name, values in (
        ("ScaledTanh", [0.5, 2.0]),
        ("HardSigmoid", [0.4, 0.3]),
        ("Affine", [0.5, 0.2]),
        ("LeakyRelu", [0.3]),
        ("Elu", [0.6]),
        ("Softsign", []),
        ("Sigmoid", []),
    ):
        attrs = {"activation_alpha": values[:1], "activation_beta": values[1:]}
        given = {key: value for key, value in attrs.items() if value}
        yield Row(
            "RNN", 14, operands, {"hidden_size": 5, "activations": [name], **given}, outputs=2
        )
    whole_x, scales = RNG.integers(-100, 100, (2, 3, 4)).astype(np.int8), np.abs(real(3)) + 0.1
    yield Row("DequantizeLinear", 13, (whole_x, scales, np.array([1, -3, 5], np.int8)))
    yield Row("QuantizeLinear", 13, (X * 20, scales, np.array([1, -3, 5], np.int8)))
    for axis in (0, -1):
        many = np.abs(real(X.shape[axis])) + 0.1
        yield Row(
            "QuantizeLinear", 13, (X * 20, many, np.zeros(X.shape[axis], np.uint8)), {"axis": axis}
        )
    boxes = np.array(
        [[[0.5, 0.5, 1, 1], [0.5, 0.9, 1, 1], [2, 2, 1, 3], [2.2, 3, 1, 3], [0.9, 0.4, 0.3, 2]]],
        np.float32,
    )
    scores = np.abs(real(1, 2, 5))
    limits = (np.array([3]), np.array([0.3], np.float32))
    for centre in (0, 1):
        yield Row("NonMaxSuppression", 11, (boxes, scores, *limits), {"center_point_box": centre})
    repeated = np.array([2, 1, 1, 3, 4, 3], np.float32)
    for ordered in (0, 1):
        yield Row("Unique", 11, (repeated,), {"sorted": ordered}, outputs=4)
    for beta in (1.0, 0.25):
        yield Row("Gemm", 9, (real(3, 4), real(4, 5), real(5)), {"beta": beta})
    for axis in (None, 0, 1):
        attrs = {} if axis is None else {"axis": axis}
        yield Row("Compress", 11, (real(3, 4), np.array([True, False, True])), attrs)
    yield Row(
        "GRU",
        7,
        (real(4, 2, 3), real(1, 15, 3), real(1, 15, 5), real(1, 30)),
        {"hidden_size": 5, "activations": ["HardSigmoid", "Tanh"]},
        outputs=2,
    )
    heads = (real(1, 2, 5, 4), real(1, 2, 5, 4), real(1, 2, 5, 4))
    for attrs in ({}, {"softcap": 0.7}, {"scale": 0.9}, {"is_causal": 1}):
        yield Row("Attention", 23, heads, attrs)
    turned = (real(1, 2, 5, 8), real(1, 5, 2), real(1, 5, 2))
    for interleaved in (0, 1):
        yield Row(
            "RotaryEmbedding", 23, turned, {"interleaved": interleaved, "rotary_embedding_dim": 4}
        )


FAMILIES = (
    softmaxes,
    reductions,
    windows,
    products,
    shapes,
    norms,
    elements,
    resizings,
    recurrent,
    further,
)


def built(row: Row) -> tuple[Any, dict[str, np.ndarray]]:
    names = [f"x{n}" if value is not None else "" for n, value in enumerate(row.operands)]
    values = {
        name: np.asarray(value) for name, value in zip(names, row.operands, strict=True) if name
    }
    given = {name: value for name, value in values.items() if int(name[1:]) not in row.fixed}
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )
        for name, value in given.items()
    ]
    weights = [
        numpy_helper.from_array(value, name) for name, value in values.items() if name not in given
    ]
    outputs = [f"y{n}" for n in range(row.outputs)]
    node = helper.make_node(row.op, names, outputs, "node", **row.attrs)
    return model(
        [node],
        infos,
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        weights,
        opset=row.opset,
    ), given


def objection(row: Row) -> str | None:
    made, inputs = built(row)
    try:
        wanted = onnxruntime_outputs(made, inputs)
    except Exception as error:  # noqa: BLE001 - onnxruntime's own, of many kinds
        return f"onnxruntime: {error}"
    try:
        graph = converted(made)
    except Exception as error:  # noqa: BLE001 - told with the rest
        return f"{type(error).__name__}: {error}"
    with np.errstate(all="ignore"):
        values = {**inputs, **graph.weights}
        return reference_mismatch(Sample(row.label, graph, values, wanted))


@pytest.mark.parametrize("family", FAMILIES)
def test_attributes(family: Any) -> None:
    rows = list(family())
    assert len(rows) >= 12
    found = {f"{n} {row.label}": wrong for n, row in enumerate(rows) if (wrong := objection(row))}
    assert not found


@pytest.mark.parametrize("opset", [11, 13])
def test_hardmax_selects_one_element(opset: int) -> None:
    """Before opset 13, one element over all axes from `axis` on."""
    made, inputs = built(Row("Hardmax", opset, (X,), {"axis": 1}))
    graph = converted(made)
    ones = np.stack([np.eye(12, dtype=np.float32)[np.argmax(part)].reshape(3, 4) for part in X])
    along = (np.arange(3)[:, None] == np.argmax(X, axis=1)[:, None, :]).astype(np.float32)
    wanted = {"y0": ones if opset == 11 else along}
    assert reference_mismatch(Sample("hardmax", graph, inputs, wanted)) is None


@pytest.mark.parametrize("size", [2, 4])
def test_an_even_lrn_window_extends_upwards(size: int) -> None:
    """Against ONNX's reference: onnxruntime takes odd sizes alone. The reference computes as many
    channels as there are images.
    """
    x = real(4, 4, 2, 3)
    made, inputs = built(Row("LRN", 13, (x,), {"size": size, "alpha": 0.5}))
    (wanted,) = ReferenceEvaluator(made).run(None, inputs)
    graph = converted(made)
    assert (
        reference_mismatch(Sample("LRN", graph, {**inputs, **graph.weights}, {"y0": wanted}))
        is None
    )
