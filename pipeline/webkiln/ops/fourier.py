"""Discrete Fourier transforms as products with matrices of sines and cosines.

They are computed in float64. The angles are reduced modulo 2 pi as integers, without rounding.
"""

from math import pi

from webkiln.ir.dim import Size, is_symbolic, minimum
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast, iota, part, reshaped, sized

Complex = tuple[Tensor, Tensor | None]
"""The real and the imaginary part; None if the imaginary part is 0."""


def waves(
    b: GraphBuilder, rows: Size, columns: Size, period: Size, dtype: str
) -> tuple[Tensor, Tensor]:
    """The matrices cos(2 pi r c / period) and sin(2 pi r c / period), [rows, columns]."""
    product = b.op(
        "Mul", [reshaped(b, iota(b, rows, "int32"), (rows, 1)), iota(b, columns, "int32")]
    )
    angle = _divided(
        b, cast(b, b.op("Mod", [product, sized(b, period, "int32")]), dtype) * (2 * pi), period
    )
    return b.op("Cos", [angle]), b.op("Sin", [angle])


def _divided(b: GraphBuilder, x: Tensor, count: Size) -> Tensor:
    """Divide by a size."""
    return b.op("Div", [x, sized(b, count, x.dtype)]) if is_symbolic(count) else x * (1 / count)


def transformed(
    b: GraphBuilder, x: Complex, length: Size, *, inverse: bool, onesided: bool
) -> Complex:
    """The transform of [..., n] along the last axis, truncated or padded to `length`.

    With `onesided`, the forward transform returns the first length // 2 + 1 frequencies, and the
    inverse one reads them and returns real numbers.
    """
    dtype = x[0].dtype
    read = length // 2 + 1 if inverse and onesided else length
    available = minimum(x[0].shape[-1], read)
    real, imaginary = (
        None
        if item is None
        else cast(b, part(b, item, item.type.rank - 1, 0, available), "float64")
        for item in x
    )
    assert real is not None
    returned = length // 2 + 1 if onesided and not inverse else length
    cos, sin = waves(b, available, returned, length, "float64")
    if inverse and onesided:
        weight = _onesided_weights(b, available, length)
        real = b.op("Mul", [real, weight])
        imaginary = b.op("Mul", [imaginary, weight]) if imaginary is not None else None

    def product(item: Tensor, matrix: Tensor) -> Tensor:
        flat = reshaped(b, item, (-(-item.type.size // available), available))
        return reshaped(b, b.op("MatMul", [flat, matrix]), (*item.shape[:-1], returned))

    out_real, out_imaginary = product(real, cos), product(real, sin)
    if not inverse:
        out_imaginary = -out_imaginary
    if imaginary is not None:
        imaginary_cos, imaginary_sin = product(imaginary, cos), product(imaginary, sin)
        out_real = b.op("Sub" if inverse else "Add", [out_real, imaginary_sin])
        out_imaginary = b.op("Add", [out_imaginary, imaginary_cos])
    if inverse:
        out_real = _divided(b, out_real, length)
        out_imaginary = _divided(b, out_imaginary, length)
    return cast(b, out_real, dtype), None if inverse and onesided else cast(b, out_imaginary, dtype)


def _onesided_weights(b: GraphBuilder, count: Size, length: Size) -> Tensor:
    """The weights of one-sided frequencies: 2 for those with a mirror image, 1 for the first and
    the middle one.
    """
    numbers = iota(b, count, "int32")
    single = b.op(
        "Equal", [b.op("Mod", [numbers * 2, sized(b, length, "int32")]), b.constant(0, "int32")]
    )
    return b.op("Where", [single, b.constant(1, "float64"), b.constant(2, "float64")])
