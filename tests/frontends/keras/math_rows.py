"""Rows of operations of `keras.ops.math`."""

import numpy as np
from keras import ops

from tests.frontends.keras.operation_rows import row

SIGNAL, PAIR = (2, 24), ((2, 6, 5), (2, 6, 5))
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
    "istft wide": row(
        lambda x, y: ops.istft((x, y), 6, 4, 9, window="hamming", center=False), *PAIR
    ),
    "istft length": row(lambda x, y: ops.istft((x, y), 8, 8, 8, length=20, window=None), *PAIR),
    "extract_sequences": row(lambda x: ops.extract_sequences(x, 5, 3), SIGNAL),
    "erfc": row(ops.erfc, SIGNAL),
    "erfinv": row(lambda x: ops.erfinv(ops.tanh(x)), SIGNAL),
    "erfinv doubles": row(lambda x: ops.erfinv(ops.tanh(x)), SIGNAL, dtypes="float64"),
    "segment_sum": row(lambda x: ops.segment_sum(x, IDS, num_segments=6), (7, 3)),
    "segment_sum counted": row(
        lambda x: ops.segment_sum(x, np.array([1, 0, 1, 2]), num_segments=3), (4,)
    ),
    "segment_max": row(lambda x: ops.segment_max(x, IDS, num_segments=6), (7, 3)),
    "segment_max integers": row(
        lambda x: ops.segment_max(x, IDS, num_segments=6), (7,), dtypes="int32"
    ),
    "segment_min": row(lambda x: ops.segment_min(x, IDS, num_segments=6), (7, 3)),
    "segment_prod": row(lambda x: ops.segment_prod(x, IDS, num_segments=6), (7, 3)),
    "top_k": row(lambda x: ops.top_k(x, 3), (2, 7)),
    "top_k integers": row(lambda x: ops.top_k(x, 4), (2, 3, 7), dtypes="int32"),
    "in_top_k": row(lambda t, x: ops.in_top_k(t, x, 2), (5,), (5, 4), dtypes="int32"),
    "logsumexp": row(lambda x: ops.logsumexp(x, axis=1, keepdims=True), SIGNAL),
    "cdist": row(ops.cdist, (2, 4, 3), (2, 5, 3)),
}
