"""Values at which languages disagree."""

import numpy as np

FLOATS = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        -1.5,
        2.5,
        -2.5,
        0.1,
        -0.3,
        3.0,
        0.49999997,
        0.625,
        -0.625,
        1e-7,
        -1e-7,
        1e-40,
        100.0,
        -100.0,
        88.8,
        88.0,
        -87.0,
        -104.5,
        16777217.0,
        8388609.5,
        1e10,
        -1e10,
        2147483648.0,
        -2147483648.0,
        -2147484000.0,
        4294967296.0,
        3.4e38,
        -3.4e38,
        np.inf,
        -np.inf,
        np.nan,
    ],
    np.float32,
)
INTS = np.array(
    [
        0,
        1,
        -1,
        2,
        -2,
        3,
        -7,
        7,
        31,
        32,
        33,
        65536,
        16777217,
        -16777217,
        2**31 - 1,
        -(2**31),
        2**31 - 2,
        -(2**31) + 1,
    ],
    np.int32,
)
UINTS = np.array(
    [0, 1, 2, 3, 7, 31, 32, 33, 65536, 16777217, 2**31, 2**31 - 1, 2**31 + 1, 2**32 - 1, 2**32 - 2],
    np.uint32,
)
BOOLS = np.array([True, False, True, False, True])
DOUBLES = np.concatenate(
    [
        FLOATS.astype(np.float64),
        [
            0.1,
            -1e-300,
            5e-324,
            1e300,
            -1e300,
            709.0,
            -745.0,
            9007199254740993.0,
            1.8e19,
            -9.3e18,
            2.0000000000000004,
        ],
    ]
)
LONGS = np.concatenate(
    [
        INTS.astype(np.int64),
        [2**31, -(2**31) - 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1, 63, 64],
    ]
)
ULONGS = np.concatenate(
    [UINTS.astype(np.uint64), np.array([2**32, 2**53 + 1, 2**63, 2**64 - 1, 63, 64, 65], np.uint64)]
)
VALUES = {
    "f64": DOUBLES,
    "i64": LONGS,
    "u64": ULONGS,
    "f32": FLOATS,
    "i32": INTS,
    "u32": UINTS,
    "bool": BOOLS,
}
DTYPES = {
    "f64": "float64",
    "i64": "int64",
    "u64": "uint64",
    "f32": "float32",
    "i32": "int32",
    "u32": "uint32",
    "bool": "bool",
}
