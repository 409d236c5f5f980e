"""Weights of dtypes that the IR does not have: integers of 2 and 4 bits, and floats of 4, 8 and 16
bits. A slot contains the bytes of the file, and operators decode them.

Elements of fewer than 8 bits are packed, the first one in the lowest bits.
https://onnx.ai/onnx/technical/float8.html, https://onnx.ai/onnx/technical/int4.html
"""

from dataclasses import replace
from math import prod

import numpy as np

from webkiln.frontends.core.arrays import Weight, bfloat16_to_float32, pack_bits, unpack_bits
from webkiln.ir.dim import known_shape
from webkiln.ir.types import Array, Type
from webkiln.ops.builder import GraphBuilder, Tensor

INTEGERS = {"int2": (2, True), "uint2": (2, False), "int4": (4, True), "uint4": (4, False)}
"""Dtype -> bits, and whether there is a sign."""
FLOATS = {
    "float4e2m1": (2, 1, 1, "finite"),
    "float8e4m3fn": (4, 3, 7, "nan"),
    "float8e4m3fnuz": (4, 3, 8, "unsigned zero"),
    "float8e5m2": (5, 2, 15, "inf"),
    "float8e5m2fnuz": (5, 2, 16, "unsigned zero"),
}
"""Dtype -> bits of exponent and mantissa, bias, and what is special: infinity and NaN as in
IEEE 754, NaN with all bits set, NaN in place of the negative zero, or nothing.
"""
BITS = {
    **{name: bits for name, (bits, _) in INTEGERS.items()},
    **{name: 1 + exponent + mantissa for name, (exponent, mantissa, *_) in FLOATS.items()},
    "float8e8m0": 8,
    "bfloat16": 16,
}
"""The dtypes of this module -> their bits."""


def held(dtype: str) -> str:
    """The dtype of the decoded values."""
    if dtype in INTEGERS:
        return "int8" if INTEGERS[dtype][1] else "uint8"
    return "float32"


def stored_type(dtype: str, shape: tuple[int, ...]) -> Type:
    """The type of a slot: bytes along the last axis if its elements fill bytes, else a vector of
    bytes; 16-bit numbers for bfloat16.
    """
    if BITS[dtype] >= 8:
        return Type("uint16" if dtype == "bfloat16" else "uint8", shape)
    each = 8 // BITS[dtype]
    if shape and shape[-1] % each == 0:
        return Type("uint8", (*shape[:-1], shape[-1] // each))
    return Type("uint8", (-(-prod(shape) // each),))


def stored_weight(weight: Weight) -> Weight:
    """The slot that contains the bytes of a weight of a dtype of this module."""
    type_ = stored_type(weight.dtype, weight.shape)
    return replace(weight, dtype=type_.dtype, shape=known_shape(type_.shape, weight.slot))


def decode(builder: GraphBuilder, stored: Tensor, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """The values of dtype `held(dtype)` that a slot of `stored_type(dtype, shape)` contains."""
    before, builder.layer = builder.layer, stored.name
    codes = _reshaped(builder, _unpacked(builder, stored, dtype), shape)
    if dtype == "bfloat16":
        wide = builder.op("Cast", [codes], {"dtype": "uint32"})
        bits = builder.op("ShiftLeft", [wide, builder.constant(16, "uint32")])
        result = builder.op("BitCast", [bits], {"dtype": "float32"})
    elif dtype in INTEGERS:
        result = codes
    else:
        result = builder.op("Gather", [builder.constant(float_values(dtype)), codes], {"axis": 0})
    builder.layer = before
    return result


def _unpacked(builder: GraphBuilder, stored: Tensor, dtype: str) -> Tensor:
    if BITS[dtype] >= 8:
        return stored
    signed = dtype in INTEGERS and INTEGERS[dtype][1]
    return builder.op("UnpackBits", [stored], {"bits": BITS[dtype], "signed": signed})


def _reshaped(builder: GraphBuilder, codes: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Codes without those that fill the last byte."""
    if codes.shape == shape:
        return codes
    count = prod(shape)
    if codes.shape != (count,):
        part = {"starts": (0,), "sizes": (count,), "steps": (1,)}
        codes = builder.op("Slice", [codes], part)
    return codes if codes.shape == shape else builder.op("Reshape", [codes], {"shape": shape})


def float_values(dtype: str) -> Array:
    """The float32 value of each code of a float of 4 or 8 bits."""
    codes = np.arange(1 << BITS[dtype])
    if dtype == "float8e8m0":
        return np.asarray(np.where(codes == 255, np.nan, np.ldexp(1.0, codes - 127)), np.float32)
    exponent_bits, mantissa_bits, bias, special = FLOATS[dtype]
    exponents = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissas = codes & ((1 << mantissa_bits) - 1)
    whole = mantissas + np.where(exponents > 0, 1 << mantissa_bits, 0)
    values = np.ldexp(whole, np.maximum(exponents, 1) - bias - mantissa_bits)
    largest = exponents == exponents.max()
    if special == "inf":
        values[largest] = np.where(mantissas[largest] == 0, np.inf, np.nan)
    elif special == "nan":
        values[largest & (mantissas == mantissas.max())] = np.nan
    values = np.where(codes >= len(codes) // 2, -values, values)
    if special == "unsigned zero":
        values[len(codes) // 2] = np.nan
    return np.asarray(values, np.float32)


def numbers(stored: Array, dtype: str, shape: tuple[int, ...]) -> Array:
    """What `decode` computes, as an array."""
    if dtype == "bfloat16":
        return bfloat16_to_float32(stored).reshape(shape)
    bits = BITS[dtype]
    codes = unpack_bits(stored.reshape(-1), bits)[: prod(shape)].reshape(shape).astype(np.int64)
    if dtype not in INTEGERS:
        return np.asarray(float_values(dtype)[codes])
    if INTEGERS[dtype][1]:
        codes = codes - ((codes >> (bits - 1)) << bits)
    return np.asarray(codes, held(dtype))


def packed(values: Array, dtype: str) -> Array:
    """The slot that contains the given values of an integer dtype, or of bfloat16 as float32."""
    shape = known_shape(stored_type(dtype, values.shape).shape, "a packed array")
    if dtype == "bfloat16":
        return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    bits = BITS[dtype]
    codes = np.zeros(prod(shape) * (8 // bits), np.uint8)
    codes[: values.size] = values.reshape(-1) & ((1 << bits) - 1)
    return pack_bits(codes, bits).reshape(shape)
