"""Fourier transforms: products with matrices of sines and cosines, whose angles are reduced as
integers, computed in float64.
"""

from math import pi

from webkiln.ir.dim import is_symbolic, minimum
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, iota, part, reshaped, sized

Complex = tuple[Tensor, Tensor | None]
"""Real and imaginary parts; None where all of them are 0."""


def waves(
    b: GraphBuilder, rows: int, columns: int, period: int, dtype: str
) -> tuple[Tensor, Tensor]:
    """cos and sin of 2 pi r c / period, [rows, columns]."""
    product = b.op(
        "Mul", [reshaped(b, iota(b, rows, "int32"), (rows, 1)), iota(b, columns, "int32")]
    )
    turn = _shared(
        b, cast(b, b.op("Mod", [product, sized(b, period, "int32")]), dtype) * (2 * pi), period
    )
    return b.op("Cos", [turn]), b.op("Sin", [turn])


def _shared(b: GraphBuilder, x: Tensor, count: int) -> Tensor:
    """x divided by a size."""
    return b.op("Div", [x, sized(b, count, x.dtype)]) if is_symbolic(count) else x * (1 / count)


def transformed(
    b: GraphBuilder, x: Complex, length: int, *, inverse: bool, onesided: bool
) -> Complex:
    """The transform of [..., n] along the last axis, cut or padded to `length`.

    Forward, onesided gives the first half; backward it takes the first half, and gives real
    numbers.
    """
    dtype = x[0].dtype
    taken = length // 2 + 1 if inverse and onesided else length
    have = minimum(x[0].shape[-1], taken)
    real, imaginary = (
        None if item is None else cast(b, part(b, item, item.type.rank - 1, 0, have), "float64")
        for item in x
    )
    assert real is not None
    given = length // 2 + 1 if onesided and not inverse else length
    cos, sin = waves(b, have, given, length, "float64")
    if inverse and onesided:
        weight = _doubled(b, have, length)
        real = b.op("Mul", [real, weight])
        imaginary = b.op("Mul", [imaginary, weight]) if imaginary is not None else None

    def product(item: Tensor, matrix: Tensor) -> Tensor:
        flat = reshaped(b, item, (-(-item.type.size // have), have))
        return reshaped(b, b.op("MatMul", [flat, matrix]), (*item.shape[:-1], given))

    along, across = product(real, cos), product(real, sin)
    if not inverse:
        across = -across
    if imaginary is not None:
        other, turned = product(imaginary, cos), product(imaginary, sin)
        along = b.op("Sub" if inverse else "Add", [along, turned])
        across = b.op("Add", [across, other])
    if inverse:
        along, across = _shared(b, along, length), _shared(b, across, length)
    return cast(b, along, dtype), None if inverse and onesided else cast(b, across, dtype)


def _doubled(b: GraphBuilder, have: int, length: int) -> Tensor:
    """Each frequency stands for its mirror image, too, but for the first and the middle one."""
    numbers = iota(b, have, "int32")
    single = b.op(
        "Equal", [b.op("Mod", [numbers * 2, sized(b, length, "int32")]), b.constant(0, "int32")]
    )
    return b.op("Where", [single, b.constant(1, "float64"), b.constant(2, "float64")])
