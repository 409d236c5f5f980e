"""Quantisation: integers with scales and zero points, and integer products."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.conv import convolution
from webkiln.frontends.onnx.operators.elementwise import DTYPES, cast, dtype_of
from webkiln.frontends.onnx.operators.reduce import reduce_axes
from webkiln.frontends.onnx.operators.shape import reshaped
from webkiln.frontends.onnx.operators.windows import windows
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.linear import matrix_product
from webkiln.ops.functional.pooling import conv_integer


def broadcast_parameter(
    call: NodeCall, parameter: Tensor, x: Tensor, axis: int, block: int = 0
) -> Tensor:
    """A scale or zero point in a shape that broadcasts to x: one value, one per index of an axis,
    or one per block of indices.
    """
    if block:
        attrs = {"axis": axis, "times": block, "size": x.shape[axis]}
        return call.op("Repeat", [parameter], attrs)
    if parameter.type.size == 1:
        return reshaped(call, parameter, ())
    return reshaped(
        call, parameter, [parameter.type.size if d == axis else 1 for d in range(x.type.rank)]
    )


def quantize(
    call: NodeCall,
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None,
    dtype: str,
    axis: int = 1,
    block: int = 0,
) -> Tensor:
    """round(x / scale) + zero, saturated."""
    y = call.op(
        "RoundedQuotient",
        [x, cast(call, broadcast_parameter(call, scale, x, axis, block), x.dtype)],
    )
    if zero is not None:
        y = call.op(
            "Add", [y, cast(call, broadcast_parameter(call, zero, x, axis, block), x.dtype)]
        )
    return cast(call, y, dtype)


def dequantize(
    call: NodeCall, x: Tensor, scale: Tensor, zero: Tensor | None, axis: int = 1, block: int = 0
) -> Tensor:
    """(x - zero) * scale."""
    wide = "float32" if is_float(x.dtype) else "int32"
    y = cast(call, x, wide)
    if zero is not None:
        y = call.op("Sub", [y, cast(call, broadcast_parameter(call, zero, x, axis, block), wide)])
    return call.op(
        "Mul", [cast(call, y, scale.dtype), broadcast_parameter(call, scale, x, axis, block)]
    )


def quantize_linear(call: NodeCall) -> Tensor:
    x, scale, zero = call.tensor(0), call.tensor(1), call.optional(2)
    if DTYPES.get(call.attr("precision", 0), "float32") not in ("float32", x.dtype):
        raise call.unsupported("divides in another precision than x", "Omit its precision")
    dtype = zero.dtype if zero is not None else dtype_of(call, "output_dtype", "uint8")
    wide = cast(call, x, "float32") if x.dtype != "float64" else x
    return quantize(
        call,
        wide,
        scale,
        zero,
        dtype,
        call.axis(call.attr("axis", 1), max(x.type.rank, 2)),
        call.attr("block_size", 0),
    )


def dequantize_linear(call: NodeCall) -> Tensor:
    x, scale, zero = call.tensor(0), call.tensor(1), call.optional(2)
    y = dequantize(
        call,
        x,
        scale,
        zero,
        call.axis(call.attr("axis", 1), max(x.type.rank, 2)),
        call.attr("block_size", 0),
    )
    return cast(call, y, dtype_of(call, "output_dtype", scale.dtype))


def dynamic_scale(call: NodeCall, x: Tensor) -> tuple[Tensor, Tensor]:
    """The uint8 scale and zero point whose range covers x and 0."""
    axes = tuple(range(x.type.rank))
    zero = call.like(0, x)
    high = call.op("Max", [reduce_axes(call, "ReduceMax", x, axes, keep=False), zero])
    low = call.op("Min", [reduce_axes(call, "ReduceMin", x, axes, keep=False), zero])
    scale = (high - low) / 255.0
    return scale, cast(call, call.op("RoundedQuotient", [zero - low, scale]), "uint8")


def dynamic_quantize_linear(call: NodeCall) -> list[Tensor]:
    x = call.tensor(0)
    scale, zero = dynamic_scale(call, x)
    return [quantize(call, x, scale, zero, "uint8"), scale, zero]


def subtract_zero_point(call: NodeCall, x: Tensor, zero: Tensor | None, axis: int) -> Tensor:
    """x - zero as int32."""
    wide = cast(call, x, "int32")
    return (
        wide
        if zero is None
        else call.op("Sub", [wide, cast(call, broadcast_parameter(call, zero, x, axis), "int32")])
    )


def integer_product(
    call: NodeCall,
    a: Tensor,
    a_zero: Tensor | None,
    b: Tensor,
    b_zero: Tensor | None,
    **transposed: bool,
) -> Tensor:
    """The int32 product of a and b without their zero points: scalars, or one per row of a and one
    per column of b. `transposed`: the attributes of MatMul.
    """
    if min(a.type.rank, b.type.rank) > 1 and _is_narrow(a, a_zero, b):
        return call.op("MatMulInteger", [a, b, *_zeros(call, a, a_zero, b, b_zero)], transposed)
    rows = max(a.type.rank - (1 if transposed.get("transpose_a") else 2), 0)
    columns = max(b.type.rank - (2 if transposed.get("transpose_b") else 1), 0)
    left = subtract_zero_point(call, a, a_zero, rows)
    right = subtract_zero_point(call, b, b_zero, columns)
    if transposed:
        return call.op("MatMul", [left, right], transposed)
    return matrix_product(call.builder, left, right)


def _is_narrow(x: Tensor, zero: Tensor | None, w: Tensor) -> bool:
    """Whether operands have 8 bits, and the first one has a single zero point."""
    return {x.dtype, w.dtype} <= {"int8", "uint8"} and (zero is None or zero.type.size == 1)


def _zeros(
    call: NodeCall, x: Tensor, x_zero: Tensor | None, w: Tensor, w_zero: Tensor | None
) -> list[Tensor]:
    """The zero points of both operands, as scalars or vectors."""
    return [
        (
            call.builder.constant(0, factor.dtype)
            if zero is None
            else reshaped(call, zero, () if zero.type.size == 1 else (zero.type.size,))
        )
        for factor, zero in ((x, x_zero), (w, w_zero))
    ]


def integer_convolution(
    call: NodeCall, x: Tensor, x_zero: Tensor | None, w: Tensor, w_zero: Tensor | None
) -> Tensor:
    """The int32 convolution of x and w without their zero points: a scalar, and a scalar or one per
    feature.
    """
    if not _is_narrow(x, x_zero, w):
        left, right = (
            subtract_zero_point(call, x, x_zero, 1),
            subtract_zero_point(call, w, w_zero, 0),
        )
        return convolution(call, left, right, None)
    windows_ = windows(call, x.shape[2:], call.attr("kernel_shape") or w.shape[2:])
    zeros = _zeros(call, x, x_zero, w, w_zero)
    return conv_integer(call.builder, x, w, zeros, windows_, call.attr("group", 1))


def matmul_integer(call: NodeCall) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    return integer_product(call, a, call.optional(2), b, call.optional(3))


def convolve_integers(call: NodeCall) -> Tensor:
    x, w = call.tensor(0), call.tensor(1)
    return integer_convolution(call, x, call.optional(2), w, call.optional(3))


def requantize(
    call: NodeCall,
    y: Tensor,
    scales: Sequence[Tensor],
    out: Tensor,
    zero: Tensor | None,
    dtype: str,
    axis: int,
) -> Tensor:
    """Multiply an int32 sum of products by the scales of its factors, and quantise it with that of
    the result.
    """
    real = cast(call, y, "float32")
    for scale in scales:
        real = call.op(
            "Mul", [real, cast(call, broadcast_parameter(call, scale, y, axis), "float32")]
        )
    return quantize(call, real, out, zero, dtype, axis)


def qlinear_matmul(call: NodeCall) -> Tensor:
    """Operands: a, its scale and zero point, the same for b, scale and zero point of the result."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = call.tensors()
    rows, columns = max(a.type.rank - 2, 0), b.type.rank - 1
    real = cast(call, integer_product(call, a, a_zero, b, b_zero), "float32")
    real = call.op(
        "Mul", [real, cast(call, broadcast_parameter(call, a_scale, a, rows), "float32")]
    )
    real = call.op(
        "Mul", [real, cast(call, broadcast_parameter(call, b_scale, b, columns), "float32")]
    )
    return quantize(call, real, y_scale, y_zero, y_zero.dtype, rows)


def qlinear_conv(call: NodeCall) -> Tensor:
    """Operands: x, w and the result, each with scale and zero point, and an int32 bias."""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (
        call.tensor(position) for position in range(8)
    )
    y = integer_convolution(call, x, x_zero, w, w_zero)
    if call.has(8):
        y = call.op("Add", [y, broadcast_parameter(call, call.tensor(8), y, 1)])
    return requantize(call, y, [x_scale, w_scale], y_scale, y_zero, y_zero.dtype, 1)


QUANTIZE: dict[str, NodeHandler] = {
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    "MatMulInteger": matmul_integer,
    "ConvInteger": convolve_integers,
    "QLinearMatMul": qlinear_matmul,
    "QLinearConv": qlinear_conv,
}
