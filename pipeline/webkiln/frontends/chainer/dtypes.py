"""Dtypes in recordings."""

CODES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
}
"""ONNX's codes of dtypes."""
DTYPES = {code: dtype for dtype, code in CODES.items()}
