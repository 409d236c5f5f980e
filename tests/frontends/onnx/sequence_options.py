"""Options of recurrent operators, signals, attention, and remaining defaults."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.frontends.onnx.option_rows import IMAGE, RNG, Row, X, integers, real


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
        yield Row("CenterCropPad", 18, (IMAGE, integers(*shape)), {"axes": [2, -1]}, (1,))
    yield Row("CenterCropPad", 18, (X, integers(3, 1, 7)), {}, (1,))
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
        coefficients = {key: value for key, value in attrs.items() if value}
        yield Row(
            "RNN",
            14,
            operands,
            {"hidden_size": 5, "activations": [name], **coefficients},
            outputs=2,
        )
    quantized, scales = RNG.integers(-100, 100, (2, 3, 4)).astype(np.int8), np.abs(real(3)) + 0.1
    yield Row("DequantizeLinear", 13, (quantized, scales, np.array([1, -3, 5], np.int8)))
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
    operands = (real(1, 2, 5, 8), real(1, 5, 2), real(1, 5, 2))
    for interleaved in (0, 1):
        yield Row(
            "RotaryEmbedding", 23, operands, {"interleaved": interleaved, "rotary_embedding_dim": 4}
        )
