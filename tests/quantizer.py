"""Calibration data for onnxruntime's quantizer."""

from collections.abc import Mapping, Sequence

import numpy as np
from onnxruntime import quantization


class Samples(quantization.CalibrationDataReader):
    """Inputs by name, one set after the other."""

    def __init__(self, values: Sequence[Mapping[str, np.ndarray]]) -> None:
        self.values = iter(values)

    def get_next(self) -> Mapping[str, np.ndarray] | None:
        return next(self.values, None)
