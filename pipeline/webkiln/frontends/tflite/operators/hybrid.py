"""Hybrid operators: floats are quantized at run time, by batch or row, for int8 weights, as in the
interpreter.
"""

from collections.abc import Callable, Sequence

from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.tflite.operators.integers import bounded, factor, limits
from webkiln.ir.dim import Shape
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, reshaped, total

SumOfProducts = Callable[[str, Sequence[Tensor]], Tensor]
"""The sums of products of x and the weights. If they have the same dtype, the first argument is
empty; if they are integers of 8 bits, it is "Integer", and their zero points are operands too.
"""


def hybrid(
    call: NodeCall,
    x: Tensor,
    weights: int,
    product: SumOfProducts,
    rows: int = 1,
    name: str = "scale",
    inner: int | None = None,
) -> Tensor:
    """The product of x, quantized over its axes from `rows` on, with the weights, as floats.
    `inner`: the axis of the weights along which a matrix product sums; None for convolutions.
    """
    axes = tuple(range(rows, x.type.rank))
    quantize = asymmetric if call.attr("asymmetric", 0) else symmetric
    codes, zero, scale = quantize(call, x, axes)
    sums = _sums(call, codes, zero, weights, product, inner)
    shape = (*scale.shape[:rows], *[1] * (sums.type.rank - rows))
    return call.op(
        "Mul",
        [
            call.op("Mul", [cast(call.builder, sums, "float32"), factor(call, name)]),
            _fitted(call, scale, shape),
        ],
    )


def _sums(
    call: NodeCall,
    codes: Tensor,
    zero: Tensor | None,
    position: int,
    product: SumOfProducts,
    inner: int | None,
) -> Tensor:
    """The int32 products of codes minus their zero points, of which each row has its own."""
    b, weights = call.builder, call.tensor(position)
    none = call.constant(0, weights.dtype)
    if zero is None or zero.type.size == 1:
        point = call.constant(0, "int8") if zero is None else cast(b, reshaped(b, zero, ()), "int8")
        return product("Integer", [codes, weights, point, none])
    if inner is None:
        return product("", [cast(b, codes, "int32") - zero, cast(b, weights, "int32")])
    sums = product("Integer", [codes, weights, call.constant(0, "int8"), none])
    return sums - zero * b.capture(_column_sums(call, position, inner))


def _column_sums(call: NodeCall, position: int, inner: int) -> Tensor:
    """The sums of weights along an axis, [..., 1, columns], as int32. They are computed in the
    graph that has the weights, not in each step of a recurrence.
    """
    weights = call.operand(position).tensor or call.tensor(position)
    b = weights.builder
    sums = total(b, cast(b, weights, "int32"), inner, keepdims=True)
    *outer, height, width = sums.shape
    is_last = inner == weights.type.rank - 1
    return reshaped(b, sums, (*outer, width, height)) if is_last else sums


def _fitted(call: NodeCall, x: Tensor, shape: Shape) -> Tensor:
    return x if x.shape == shape else call.op("Reshape", [x], {"shape": shape})


def away(call: NodeCall, x: Tensor) -> Tensor:
    """Round to int32, ties away from zero."""
    half = call.op(
        "Where",
        [
            call.builder.binary("Less", x, 0.0),
            call.constant(-0.5, "float32"),
            call.constant(0.5, "float32"),
        ],
    )
    return cast(call.builder, call.op("Add", [x, half]), "int32")


def _ends(call: NodeCall, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    attrs = {"axes": axes, "keepdims": True}
    return call.op("ReduceMin", [x], attrs), call.op("ReduceMax", [x], attrs)


def symmetric(call: NodeCall, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, None, Tensor]:
    """Quantize symmetrically to -127..127, as int8. Returns no zero points, and the scales, which
    are 1 where all elements are zero.
    """
    low, high = _ends(call, x, axes)
    reach = call.op("Max", [call.op("Abs", [low]), call.op("Abs", [high])])
    nothing, one = call.builder.binary("Equal", reach, 0.0), call.constant(1.0, "float32")
    scale = call.op("Where", [nothing, one, reach / 127.0])
    inverse = call.op(
        "Where", [nothing, one, call.op("Div", [call.constant(127.0, "float32"), reach])]
    )
    codes = bounded(call, away(call, call.op("Mul", [x, inverse])), -127, 127)
    return cast(call.builder, codes, "int8"), None, scale


def asymmetric(call: NodeCall, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Quantize asymmetrically to int8. Returns the zero points, as int32, and the scales."""
    low, high = _ends(call, x, axes)
    low, high = call.builder.binary("Min", low, 0.0), call.builder.binary("Max", high, 0.0)
    span, one = high - low, call.constant(1.0, "float32")
    nothing = call.builder.binary("Equal", span, 0.0)
    scale = call.op("Where", [nothing, one, span / 255.0])
    index = call.builder.binary("Sub", -128.0, call.op("Div", [low, scale]))
    zero = call.op(
        "Where",
        [
            nothing,
            call.constant(0, "int32"),
            bounded(call, away(call, index), *limits("int8")),
        ],
    )
    moved = call.op(
        "Add",
        [call.op("Mul", [x, call.op("Div", [one, scale])]), cast(call.builder, zero, "float32")],
    )
    codes = bounded(call, away(call, moved), *limits("int8"))
    return cast(call.builder, codes, "int8"), zero, scale
