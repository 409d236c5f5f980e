"""Options of elementwise operators, reductions, products and normalisation."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from tests.frontends.onnx.option_rows import IMAGE, Row, X, integers, real


def softmaxes() -> Iterator[Row]:
    """Before opset 13 over all axes from `axis`, since then along `axis`."""
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
            operands = (X, integers(*axes)) if axes else (X,)
            yield Row(op, 18, operands, {"keepdims": keep}, (1,) if axes else ())
        yield Row(op, 18, (X,), {"keepdims": keep, "noop_with_empty_axes": 1})
    ties = np.array([[3, 1, 3], [2, 2, 0], [0, 5, 5]], np.float32)
    for op, keep, last, axis in product(("ArgMax", "ArgMin"), (0, 1), (0, 1), (0, 1, -1)):
        yield Row(op, 13, (ties,), {"axis": axis, "keepdims": keep, "select_last_index": last})
    for op in ("ArgMax", "ArgMin"):
        yield Row(op, 11, (ties,))


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
