"""Hybrid operators: floats are quantized at run time, by batch or row, for int8 weights, as in the
interpreter.
"""

from collections.abc import Callable

from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.tflite.operators.integers import factor
from webkiln.ir.dim import Shape
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast


def hybrid(
    call: NodeCall,
    x: Tensor,
    weights: int,
    product: Callable[[Tensor, Tensor], Tensor],
    rows: int = 1,
    name: str = "scale",
) -> Tensor:
    """The product of x, quantized over its axes from `rows` on, with the weights, as floats."""
    axes = tuple(range(rows, x.type.rank))
    quantize = asymmetric if call.attr("asymmetric", 0) else symmetric
    quantized, scale = quantize(call, x, axes)
    total = product(quantized, cast(call.builder, call.tensor(weights), "int32"))
    shape = (*scale.shape[:rows], *[1] * (total.type.rank - rows))
    return call.op(
        "Mul",
        [
            call.op("Mul", [cast(call.builder, total, "float32"), factor(call, name)]),
            _fitted(call, scale, shape),
        ],
    )


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


def symmetric(call: NodeCall, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Quantize symmetrically to -127..127. Returns the scale too, which is 1 if all elements are
    zero.
    """
    low, high = _ends(call, x, axes)
    reach = call.op("Max", [call.op("Abs", [low]), call.op("Abs", [high])])
    nothing, one = call.builder.binary("Equal", reach, 0.0), call.constant(1.0, "float32")
    scale = call.op("Where", [nothing, one, reach / 127.0])
    inverse = call.op(
        "Where", [nothing, one, call.op("Div", [call.constant(127.0, "float32"), reach])]
    )
    return call.op(
        "Clip", [away(call, call.op("Mul", [x, inverse]))], {"min": -127, "max": 127}
    ), scale


def asymmetric(call: NodeCall, x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Quantize asymmetrically to -128..127, minus the zero point. Returns the scale too."""
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
            call.op("Clip", [away(call, index)], {"min": -128, "max": 127}),
        ],
    )
    moved = call.op(
        "Add",
        [call.op("Mul", [x, call.op("Div", [one, scale])]), cast(call.builder, zero, "float32")],
    )
    quantized = call.op("Clip", [away(call, moved)], {"min": -128, "max": 127})
    return call.op("Sub", [quantized, zero]), scale
