"""The custom operators AudioSpectrogram and Mfcc, compared with the interpreter."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from flatbuffers import flexbuffers

from tests.frontends.tflite.loading import graph_of
from tests.frontends.tflite.operator_model import Single, T, f, ints, model_bytes
from webkiln.errors import WebkilnError
from webkiln.frontends.tflite.reference import Interpreted
from webkiln.ops.evaluate import run_graph


def check(op: str, inputs: list[T], shape: tuple[int, ...], options: object, path: Path) -> None:
    custom = bytes(flexbuffers.Dumps(options))
    path.write_bytes(model_bytes(Single("audio", op, inputs, [f(*shape)], custom=custom)))
    x = np.abs(np.random.default_rng(4).standard_normal(inputs[0].shape)).astype(np.float32)
    expected, _ = Interpreted(path)({"x0": x})
    actual, _ = run_graph(graph_of(path), {"x0": x})
    assert actual["y0"].shape == expected["y0"].shape
    np.testing.assert_allclose(actual["y0"], expected["y0"], rtol=2e-3, atol=2e-3)


def test_spectrograms(tmp_path: Path) -> None:
    for window, stride, squared in product((7, 16, 30), (5, 16), (False, True)):
        bins = 1 + (1 << (window - 1).bit_length()) // 2
        check(
            "AudioSpectrogram",
            [f(61, 2)],
            (2, 1 + (61 - window) // stride, bins),
            {"window_size": window, "stride": stride, "magnitude_squared": squared},
            tmp_path / "net.tflite",
        )


@pytest.mark.parametrize(
    ("rate", "channels", "count", "low", "high"),
    [(16000, 40, 13, 20, 4000), (8000, 23, 23, 0, 3999), (44100, 64, 5, 300, 9000)],
)
def test_coefficients(
    rate: int, channels: int, count: int, low: int, high: int, tmp_path: Path
) -> None:
    check(
        "Mfcc",
        [f(2, 5, 257), ints(rate)],
        (2, 5, count),
        {
            "upper_frequency_limit": high,
            "lower_frequency_limit": low,
            "filterbank_channel_count": channels,
            "dct_coefficient_count": count,
        },
        tmp_path / "net.tflite",
    )


def test_missing_options_are_named(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    custom = bytes(flexbuffers.Dumps({"stride": 3}))
    path.write_bytes(
        model_bytes(Single("audio", "AudioSpectrogram", [f(9, 1)], [f(1, 2, 3)], custom=custom))
    )
    with pytest.raises(WebkilnError, match="no option window_size, magnitude_squared"):
        graph_of(path)
