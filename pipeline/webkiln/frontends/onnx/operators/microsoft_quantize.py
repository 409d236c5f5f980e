"""Quantised operators of the domain com.microsoft. Each is dequantised, computed on floats, and
quantised again.
"""

from collections.abc import Callable
from math import prod

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.microsoft_blocks import MICROSOFT_BLOCKS
from webkiln.frontends.onnx.operators.pool import average_pool_of
from webkiln.frontends.onnx.operators.quantize import (
    broadcast_parameter,
    dequantize,
    dequantize_linear,
    dynamic_scale,
    integer_product,
    quantize,
    quantize_linear,
    subtract_zero_point,
)
from webkiln.frontends.onnx.operators.shape import reshaped, transposed
from webkiln.ops.builder import Tensor


def dequantized_operand(call: NodeCall, position: int) -> Tensor:
    """The operand at `position`, dequantised with the scale and zero point that follow it."""
    return dequantize(
        call, call.tensor(position), call.tensor(position + 1), call.optional(position + 2)
    )


def quantize_result(call: NodeCall, y: Tensor, position: int, dtype: str) -> Tensor:
    """Quantise with the scale and zero point at `position`."""
    return quantize(call, y, call.tensor(position), call.optional(position + 1), dtype)


def add(call: NodeCall) -> Tensor:
    """The scales of both operands are divided by that of the result first."""
    terms = [
        dequantize(
            call,
            call.tensor(position),
            call.op("Div", [call.tensor(position + 1), call.tensor(6)]),
            call.optional(position + 2),
        )
        for position in (0, 3)
    ]
    return rounded_with_zero(call, call.op("Add", terms), 7)


def multiply(call: NodeCall) -> Tensor:
    """The product of the codes is exact, and scaled at once."""
    factors = [
        subtract_zero_point(call, call.tensor(position), call.optional(position + 2), 1)
        for position in (0, 3)
    ]
    real = cast(call, call.op("Mul", factors), "float32")
    scale = call.op("Mul", [call.tensor(1), call.tensor(4)])
    scale = call.op("Div", [scale, call.tensor(6)])
    y = call.op("Mul", [real, broadcast_parameter(call, scale, real, 1)])
    return rounded_with_zero(call, y, 7)


def rounded_with_zero(call: NodeCall, y: Tensor, position: int) -> Tensor:
    """Codes of a result that has been divided by its scale. Its zero point, at `position`, is added
    before it is rounded, so that ties are rounded to even codes, as in onnxruntime.
    """
    if call.has(position):
        zero = broadcast_parameter(call, call.tensor(position), y, 1)
        y = call.op("Add", [y, cast(call, zero, "float32")])
    return cast(call, call.op("Round", [y]), call.type(0).dtype)


def unary(function: Callable[[NodeCall, Tensor], Tensor]) -> NodeHandler:
    return lambda call: quantize_result(
        call, function(call, dequantized_operand(call, 0)), 3, call.type(0).dtype
    )


def _sigmoid(call: NodeCall, x: Tensor) -> Tensor:
    return call.op("Sigmoid", [x])


def _leaky_relu(call: NodeCall, x: Tensor) -> Tensor:
    return call.op("LeakyRelu", [x], {"alpha": call.attr("alpha", 0.01)})


def _softmax(call: NodeCall, x: Tensor) -> Tensor:
    """A softmax; before `opset` 13, over all axes from `axis` on."""
    axis = call.axis(call.attr("axis", -1), x.type.rank)
    if call.attr("opset", 13) >= 13:
        return call.op("Softmax", [x], {"axis": axis})
    flat = reshaped(call, x, (prod(x.shape[:axis]), prod(x.shape[axis:])))
    return reshaped(call, call.op("Softmax", [flat], {"axis": 1}), x.shape)


def average_pool(call: NodeCall) -> Tensor:
    y = channels_first(call, dequantized_operand(call, 0), lambda y: average_pool_of(call, y))
    scale = broadcast_parameter(call, call.tensor(3), y, 1)
    y = call.op("Mul", [y, call.op("Div", [call.constant(1.0, "float32"), scale])])
    return rounded_with_zero(call, y, 4)


def _global_average_pool(call: NodeCall, x: Tensor) -> Tensor:
    return channels_first(
        call,
        x,
        lambda y: call.op(
            "ReduceMean", [y], {"axes": tuple(range(2, y.type.rank)), "keepdims": True}
        ),
    )


def channels_first(call: NodeCall, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply a function that needs channels first; transpose if they are last."""
    if not call.attr("channels_last", 0):
        return function(x)
    rank = x.type.rank
    y = function(transposed(call, x, (0, rank - 1, *range(1, rank - 1))))
    return transposed(call, y, (0, *range(2, rank), 1))


def concat(call: NodeCall) -> Tensor:
    """Operands: scale and zero point of the result, then each part followed by its own."""
    parts = [dequantized_operand(call, position) for position in range(2, len(call), 3)]
    axis = call.axis(call.attr("axis"), parts[0].type.rank)
    return quantize_result(call, call.op("Concat", parts, {"axis": axis}), 0, call.type(2).dtype)


def gemm(call: NodeCall) -> Tensor:
    """Operands: a and b, each with scale and zero point, an int32 bias, and optionally scale and
    zero point of the result.
    """
    y = integer_product(
        call,
        call.tensor(0),
        call.optional(2),
        call.tensor(3),
        call.optional(5),
        transpose_a=bool(call.attr("transA", 0)),
        transpose_b=bool(call.attr("transB", 0)),
    )
    if call.has(6):
        y = call.op("Add", [y, call.tensor(6)])
    real = cast(call, y, "float32") * call.attr("alpha", 1.0)
    for position in (1, 4):
        real = call.op("Mul", [real, broadcast_parameter(call, call.tensor(position), y, 1)])
    return quantize_result(call, real, 7, call.type(0).dtype) if call.has(7) else real


def matmul_to_float(call: NodeCall) -> Tensor:
    """Operands: a, b, their scales, their zero points, a bias."""
    a, b = call.tensor(0), call.tensor(1)
    y = cast(call, integer_product(call, a, call.optional(4), b, call.optional(5)), "float32")
    for position in (2, 3):
        scale = call.tensor(position)
        y = call.op(
            "Mul", [y, reshaped(call, scale, () if scale.type.size == 1 else (scale.type.size,))]
        )
    return call.op("Add", [y, call.tensor(6)]) if call.has(6) else y


def dynamic_matmul(call: NodeCall) -> Tensor:
    """Quantise a float a by its own range. Operands: a, b, scale and zero point of b, a bias."""
    a, b = call.tensor(0), call.tensor(1)
    scale, zero = dynamic_scale(call, a)
    left = quantize(call, a, scale, zero, "uint8")
    y = cast(call, integer_product(call, left, zero, b, call.optional(3)), "float32")
    other = call.tensor(2)
    y = call.op(
        "Mul",
        [
            call.op("Mul", [y, scale]),
            reshaped(call, other, () if other.type.size == 1 else (other.type.size,)),
        ],
    )
    return call.op("Add", [y, call.tensor(4)]) if call.has(4) else y


MICROSOFT_QUANTIZE: dict[str, NodeHandler] = {
    **MICROSOFT_BLOCKS,
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
    "QLinearAdd": add,
    "QLinearMul": multiply,
    "QLinearSigmoid": unary(_sigmoid),
    "QLinearLeakyRelu": unary(_leaky_relu),
    "QLinearSoftmax": unary(_softmax),
    "QLinearAveragePool": average_pool,
    "QLinearGlobalAveragePool": unary(_global_average_pool),
    "QLinearConcat": concat,
    "QGemm": gemm,
    "MatMulIntegerToFloat": matmul_to_float,
    "DynamicQuantizeMatMul": dynamic_matmul,
}
