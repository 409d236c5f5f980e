"""Conversion between floats and quantized integers."""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators.hybrid import away
from webkiln.frontends.tflite.operators.integers import (
    centred,
    factor,
    less,
    more,
    out_dtype,
    out_zero,
    requantized,
    result,
    zero,
)
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, reshaped


def along(call: NodeCall, parameter: Tensor, rank: int) -> Tensor:
    """One value per index of the quantized axis."""
    axis = call.attr("axis")
    if axis is None:
        return parameter
    return reshaped(
        call.builder,
        parameter,
        [parameter.type.size if d == call.axis(axis, rank) else 1 for d in range(rank)],
    )


def dequantize(call: NodeCall) -> Tensor:
    """scale (x - zero); for float16 and tensors without a scale, a cast."""
    x, b = call.tensor(0), call.builder
    if "scale" not in call.attr("extra", ()):
        return cast(b, x, out_dtype(call))
    wide, rank = cast(b, x, "int32"), x.type.rank
    if "channel_zeros" in call.attr("extra", ()):
        moved = call.op("Sub", [wide, along(call, factor(call, "channel_zeros"), rank)])
    else:
        moved = less(call, wide, zero(call))
    return call.op("Mul", [cast(b, moved, "float32"), along(call, factor(call, "scale"), rank)])


def quantize(call: NodeCall) -> Tensor:
    """round(x / scale) + zero, ties away from zero; integers are multiplied by the quotient of
    scales.
    """
    x, b = call.tensor(0), call.builder
    if x.dtype != "float32":
        if "multiplier" not in call.attr("extra", ()):
            raise call.error("an operand or result has no scale; convert the model again")
        return requantized(call, centred(call))
    if out_dtype(call) not in ("int8", "uint8", "int16") or "scale" not in call.attr("extra", ()):
        raise call.unsupported(
            f"quantises to {out_dtype(call)}", "Supported are int8, uint8 and int16 with a scale"
        )
    quotient = call.op("Div", [x, along(call, factor(call, "scale"), x.type.rank)])
    near = call.op(
        "Clip",
        [
            quotient,
        ],
        {"min": -1e9, "max": 1e9},
    )
    if "channel_zeros" in call.attr("extra", ()):
        zeros = along(call, factor(call, "channel_zeros"), x.type.rank)
        return result(call, call.op("Add", [away(call, near), zeros]))
    return result(call, more(call, cast(b, away(call, near), "int32"), out_zero(call)))


QUANTIZE: dict[str, NodeHandler] = {"QUANTIZE": quantize, "DEQUANTIZE": dequantize}
