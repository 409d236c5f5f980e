"""The values of weights after encoding and decoding, as specified in docs/formats.md."""

import ml_dtypes
import numpy as np

from webkiln.weights.encoding import eightbit_magnitudes


def decoded(values: np.ndarray, encoding: str, axis: int) -> np.ndarray:
    """The values of a weight after encoding and decoding it as specified in docs/formats.md."""
    if encoding == "float16":
        return values.astype(np.float16).astype(np.float32)
    if encoding == "bfloat16":
        return values.astype(ml_dtypes.bfloat16).astype(np.float32)
    if encoding == "int8":
        largest = np.max(
            np.abs(values), axis=tuple(d for d in range(values.ndim) if d != axis), keepdims=True
        )
        scale = (largest / 127).astype(np.float32)
        return np.rint(values / scale) * scale
    if encoding == "eightbit":
        largest = np.max(np.abs(values))
        magnitudes = eightbit_magnitudes()
        nearest = magnitudes[
            np.argmin(np.abs(np.abs(values)[..., None] / largest - magnitudes), axis=-1)
        ]
        return np.sign(values) * nearest * largest
    return values
