"""Elementwise raw operators.

https://www.tensorflow.org/api_docs/python/tf/raw_ops

All operands of an operator have the same dtype; there is no promotion. Broadcasting is numpy's.
"""

from collections.abc import Callable, Mapping

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, known
from webkiln.ir.types import DTYPES, is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional import activations, integers
from webkiln.ops.functional.elementary import arctan2
from webkiln.ops.functional.elementwise import divide_no_nan, rectifier
from webkiln.ops.functional.inverse_trigonometry import FUNCTIONS
from webkiln.ops.pieces import cast, filled


def unary(op: str) -> NodeHandler:
    return lambda call: call.op(op, [call.tensor(0)])


def composed(function: Callable[..., Tensor]) -> NodeHandler:
    return lambda call: function(call.builder, *call.tensors())


def binary(op: str) -> NodeHandler:
    return lambda call: call.builder.binary(op, call.tensor(0), call.tensor(1))


def divide(call: NodeCall) -> Tensor:
    """Integer division rounds towards zero."""
    x, y = call.tensors()
    if is_float(x.dtype):
        return call.builder.binary("Div", x, y)
    return truncated_quotient(call.builder, x, y)


def truncated_quotient(b: GraphBuilder, x: Tensor, y: Tensor) -> Tensor:
    """The quotient of integers, rounded towards zero."""
    return b.binary("FloorDiv", x - b.binary("Rem", x, y), y)


def multiply_no_nan(call: NodeCall) -> Tensor:
    """0 if the second factor is 0, whatever the first is."""
    x, y = call.tensors()
    nothing = call.builder.binary("Equal", y, call.like(0, y))
    product = x * y
    return call.op("Where", [nothing, call.like(0, product), product])


def times_log(function: str) -> NodeHandler:
    """x log(y), x log1p(y): 0 if x is 0."""

    def handler(call: NodeCall) -> Tensor:
        x, y = call.tensors()
        nothing = call.builder.binary("Equal", x, call.like(0, x))
        product = x * call.op(function, [y])
        return call.op("Where", [nothing, call.like(0, product), product])

    return handler


def x_over_y(call: NodeCall) -> Tensor:
    """x / y: 0 if x is 0."""
    x, y = call.tensors()
    quotient = x / y
    return call.op(
        "Where",
        [call.builder.binary("Equal", x, call.like(0, x)), call.like(0, quotient), quotient],
    )


def finite(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return call.op("Not", [call.builder.binary("Or", call.op("IsInf", [x]), call.op("IsNaN", [x]))])


def leaky_relu(call: NodeCall) -> Tensor:
    return call.op("LeakyRelu", [call.tensor(0)], {"alpha": call.attr("alpha", 0.2)})


def clip(call: NodeCall) -> Tensor:
    x, low, high = call.tensors()
    return call.builder.binary("Max", call.builder.binary("Min", x, high), low)


def convert(call: NodeCall) -> Tensor:
    """Floats are truncated towards zero. Values out of range saturate."""
    dtype = call.attr("DstT")
    if dtype not in DTYPES:
        raise call.unsupported(f"casts to {dtype}", f"Supported are {', '.join(DTYPES)}")
    if call.flag("Truncate") and dtype == "float16":
        raise call.unsupported("truncates floats to float16", "Cast without Truncate, which rounds")
    return cast(call.builder, call.tensor(0), dtype)


def select(call: NodeCall) -> Tensor:
    """`Select`: a condition of rank 1 selects rows; `SelectV2` broadcasts."""
    condition, x, y = call.tensors()
    if call.spec.op == "Select" and condition.type.rank == 1 and x.type.rank > 1:
        condition = call.op(
            "Reshape", [condition], {"shape": (*condition.shape, *(1,) * (x.type.rank - 1))}
        )
    return call.op("Where", [condition, x, y])


def power(call: NodeCall) -> Tensor:
    """Integers are raised to a constant power by squaring."""
    x, exponent = call.operand(0), call.operand(1)
    if exponent.is_constant and exponent.type.size == 1 and exponent.type.rank <= x.type.rank:
        number = call.numbers(1).reshape(()).item()
        if isinstance(number, int) and number >= 0:
            return integers.power(call.builder, call.tensor(0), number)
    return integers.power(call.builder, *call.tensors())


def bias_add(call: NodeCall) -> Tensor:
    x, bias = call.tensors()
    if call.attr("data_format", "NHWC").startswith("NC"):
        bias = call.op("Reshape", [bias], {"shape": (*bias.shape, *(1,) * (x.type.rank - 2))})
    return call.builder.binary("Add", x, bias)


def add_n(call: NodeCall) -> Tensor:
    first, *others = call.tensors()
    for other in others:
        first = call.builder.binary("Add", first, other)
    return first


def full_like(value: float) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x = call.type(0)
        return filled(call.builder, value, x.dtype, x.shape)

    return handler


def truncated(call: NodeCall) -> Tensor:
    """Truncate towards zero."""
    x = call.tensor(0)
    return call.op(
        "Where",
        [
            call.builder.binary("Less", x, call.like(0, x)),
            call.op("Ceil", [x]),
            call.op("Floor", [x]),
        ],
    )


def squared_difference(call: NodeCall) -> Tensor:
    x, y = call.tensors()
    return call.op("Square", [call.builder.binary("Sub", x, y)])


def approximately_equal(call: NodeCall) -> Tensor:
    x, y = call.tensors()
    distance = call.op("Abs", [x - y])
    return call.builder.binary("Less", distance, call.like(call.attr("tolerance", 1e-5), distance))


def look_up(call: NodeCall) -> Tensor:
    """Look up values in a numeric table with sorted keys; missing keys have the default."""
    keys, values = call.attr_array("keys"), call.attr_array("values")
    if keys is None or values is None:
        raise call.unsupported(
            "reads a table whose contents are not in the file",
            "Build the table into the model",
        )
    order = np.argsort(keys, kind="stable")
    x, default = call.tensors()
    matches = call.builder.binary(
        "Equal", call.op("Reshape", [x], {"shape": (*x.shape, 1)}), call.constant(keys[order])
    )
    index = call.op("ArgMax", [cast(call.builder, matches, "int32")], {"axis": x.type.rank})
    value = call.op("Gather", [call.constant(values[order]), index], {"axis": 0})
    has_match = cast(
        call.builder,
        call.op(
            "ReduceMax",
            [cast(call.builder, matches, "int32")],
            {"axes": (x.type.rank,), "keepdims": False},
        ),
        "bool",
    )
    return call.op("Where", [has_match, value, default])


def table_size(call: NodeCall) -> GraphValue:
    keys = call.attr_array("keys")
    if keys is None:
        raise call.unsupported(
            "reads a table whose contents are not in the file", "Build the table into the model"
        )
    return known(np.array(keys.size), "int64")


_UNARY = {
    "Abs": "Abs",
    "Neg": "Neg",
    "Sign": "Sign",
    "Square": "Square",
    "Sqrt": "Sqrt",
    "Rsqrt": "Rsqrt",
    "Exp": "Exp",
    "Expm1": "Expm1",
    "Log": "Log",
    "Log1p": "Log1p",
    "Sin": "Sin",
    "Cos": "Cos",
    "Tanh": "Tanh",
    "Sigmoid": "Sigmoid",
    "Erf": "Erf",
    "Erfc": "Erfc",
    "Erfinv": "ErfInv",
    "Floor": "Floor",
    "Ceil": "Ceil",
    "Rint": "Round",
    "Reciprocal": "Reciprocal",
    "Inv": "Reciprocal",
    "Softplus": "Softplus",
    "Softsign": "Softsign",
    "Selu": "Selu",
    "Atan": "Atan",
    "LogicalNot": "Not",
    "IsNan": "IsNaN",
    "IsInf": "IsInf",
    "Invert": "BitNot",
    "Elu": "Elu",
}
_BINARY = {
    "Add": "Add",
    "AddV2": "Add",
    "Sub": "Sub",
    "Mul": "Mul",
    "RealDiv": "Div",
    "FloorDiv": "FloorDiv",
    "FloorMod": "Mod",
    "Mod": "Rem",
    "TruncateMod": "Rem",
    "Maximum": "Max",
    "Minimum": "Min",
    "Equal": "Equal",
    "NotEqual": "NotEqual",
    "Less": "Less",
    "LessEqual": "LessEqual",
    "Greater": "Greater",
    "GreaterEqual": "GreaterEqual",
    "LogicalAnd": "And",
    "LogicalOr": "Or",
    "BitwiseAnd": "BitAnd",
    "BitwiseOr": "BitOr",
    "BitwiseXor": "BitXor",
    "LeftShift": "ShiftLeft",
    "RightShift": "ShiftRight",
}

ELEMENTWISE: Mapping[str, NodeHandler] = {
    **{name: unary(op) for name, op in _UNARY.items()},
    **{name: binary(op) for name, op in _BINARY.items()},
    **{name: composed(function) for name, function in FUNCTIONS.items()},
    "Relu": composed(rectifier(activations.relu)),
    "Relu6": lambda call: (
        call.op("Relu6", [call.tensor(0)])
        if is_float(call.type(0).dtype)
        else call.op("Clip", [call.tensor(0)], {"min": 0, "max": 6})
    ),
    "LeakyRelu": leaky_relu,
    "ClipByValue": clip,
    "Cast": convert,
    "Select": select,
    "SelectV2": select,
    "BiasAdd": bias_add,
    "BiasAddV1": bias_add,
    "AddN": add_n,
    "AccumulateNV2": add_n,
    "ZerosLike": full_like(0),
    "OnesLike": full_like(1),
    "Div": divide,
    "TruncateDiv": divide,
    "DivNoNan": composed(divide_no_nan),
    "MulNoNan": multiply_no_nan,
    "Xdivy": x_over_y,
    "Xlogy": times_log("Log"),
    "Xlog1py": times_log("Log1p"),
    "IsFinite": finite,
    "Pow": power,
    "Atan2": composed(arctan2),
    "SquaredDifference": squared_difference,
    "ApproximateEqual": approximately_equal,
    "Round": lambda call: (
        call.op("Round", [call.tensor(0)]) if is_float(call.type(0).dtype) else call.tensor(0)
    ),
    "Trunc": truncated,
    "LookupTableFindV2": look_up,
    "LookupTableFind": look_up,
    "LookupTableSizeV2": table_size,
    "LookupTableSize": table_size,
}
