"""AudioSpectrogram and Mfcc with every option, compared with TensorFlow."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from webkiln.errors import WebkilnError
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph

raw = tf.raw_ops


def model(function: Any, shape: list[int | None], folder: Path) -> tuple[Any, Graph]:
    concrete = tf.function(
        lambda x: {f"y{n:03}": item + 1.0 for n, item in enumerate(function(x))},
        input_signature=[tf.TensorSpec(shape, tf.float32, name="x")],
        autograph=False,
    ).get_concrete_function()
    path = folder / "graph.pb"
    path.write_bytes(concrete.graph.as_graph_def().SerializeToString())
    return concrete, TensorFlowConverter().convert(*read_model(path))


def check(function: Any, shape: list[int | None], lengths: tuple[int, ...], folder: Path) -> None:
    concrete, graph = model(function, shape, folder)
    for length in lengths:
        rng = np.random.default_rng(length)
        x = (rng.standard_normal((length, shape[1] or 1)) * 0.3).astype(np.float32)
        expected = [value.numpy() for _, value in sorted(concrete(x=tf.constant(x)).items())]
        outputs, _ = run_graph(graph, {"x": x})
        for actual, right in zip(outputs.values(), expected, strict=True):
            assert actual.dtype == right.dtype
            np.testing.assert_allclose(actual, right, rtol=2e-3, atol=2e-3)


def test_spectrograms(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        for window, stride, squared in product((2, 7, 16, 30), (1, 5, 16), (False, True)):
            yield raw.AudioSpectrogram(
                input=x, window_size=window, stride=stride, magnitude_squared=squared
            )

    check(function, [61, 2], (61,), tmp_path)
    check(function, [None, 1], (30, 31, 64), tmp_path)


def test_coefficients(tmp_path: Path) -> None:
    """Speech commands use the first options: 40 channels, 10 coefficients."""

    def function(x: Any) -> Any:
        squares = raw.AudioSpectrogram(input=x, window_size=480, stride=160, magnitude_squared=True)
        for rate, channels, coefficients, (low, high) in (
            (16000, 40, 10, (20.0, 4000.0)),
            (16000, 40, 13, (20.0, 7000.0)),
            (8000, 23, 23, (0.0, 3999.0)),
            (44100, 64, 5, (300.0, 9000.0)),
        ):
            yield raw.Mfcc(
                spectrogram=squares,
                sample_rate=rate,
                upper_frequency_limit=high,
                lower_frequency_limit=low,
                filterbank_channel_count=channels,
                dct_coefficient_count=coefficients,
            )

    check(function, [1600, 1], (1600,), tmp_path)
    check(function, [None, 2], (480, 1999), tmp_path)


def test_a_limit_above_half_of_the_rate_is_refused(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        squares = raw.AudioSpectrogram(input=x, window_size=64, stride=32)
        return [raw.Mfcc(spectrogram=squares, sample_rate=4000)]

    with pytest.raises(WebkilnError, match=r"4000.0 Hz is above 2000.0 Hz"):
        model(function, [640, 1], tmp_path)
