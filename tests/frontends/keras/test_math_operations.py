"""The operations of keras.ops.math that are more than one operator, against Keras."""

import numpy as np
import pytest
from keras import ops

from tests.frontends.keras.operation_rows import built, check, row
from webkiln.errors import ShapeError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph

SIGNAL, PAIR = (2, 24), ((2, 6, 5), (2, 6, 5))
WEIGHTS = np.linspace(0.1, 1, 8).astype("float32")
IDS = np.array([2, 0, 4, -1, 2, 0, 5], "int32")

ROWS = {
    "fft": row(lambda x, y: ops.fft((x, y)), *PAIR),
    "fft2": row(lambda x, y: ops.fft2((x, y)), *PAIR),
    "ifft2": row(lambda x, y: ops.ifft2((x, y)), *PAIR),
    "rfft": row(ops.rfft, SIGNAL),
    "rfft cut": row(lambda x: ops.rfft(x, fft_length=7), SIGNAL),
    "rfft wide": row(lambda x: ops.rfft(x, fft_length=40), SIGNAL, dtypes="float64"),
    "irfft": row(lambda x, y: ops.irfft((x, y)), *PAIR),
    "irfft odd": row(lambda x, y: ops.irfft((x, y), fft_length=11), *PAIR),
    "stft": row(lambda x: ops.stft(x, 8, 3, 8), SIGNAL),
    "stft wide": row(lambda x: ops.stft(x, 6, 4, 9, window="hamming", center=False), SIGNAL),
    "stft plain": row(lambda x: ops.stft(x, 8, 5, 8, window=None), (24,)),
    "istft": row(lambda x, y: ops.istft((x, y), 8, 3, 8), *PAIR),
    "istft wide": row(lambda x, y: ops.istft((x, y), 6, 4, 9, window="hamming", center=False), *PAIR),
    "istft length": row(lambda x, y: ops.istft((x, y), 8, 8, 8, length=20, window=None), *PAIR),
    "extract_sequences": row(lambda x: ops.extract_sequences(x, 5, 3), SIGNAL),
    "erfc": row(ops.erfc, SIGNAL),
    "erfinv": row(lambda x: ops.erfinv(ops.tanh(x)), SIGNAL),
    "erfinv doubles": row(lambda x: ops.erfinv(ops.tanh(x)), SIGNAL, dtypes="float64"),
    "segment_sum": row(lambda x: ops.segment_sum(x, IDS, num_segments=6), (7, 3)),
    "segment_sum counted": row(lambda x: ops.segment_sum(x, np.array([1, 0, 1, 2]), num_segments=3), (4,)),
    "segment_max": row(lambda x: ops.segment_max(x, IDS, num_segments=6), (7, 3)),
    "segment_max integers": row(lambda x: ops.segment_max(x, IDS, num_segments=6), (7,), dtypes="int32"),
    "segment_min": row(lambda x: ops.segment_min(x, IDS, num_segments=6), (7, 3)),
    "segment_prod": row(lambda x: ops.segment_prod(x, IDS, num_segments=6), (7, 3)),
    "top_k": row(lambda x: ops.top_k(x, 3), (2, 7)),
    "top_k integers": row(lambda x: ops.top_k(x, 4), (2, 3, 7), dtypes="int32"),
    "in_top_k": row(lambda t, x: ops.in_top_k(t, x, 2), (5,), (5, 4), dtypes="int32"),
    "logsumexp": row(lambda x: ops.logsumexp(x, axis=1, keepdims=True), SIGNAL),
    "cdist": row(ops.cdist, (2, 4, 3), (2, 5, 3)),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.sample(12)
def test_math_operation(compare, name, tmp_path):
    check(compare, ROWS[name], tmp_path, 3e-5)


def test_a_window_that_is_an_array(compare):
    """Keras saves no such operation."""
    compare(built(row(lambda x: ops.stft(x, 8, 3, 10, window=WEIGHTS), SIGNAL)))
    compare(built(row(lambda x, y: ops.istft((x, y), 8, 3, 8, window=WEIGHTS), *PAIR)))


def test_segments_that_are_counted():
    graph = KerasConverter().convert(built(row(lambda x, i: ops.segment_sum(x, i), (5, 2), (5,), dtypes="float32 int32")))
    x, ids = np.arange(10, dtype="float32").reshape(5, 2), np.array([1, 0, 1, 2, 0], "int32")
    (y,) = run_graph(graph, {"x0": x, "x1": ids})[0].values()
    assert np.array_equal(y, np.array(ops.segment_sum(x, ids)))


@pytest.mark.parametrize("options", [{}, {"sorted": True}])
def test_an_unknown_number_of_segments_is_refused(options):
    model = built(row(lambda x, i: ops.segment_max(x, i, **options), (5,), (5,), dtypes="float32 int32"))
    with pytest.raises(ShapeError, match="give num_segments"):
        KerasConverter().convert(model)


@pytest.mark.parametrize("function", [ops.view_as_complex, lambda x: ops.polar(x, x), lambda x: ops.eig(x)[0]])
def test_complex_numbers_are_refused_by_name(function):
    with pytest.raises(UnsupportedError, match="complex numbers"):
        KerasConverter().convert(built(row(function, (2, 2))))
