"""The values at which languages disagree."""

import numpy as np

FLOATS = np.array(
    [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.1, -0.3, 3.0, 0.49999997, 0.625, -0.625, 1e-7, -1e-7, 1e-40, 100.0, -100.0,
        88.8, 88.0, -87.0, -104.5, 16777217.0, 8388609.5, 1e10, -1e10, 2147483648.0, -2147483648.0, -2147484000.0, 4294967296.0, 3.4e38, -3.4e38,
        np.inf, -np.inf, np.nan,
    ],
    np.float32,
)  # fmt: skip
INTS = np.array([0, 1, -1, 2, -2, 3, -7, 7, 31, 32, 33, 65536, 16777217, -16777217, 2**31 - 1, -(2**31), 2**31 - 2, -(2**31) + 1], np.int32)
UINTS = np.array([0, 1, 2, 3, 7, 31, 32, 33, 65536, 16777217, 2**31, 2**31 - 1, 2**31 + 1, 2**32 - 1, 2**32 - 2], np.uint32)
BOOLS = np.array([True, False, True, False, True])
VALUES = {"f32": FLOATS, "i32": INTS, "u32": UINTS, "bool": BOOLS}
DTYPES = {"f32": "float32", "i32": "int32", "u32": "uint32", "bool": "bool"}
