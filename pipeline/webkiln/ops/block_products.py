"""Products of vectors and 4-bit weights that are quantized in blocks along the sum.

A block of activations is quantized as well, so that the products of a block are those of integers.
The scheme is that of llama.cpp's Q8_0 by Q4_0 and Q4_1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import FLOAT, INT, Expr, apply, bitcast, cast, const, select
from webkiln.ops.budget import elements
from webkiln.ops.linear import PRODUCTS
from webkiln.ops.operator import Case, Cost, Operator, define

LARGEST = 127
"""The largest code of an activation."""
MASK = 15


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


def _product_types(attrs: MatMulBlocks, types: Sequence[Type]) -> tuple[Type, ...]:
    codes, packed, offsets = types[0], types[2], types[4:]
    depth, columns = codes.shape[-1], packed.shape[0] if packed.rank == 2 else -1
    blocks = _blocks(codes.shape, attrs.block)
    expected = (
        Type("int8", codes.shape),
        Type("float32", (*codes.shape[:-1], blocks)),
        Type("uint8", (columns, depth // 2)),
        *[Type("float32", (columns, blocks))] * (1 + len(offsets)),
    )
    if tuple(types) != expected or attrs.block % 2 or not 0 <= attrs.center <= MASK:
        raise ShapeError(
            f"operands are {', '.join(map(str, types))}, expected"
            f" {', '.join(map(str, expected))}, and an even block"
        )
    return (Type("float32", (*codes.shape[:-1], columns)),)


def _product_reference(
    attrs: MatMulBlocks, codes: Array, scales: Array, packed: Array, factors: Array, *offsets: Array
) -> tuple[Array, ...]:
    four = np.stack([packed & MASK, packed >> 4], -1).reshape(len(packed), -1)
    weights = (four.astype(np.float64) - attrs.center) * np.repeat(factors, attrs.block, 1)
    for offset in offsets:
        weights += np.repeat(offset, attrs.block, 1)
    x = codes.astype(np.float64) * np.repeat(scales, attrs.block, -1)
    return (x @ weights.T,)


@dataclass(frozen=True, slots=True)
class Loads:
    """What a product of blocks reads for a byte of codes: the codes of two neighbours of a row and
    their scale, the byte, and the factor and the offset of its block.
    """

    rows: tuple[Expr, Expr]
    scale: Expr
    byte: Expr
    factor: Expr
    offset: Expr | None = None


def two_products(loads: Loads, center: int) -> Expr:
    """What two neighbours add to a sum: products of integers, times the scales of their blocks."""
    first, second = (cast(item, INT) for item in loads.rows)
    pair = bitcast(loads.byte, INT)
    low = apply("band", pair, const(MASK, INT)) - const(center, INT)
    high = apply("shr", pair, const(4, INT)) - const(center, INT)
    total = cast(first * low + second * high, FLOAT) * loads.factor
    if loads.offset is not None:
        total = total + cast(first + second, FLOAT) * loads.offset
    return total * loads.scale


def _lower_product(low: Lowering, attrs: MatMulBlocks) -> None:
    codes, scales, packed, factors, *offsets = low.inputs
    nest = low.nest()
    *rows, column = nest.axes(low.outputs[0].shape)
    block, byte = nest.reduce(scales.shape[-1]), nest.reduce(attrs.block // 2)
    byte = block * const(attrs.block // 2, INT) + byte
    first, second = (
        nest.load(codes, [*rows, byte * const(2, INT) + const(place, INT)]) for place in (0, 1)
    )
    loads = Loads(
        (first, second),
        nest.load(scales, [*rows, block]),
        nest.load(packed, [column, byte]),
        nest.load(factors, [column, block]),
        nest.load(offsets[0], [column, block]) if offsets else None,
    )
    nest.store(low.outputs[0], nest.accumulate("sum", two_products(loads, attrs.center)))
    nest.done()


def _product_work(attrs: MatMulBlocks, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    products = outputs[0].size * inputs[0].shape[-1] // PRODUCTS
    return PRODUCTS * elements([*inputs, *outputs]) + products


def _product_scratch(attrs: MatMulBlocks, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    return 4 * (inputs[0].size + inputs[2].size)


def _product_cases() -> Iterable[Case]:
    rng = np.random.default_rng(0)
    for rows, columns, blocks, block, with_offsets in (
        ((), 5, 1, 2, False),
        ((1,), 16, 3, 32, False),
        ((3,), 21, 2, 32, True),
        ((2, 7), 8, 1, 64, True),
        ((13,), 40, 5, 16, False),
        ((1,), 33, 36, 32, True),
    ):
        depth = blocks * block
        codes = rng.integers(-LARGEST, LARGEST, (*rows, depth), np.int8, endpoint=True)
        packed = rng.integers(0, 255, (columns, depth // 2), np.uint8, endpoint=True)

        def make(*shape: int) -> Array:
            return rng.uniform(0.01, 0.1, shape).astype(np.float32)

        offsets = [make(columns, blocks)] if with_offsets else []
        yield Case(
            (codes, make(*rows, blocks), packed, make(columns, blocks), *offsets),
            {"block": block, "center": 0 if with_offsets else 8},
        )


MATMUL_BLOCKS = define(
    Operator(
        "MatMulBlocks",
        _product_types,
        _product_reference,
        _lower_product,
        MatMulBlocks,
        arity=(4, 5),
        cases=_product_cases,
        cost=Cost(_product_work, _product_scratch),
    )
)
"""Products of quantized rows and the rows of a matrix of 4-bit codes:
sum over k of x[..., k] * w[n, k].

Operands: codes, int8 [..., depth], and scales, float32 [..., depth / block], as `QuantizeBlocks`
computes them; packed, uint8 [n, depth / 2], two codes to a byte, low bits first; factors and,
optionally, offsets, float32 [n, depth / block]. x is codes * scales, and w is
(packed - center) * factors + offsets. Result: float32 [..., n].
"""
