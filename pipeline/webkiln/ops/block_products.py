"""Products of vectors and weights of 4 or 8 bits that are quantized in blocks along the sum.

Vectors are floats, or are quantized in blocks as well, so that the products of a block are those of
integers. The latter scheme is that of llama.cpp's Q8_0 by Q4_0 and Q4_1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import FLOAT, INT, Expr, apply, bitcast, cast, const, select
from webkiln.nest.steps import View
from webkiln.ops.budget import elements
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import Case, Cost, Operator, define

LARGEST = 127
"""The largest code of an activation."""
MASK = 15
BYTE = 8


@dataclass(frozen=True, slots=True)
class QuantizeBlocks(Attributes):
    block: int


def _blocks(shape: Sequence[Size], block: int) -> int:
    """The blocks of the last axis. Raises ShapeError if they do not divide it."""
    size = shape[-1] if shape else 0
    if is_symbolic(size) or block < 2 or size % block:
        raise ShapeError(f"the last axis of {list(shape)} does not consist of blocks of {block}")
    return size // block


def _quantize_types(attrs: QuantizeBlocks, types: Sequence[Type]) -> tuple[Type, ...]:
    (x,) = types
    if x.dtype != "float32":
        raise ShapeError(f"x is {x}, expected float32")
    scales = (*x.shape[:-1], _blocks(x.shape, attrs.block))
    return Type("int8", x.shape), Type("float32", scales)


def _quantize_reference(attrs: QuantizeBlocks, x: Array) -> tuple[Array, ...]:
    blocks = x.astype(np.float32).reshape(*x.shape[:-1], -1, attrs.block)
    scales = np.abs(blocks).max(-1) / np.float32(LARGEST)
    with np.errstate(divide="ignore", invalid="ignore"):
        codes = np.where(scales[..., None] > 0, np.rint(blocks / scales[..., None]), 0)
    return codes.astype(np.int8).reshape(x.shape), scales


def _lower_quantize(low: Lowering, attrs: QuantizeBlocks) -> None:
    """Scales first; a block of zeros has the scale 0."""
    (x,), (codes, scales) = low.inputs, low.outputs
    shape = (*scales.shape, attrs.block)
    blocks = x.reshaped(shape)
    nest = low.nest()
    index = nest.axes(scales.shape)
    element = nest.load(blocks, [*index, nest.reduce(attrs.block)])
    nest.store(scales, nest.accumulate("max", apply("abs", element)) / const(LARGEST, FLOAT))
    nest.done()
    nest = low.nest()
    place = nest.axes(shape)
    scale = nest.load(scales, place[:-1])
    divisor = select(apply("gt", scale, const(0.0)), scale, const(1.0))
    quotient = apply("rint", nest.load(blocks, place) / divisor)
    nest.store(codes.reshaped(shape), cast(quotient, INT))
    nest.done()


QUANTIZE_BLOCKS = define(
    Operator(
        "QuantizeBlocks",
        _quantize_types,
        _quantize_reference,
        _lower_quantize,
        QuantizeBlocks,
        cases=lambda: [
            Case(
                (np.array([[127, -3, 0.4, 64, 0, 0, 0, 0, 25.4, -12.6, 1, 0.05]], np.float32),),
                {"block": 4},
            )
        ],
    )
)
"""Quantizes blocks of `block` neighbours along the last axis symmetrically.

Operand: x, float32 [..., n]. Results: codes, int8 [..., n] in -127..127, and scales, float32
[..., n / block]: the largest magnitude of a block / 127. x is about codes * scales.
"""


@dataclass(frozen=True, slots=True)
class MatMulBlocks(Attributes):
    block: int
    center: int = 0
    bits: int = 4
    transposed: bool = False


def _row_operands(dtype: str) -> int:
    """The operands that rows consist of: floats, or codes and scales."""
    return 1 if dtype == "float32" else 2


def _product_types(attrs: MatMulBlocks, types: Sequence[Type]) -> tuple[Type, ...]:
    rows, count = types[0], _row_operands(types[0].dtype)
    if len(types) not in (count + 2, count + 3):
        raise ShapeError(f"{len(types)} operands, expected {count + 2} or {count + 3}")
    packed, factors = types[count : count + 2]
    depth, blocks = rows.shape[-1], _blocks(rows.shape, attrs.block)
    columns = packed.shape[attrs.transposed] if packed.rank == 2 else -1
    parts = _oriented(factors.shape, attrs)[-1:]

    def matrix(dtype: str, along: Size) -> Type:
        return Type(dtype, _oriented((columns, along), attrs))

    narrow = packed.dtype if attrs.bits == BYTE and packed.dtype == "int8" else "uint8"
    quantized = Type("int8", rows.shape), Type("float32", (*rows.shape[:-1], blocks))
    expected = (
        *(types[:1] if count == 1 else quantized),
        matrix(narrow, depth * attrs.bits // BYTE),
        *[matrix("float32", 1 if parts == (1,) else blocks)] * (len(types) - count - 1),
    )
    if (
        tuple(types) != expected
        or attrs.bits not in (4, BYTE)
        or attrs.block * attrs.bits % BYTE
        or attrs.center not in code_range(attrs.bits, narrow)
    ):
        raise ShapeError(
            f"operands are {', '.join(map(str, types))}, expected"
            f" {', '.join(map(str, expected))}, blocks of whole bytes of codes of 4 or 8 bits, and"
            " a center that is a code"
        )
    return (Type("float32", (*rows.shape[:-1], columns)),)


def _oriented(shape: tuple[Size, ...], attrs: MatMulBlocks) -> tuple[Size, ...]:
    """The shape of weights [columns, depth] as they are stored."""
    return shape[::-1] if attrs.transposed else shape


def code_range(bits: int, dtype: str) -> range:
    """The codes of so many bits."""
    return range(-128, 128) if dtype == "int8" else range(1 << bits)


def _product_reference(attrs: MatMulBlocks, rows: Array, *operands: Array) -> tuple[Array, ...]:
    x = rows.astype(np.float64)
    if _row_operands(str(rows.dtype)) > 1:
        x *= np.repeat(operands[0], attrs.block, -1)
        operands = operands[1:]
    packed, *factors = operands
    stored = packed.T if attrs.transposed else packed
    if attrs.bits == 4:
        stored = np.stack([stored & MASK, stored >> 4], -1).reshape(len(stored), -1)
    wide = [
        np.repeat(item, stored.shape[1] // item.shape[1], 1)
        for item in ((array.T if attrs.transposed else array) for array in factors)
    ]
    weights = (stored.astype(np.float64) - attrs.center) * wide[0]
    for offset in wide[1:]:
        weights += offset
    return (x @ weights.T,)


@dataclass(frozen=True, slots=True)
class Loads:
    """What a product of blocks reads for a byte of codes: the neighbours of a quantized row that it
    is multiplied by, two for 4 bits, or one float; the byte; the factor and the offset of its
    block; and the scale of the neighbours, unless the row is float.
    """

    rows: tuple[Expr, ...]
    byte: Expr
    factor: Expr
    offset: Expr | None = None
    scale: Expr | None = None


def products_of_byte(loads: Loads, center: int) -> Expr:
    """What a byte adds to the sum of a quantized row: products of integers, times the scales of
    their blocks.
    """
    assert loads.scale is not None
    rows, byte = [cast(item, INT) for item in loads.rows], _integer(loads.byte)
    codes = [byte]
    if len(rows) > 1:
        codes = [apply("band", byte, const(MASK, INT)), apply("shr", byte, const(4, INT))]
    products = [x * (code - const(center, INT)) for x, code in zip(rows, codes, strict=True)]
    total = cast(reduce(add, products), FLOAT) * loads.factor
    if loads.offset is not None:
        total = total + cast(reduce(add, rows), FLOAT) * loads.offset
    return total * loads.scale


def product_of_code(loads: Loads, center: int, half: Expr | None) -> Expr:
    """What a code adds to the sum of a float row. `half`: which one of a byte it is, if it has 4
    bits.
    """
    (x,), code = loads.rows, _integer(loads.byte)
    if half is not None:
        shifted = apply("shr", code, half * const(4, INT))
        code = apply("band", shifted, const(MASK, INT))
    weight = cast(code - const(center, INT), FLOAT) * loads.factor
    return x * (weight if loads.offset is None else weight + loads.offset)


def _integer(byte: Expr) -> Expr:
    return byte if byte.type == INT else bitcast(byte, INT)


def _lower_product(low: Lowering, attrs: MatMulBlocks) -> None:
    count = _row_operands(low.inputs[0].type.dtype)
    (rows, *scales), (packed, *factors) = low.inputs[:count], low.inputs[count:]
    nest = low.nest()
    *outer, column = nest.axes(low.outputs[0].shape)
    each, along = BYTE // attrs.bits, 0 if attrs.transposed else 1
    block = nest.reduce(_blocks(rows.shape, attrs.block))
    byte = nest.reduce(attrs.block // each)
    byte = block * const(attrs.block // each, INT) + byte
    first = byte * const(each, INT)

    def weight(source: View, place: Expr) -> Expr:
        return nest.load(source, [place, column] if attrs.transposed else [column, place])

    def parameter(source: View) -> Expr:
        return weight(source, const(0, INT) if source.shape[along] == 1 else block)

    def neighbour(position: Expr) -> Expr:
        return nest.load(rows, [*outer, first + position])

    factor, *offset = map(parameter, factors)
    weights = weight(packed, byte), factor, offset[0] if offset else None
    if scales:
        neighbours = tuple(neighbour(const(n, INT)) for n in range(each))
        scale = nest.load(scales[0], [*outer, block])
        product = products_of_byte(Loads(neighbours, *weights, scale), attrs.center)
    else:
        half = nest.reduce(each) if each > 1 else None
        element = neighbour(const(0, INT) if half is None else half)
        product = product_of_code(Loads((element,), *weights), attrs.center, half)
    nest.store(low.outputs[0], nest.accumulate("sum", product))
    nest.done()


def _product_work(attrs: MatMulBlocks, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    products = outputs[0].size * inputs[0].shape[-1] // PRODUCTS
    return PRODUCTS * elements([*inputs, *outputs]) + products


def _product_scratch(attrs: MatMulBlocks, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    return 4 * (inputs[0].size + inputs[_row_operands(inputs[0].dtype)].size)


def _product_cases() -> Iterable[Case]:
    rng = np.random.default_rng(0)
    for rows, columns, blocks, block, how, kind in (
        ((), 5, 1, 2, "", ""),
        ((1,), 16, 3, 32, "", ""),
        ((3,), 21, 2, 32, "offsets", ""),
        ((2, 7), 8, 1, 64, "offsets", ""),
        ((13,), 40, 5, 16, "", ""),
        ((1,), 33, 36, 32, "offsets", ""),
        ((3,), 13, 2, 16, "offsets transposed", ""),
        ((2,), 9, 3, 16, "offsets by column", ""),
        ((3,), 21, 2, 32, "", "int8"),
        ((1,), 33, 5, 20, "offsets", "uint8"),
        ((5,), 17, 3, 16, "by column", "int8"),
        ((4,), 12, 2, 24, "offsets by column transposed", "uint8"),
    ):
        depth, transposed = blocks * block, "transposed" in how
        codes = rng.integers(-LARGEST, LARGEST, (*rows, depth), np.int8, endpoint=True)
        limits = np.iinfo(kind or "uint8")
        shape = columns, depth if kind else depth // 2
        packed = rng.integers(limits.min, limits.max, shape, kind or "uint8", endpoint=True)
        shape = columns, 1 if "column" in how else blocks
        operands = [packed, *[_positive(rng, shape) for _ in range(1 + ("offsets" in how))]]
        attrs = {
            "block": block,
            "center": 0 if "offsets" in how or kind == "int8" else 8,
            **({"bits": BYTE} if kind else {}),
            **({"transposed": True} if transposed else {}),
        }
        weights = [np.ascontiguousarray(item.T) if transposed else item for item in operands]
        yield Case((codes, _positive(rng, (*rows, blocks)), *weights), attrs)
        yield Case((rng.uniform(-2, 2, (*rows, depth)).astype(np.float32), *weights), attrs)


def _positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(0.01, 0.1, shape).astype(np.float32)


MATMUL_BLOCKS = define(
    Operator(
        "MatMulBlocks",
        _product_types,
        _product_reference,
        _lower_product,
        MatMulBlocks,
        arity=(3, 5),
        cases=_product_cases,
        cost=Cost(_product_work, _product_scratch),
    )
)
"""Products of rows and the rows of a matrix of codes of 4 or 8 bits:
sum over k of x[..., k] * w[n, k].

Operands: x, float32 [..., depth], or codes, int8 [..., depth], and scales, float32 [..., depth /
block], as `QuantizeBlocks` computes them; packed, uint8 [n, depth / 2], two codes to a byte, low
bits first, or, if `bits` is 8, int8 or uint8 [n, depth]; factors and, optionally, offsets, float32
[n, depth / block], or [n, 1] for all blocks. With `transposed`, these three are [depth, n]. w is
(packed - center) * factors + offsets. Result: float32 [..., n].
"""
