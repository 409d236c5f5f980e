"""Elementwise operators with broadcasting."""

from collections.abc import Callable, Sequence
from functools import reduce
from math import inf
from typing import Any

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import Size
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional import activations
from webkiln.ops.functional.elementwise import rounded_power
from webkiln.ops.functional.inverse_trigonometry import FUNCTIONS


def direct(op: str, **attrs: Any) -> NodeHandler:
    """An operator that the IR has, possibly under another name."""
    return lambda call: call.op(op, call.tensors(), attrs)


def unary(op: str, **defaults: float) -> NodeHandler:
    """An operator of one operand, with attributes that have these defaults."""
    return lambda call: call.op(
        op, [call.tensor(0)], {name: call.attr(name, value) for name, value in defaults.items()}
    )


def binary_operands(call: NodeCall) -> list[Tensor]:
    """Two operands. Before opset 7, the attribute `axis` aligns the second one with an axis of the
    first.
    """
    a, b = call.tensor(0), call.tensor(1)
    if (
        call.version < 7
        and call.attr("broadcast", 0)
        and b.type.rank < a.type.rank
        and call.attr("axis") is not None
    ):
        axis = call.axis(call.attr("axis"), a.type.rank)
        b = call.op(
            "Reshape", [b], {"shape": (*b.shape, *[1] * (a.type.rank - axis - b.type.rank))}
        )
    return [a, b]


def binary(op: str) -> NodeHandler:
    return lambda call: call.op(op, binary_operands(call))


def modulo(call: NodeCall) -> Tensor:
    return call.op("Rem" if call.attr("fmod", 0) else "Mod", call.tensors())


def variadic(op: str) -> Callable[[NodeCall], Tensor]:
    return lambda call: reduce(lambda a, b: call.op(op, [a, b]), call.tensors())


def mean(call: NodeCall) -> Tensor:
    total: Tensor = variadic("Add")(call)
    return total * (1 / len(call))


def power(call: NodeCall) -> Tensor:
    """The exponent may have another dtype. For integers, the result is the integer nearest to the
    power.
    """
    return rounded_power(call.builder, *binary_operands(call))


def cast(call: NodeCall, x: Tensor, dtype: str) -> Tensor:
    return x if x.dtype == dtype else call.op("Cast", [x], {"dtype": dtype})


DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
}  # fmt: skip
NAMES = {name.upper(): name for name in DTYPES.values()} | {"FLOAT": "float32", "DOUBLE": "float64"}


def dtype_of(call: NodeCall, name: str, default: str) -> str:
    """The dtype in an attribute, by number or, in old opsets, by name."""
    code = call.attr(name)
    if code is None or code == 0:
        return default
    dtype = NAMES.get(code) if isinstance(code, str) else DTYPES.get(code)
    if dtype is None:
        raise call.unsupported(
            f"returns elements of type {code}", f"Supported are {', '.join(DTYPES.values())}"
        )
    return dtype


def to_dtype(call: NodeCall) -> Tensor:
    return cast(call, call.tensor(0), dtype_of(call, "to", "float32"))


def bit_cast(call: NodeCall) -> Tensor:
    return call.op("BitCast", [call.tensor(0)], {"dtype": dtype_of(call, "to", "float32")})


def cast_like(call: NodeCall) -> Tensor:
    return cast(call, call.tensor(0), call.type(1).dtype)


def clip(call: NodeCall) -> Tensor:
    """Bounds are attributes, constants, or tensors."""
    x = call.tensor(0)
    low, high = (call.attr("min"), call.attr("max")) if call.version < 11 else (None, None)
    if low is not None or high is not None or call.version < 11:
        return call.op(
            "Clip", [x], {"min": -inf if low is None else low, "max": inf if high is None else high}
        )
    if call.has(1):
        x = call.op("Max", [x, call.tensor(1)])
    return call.op("Min", [x, call.tensor(2)]) if call.has(2) else x


def hard_sigmoid(call: NodeCall) -> Tensor:
    return activations.hard_sigmoid(
        call.builder, call.tensor(0), call.attr("alpha", 0.2), call.attr("beta", 0.5)
    )


def selu(call: NodeCall) -> Tensor:
    alpha, gamma = call.attr("alpha", 1.6732631921768188), call.attr("gamma", 1.0507010221481323)
    return activations.scaled_elu(call.builder, call.tensor(0), alpha, float(gamma))


def celu(call: NodeCall) -> Tensor:
    return activations.celu(call.builder, call.tensor(0), call.attr("alpha", 1.0))


def thresholded_relu(call: NodeCall) -> Tensor:
    return activations.threshold(call.builder, call.tensor(0), call.attr("alpha", 1.0), 0)


def shrink(call: NodeCall) -> Tensor:
    """Shrink towards 0 by the bias; 0 in [-lambd, lambd]."""
    x, bias, bound = call.tensor(0), call.attr("bias", 0.0), call.attr("lambd", 0.5)
    wide = cast(call, x, "float32") if not is_float(x.dtype) else x
    low = call.op("Less", [wide, call.like(-bound, wide)])
    high = call.op("Greater", [wide, call.like(bound, wide)])
    shrunk = call.op("Where", [high, wide - bias, call.like(0, wide)])
    return cast(call, call.op("Where", [low, wide + bias, shrunk]), x.dtype)


def prelu(call: NodeCall) -> Tensor:
    x, slope = call.tensor(0), call.tensor(1)
    if call.version < 7 and slope.type.rank == 1 and slope.shape[0] != 1:
        slope = call.op("Reshape", [slope], {"shape": (*slope.shape, *[1] * (x.type.rank - 2))})
    y = activations.prelu(call.builder, x, slope)
    if y.shape != x.shape:
        raise call.error(f"its slope is {slope.type}, which does not broadcast to x, {x.type}")
    return y


def swish(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return x * call.op("Sigmoid", [x * call.attr("alpha", 1.0)])


def gelu(call: NodeCall) -> Tensor:
    return call.op(
        "Gelu", [call.tensor(0)], {"approximate": call.attr("approximate", "none") == "tanh"}
    )


def swiglu(call: NodeCall) -> Tensor:
    """x sigmoid(alpha x) gate, where x and the gate are the halves of the last axis, or two
    operands.
    """
    x, gate = (
        (call.tensor(0), call.tensor(1)) if call.has(1) else split_in_two(call, call.tensor(0))
    )
    return x * call.op("Sigmoid", [x * call.attr("alpha", 1.0)]) * gate


def split_in_two(call: NodeCall, x: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the second half of the last axis."""
    axis = x.type.rank - 1
    count = x.shape[axis] // 2
    first, second = (part(call, x, axis, start, count) for start in (0, count))
    return first, second


def part(call: NodeCall, x: Tensor, axis: int, start: Size, count: Size) -> Tensor:
    """`count` elements of one axis, starting at `start`."""
    starts = tuple(start if d == axis else 0 for d in range(x.type.rank))
    sizes = tuple(count if d == axis else size for d, size in enumerate(x.shape))
    return call.op("Slice", [x], {"starts": starts, "sizes": sizes, "steps": (1,) * x.type.rank})


def is_inf(call: NodeCall) -> Tensor:
    signs = {
        "positive": bool(call.attr("detect_positive", 1)),
        "negative": bool(call.attr("detect_negative", 1)),
    }
    return call.op("IsInf", [call.tensor(0)], signs)


def bit_shift(call: NodeCall) -> Tensor:
    return call.op(
        "ShiftLeft" if call.attr("direction") == "LEFT" else "ShiftRight", call.tensors()
    )


def xor(call: NodeCall) -> Tensor:
    return call.op("NotEqual", binary_operands(call))


def comparison(op: str, *, negated: bool = False) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        result = call.op(op, binary_operands(call))
        return call.op("Not", [result]) if negated else result

    return handler


def dropout(call: NodeCall) -> Sequence[Tensor]:
    """The identity, with a mask of ones."""
    x = call.tensor(0)
    mask = (
        call.op("Broadcast", [call.constant(1, "bool")], {"shape": x.shape})
        if call.is_output_used(1)
        else None
    )
    if mask is not None and call.version < 10:
        mask = cast(call, mask, x.dtype)
    return [x] if mask is None else [x, mask]


def composed(function: Callable[[GraphBuilder, Tensor], Tensor]) -> NodeHandler:
    """A function of one float operand, composed of other operators."""
    return lambda call: function(call.builder, call.tensor(0))


DIRECT = (
    "Abs",
    "Atan",
    "Ceil",
    "Cos",
    "Erf",
    "Exp",
    "Floor",
    "Identity",
    "Log",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tanh",
    "Where",
    "IsNaN",
)

ELEMENTWISE: dict[str, NodeHandler] = {
    **{op: direct(op) for op in DIRECT},
    **{op: composed(function) for op, function in FUNCTIONS.items()},
    **{op: binary(op) for op in ("Add", "Sub", "Mul", "Div", "And", "Or", "Equal")},
    "Less": comparison("Less"),
    "Greater": comparison("Greater"),
    "LessOrEqual": comparison("LessEqual"),
    "GreaterOrEqual": comparison("GreaterEqual"),
    "Xor": xor,
    "Mod": modulo,
    "Pow": power,
    "Max": variadic("Max"),
    "Min": variadic("Min"),
    "Sum": variadic("Add"),
    "Mean": mean,
    "Cast": to_dtype,
    "CastLike": cast_like,
    "BitCast": bit_cast,
    "Clip": clip,
    "IsInf": is_inf,
    "BitShift": bit_shift,
    "BitwiseAnd": direct("BitAnd"),
    "BitwiseOr": direct("BitOr"),
    "BitwiseXor": direct("BitXor"),
    "BitwiseNot": direct("BitNot"),
    "Elu": unary("Elu", alpha=1.0),
    "LeakyRelu": unary("LeakyRelu", alpha=0.01),
    "Selu": selu,
    "Celu": celu,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": composed(activations.hard_swish),
    "Mish": composed(activations.mish),
    "Swish": swish,
    "SwiGLU": swiglu,
    "PRelu": prelu,
    "Shrink": shrink,
    "ThresholdedRelu": thresholded_relu,
}
