"""Encodings of trained weights: the bytes that `pack` writes, and the expression that decodes them
in the browser.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from webkiln.ir.types import Array
from webkiln.nest.expr import FLOAT, INT, UINT, Expr, apply, bitcast, cast, const, select


@dataclass(frozen=True, slots=True)
class Stored:
    """A weight as the browser needs it: its type, and the axis of its output channels if it is a
    factor of a sum of products. `keep`: other weights are decoded from it, so that it is stored as
    it is.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    channel_axis: int | None = None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Encoding:
    """`header(weight)`: the number of float32 scales that precede the elements. `encode(weight,
    values) -> (header, elements)`. `decode(element, scale)`: the float32 value. The type of
    `element` is that of `COMPUTE` (nest/nest.py) for the storage dtype, such as UINT for uint8.
    `scale` is the header's entry for the element's channel, or its only entry.
    """

    storage: str
    header: Callable[[Stored], int]
    encode: Callable[[Stored, Array], tuple[Array, Array]]
    decode: Callable[[Expr, Expr | None], Expr]

    def bytes(self, weight: Stored, rows: int) -> int:
        """Bytes of `rows` entries of the first axis, header included."""
        per_row = (
            prod(weight.shape[1:])
            * np.dtype(self.storage if self.storage != "raw" else weight.dtype).itemsize
        )
        return 4 * self.header(weight) + rows * per_row


def choose(weight: Stored, name: str) -> str:
    """The encoding of a weight in a bundle with the encoding `name`. Vectors, scalars and integers
    are not compressed, nor are scales.
    """
    if weight.keep or weight.dtype != "float32" or name == "float32" or len(weight.shape) < 2:
        return "raw"
    if name == "int8" and weight.channel_axis is None:
        return "raw"
    return name


NO_SCALES = np.zeros(0, np.float32)


def _plain(dtype: str | None) -> Callable[[Stored, Array], tuple[Array, Array]]:
    return lambda weight, values: (NO_SCALES, values.astype(dtype or weight.dtype, copy=False))


def _encode_bfloat16(weight: Stored, values: Array) -> tuple[Array, Array]:
    """The upper half of each float32, rounded to nearest with ties to even. NaN stays NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | np.uint32(0x40)
    return NO_SCALES, np.where(np.isnan(values), quiet, rounded).astype(np.uint16)


def _decode_bfloat16(element: Expr, scale: Expr | None) -> Expr:
    return bitcast(apply("shl", element, const(16, UINT)), FLOAT)


def _encode_int8(weight: Stored, values: Array) -> tuple[Array, Array]:
    """Symmetric, with one scale per output channel. The largest magnitude maps to 127."""
    assert weight.channel_axis is not None
    others = tuple(axis for axis in range(values.ndim) if axis != weight.channel_axis)
    largest = np.max(np.abs(values), axis=others, initial=0.0)
    scale = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)
    spread = scale.reshape(
        [-1 if axis == weight.channel_axis else 1 for axis in range(values.ndim)]
    )
    return scale, np.clip(np.rint(values / spread), -127, 127).astype(np.int8)


def eightbit_magnitudes() -> Array:
    """The 128 magnitudes of WebDNN's 8-bit code (after Dettmers 2016, arXiv:1511.04561). First 0,
    then six decades from 1e-6. Decade k has 2**k bins between 1 and 4.5 and 2**k between 4.5 and
    10, represented by their midpoints. Last 1.
    """
    values = [0.0]
    for decade in range(6):
        bins = 2**decade
        for low, width in ((1.0, 3.5), (4.5, 5.5)):
            values += [
                (low + width * (position + 0.5) / bins) * 10.0 ** (decade - 6)
                for position in range(bins)
            ]
    return np.array([*values, 1.0], np.float64)


def _encode_eightbit(weight: Stored, values: Array) -> tuple[Array, Array]:
    """The nearest magnitude relative to the largest of the tensor. The top bit is the sign."""
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    table = eightbit_magnitudes()
    middles = (table[1:] + table[:-1]) / 2
    codes = np.searchsorted(middles, np.abs(values.astype(np.float64)) / largest)
    return np.array([largest], np.float32), (codes + np.where(values < 0, 128, 0)).astype(np.uint8)


def _decode_eightbit(element: Expr, scale: Expr | None) -> Expr:
    assert scale is not None
    code = bitcast(apply("band", element, const(127, UINT)), INT)
    position = code - 1
    decade, power = const(0, INT), const(1e-6)
    for k in range(1, 6):
        reached = apply("ge", position, const(2 * (2**k - 1), INT))
        decade, power = (
            select(reached, const(k, INT), decade),
            select(reached, const(10.0 ** (k - 6)), power),
        )
    bins = apply("shl", const(1, INT), decade)
    within = position - (bins + bins - 2)
    upper = apply("ge", within, bins)
    part = cast(select(upper, within - bins, within), FLOAT) + 0.5
    fraction = part / cast(bins, FLOAT)
    size = select(upper, 5.5 * fraction + 4.5, 3.5 * fraction + 1.0) * power
    magnitude = select(
        apply("eq", code, const(0, INT)),
        const(0.0),
        select(apply("eq", code, const(127, INT)), const(1.0), size),
    )
    value = magnitude * scale
    return select(apply("gt", element, const(127, UINT)), -value, value)


def _channels(weight: Stored) -> int:
    return weight.shape[weight.channel_axis] if weight.channel_axis is not None else 0


BY_NAME: dict[str, Encoding] = {
    "raw": Encoding("raw", lambda weight: 0, _plain(None), lambda element, scale: element),
    "float16": Encoding(
        "float16", lambda weight: 0, _plain("float16"), lambda element, scale: element
    ),
    "bfloat16": Encoding("uint16", lambda weight: 0, _encode_bfloat16, _decode_bfloat16),
    "int8": Encoding(
        "int8",
        _channels,
        _encode_int8,
        lambda element, scale: cast(element, FLOAT) * _present(scale),
    ),
    "eightbit": Encoding("uint8", lambda weight: 1, _encode_eightbit, _decode_eightbit),
}


def _present(scale: Expr | None) -> Expr:
    assert scale is not None
    return scale


def storage_dtype(weight: Stored, encoding: Encoding) -> str:
    return weight.dtype if encoding.storage == "raw" else encoding.storage
