"""Elementwise keras.ops operations."""

from collections.abc import Callable
from typing import Any

from webkiln.frontends.keras.layers import activations
from webkiln.frontends.keras.operations.arguments import Argument, cast, countable, floating, operands, tensor
from webkiln.ir.types import is_float, is_integer
from webkiln.ops.builder import GraphBuilder, Tensor

Operation = Callable[..., Any]


def unary(op: str, *, real: bool = False, **attrs: Any) -> Operation:
    """One operator of one operand; `real` makes integers float first."""

    def apply(b: GraphBuilder, x: Argument) -> Tensor:
        return b.op(op, [floating(b, x) if real else tensor(b, x)], attrs)

    return apply


def binary(op: str, *, real: bool = False) -> Operation:
    def apply(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
        return b.op(op, operands(b, x1, x2, floating=real))

    return apply


def logical(op: str) -> Operation:
    def apply(b: GraphBuilder, *xs: Argument, **named: Argument) -> Tensor:
        return b.op(op, [cast(b, tensor(b, x), "bool") for x in (*xs, *named.values())])

    return apply


def logical_xor(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    return b.op("NotEqual", [cast(b, tensor(b, x), "bool") for x in (x1, x2)])


def activation(function: Callable[..., Tensor]) -> Operation:
    def apply(b: GraphBuilder, x: Argument, **options: Any) -> Tensor:
        return function(b, floating(b, x), **options)

    return apply


def rectifier(function: Callable[..., Tensor]) -> Operation:
    """An activation that leaves integers integers."""

    def apply(b: GraphBuilder, x: Argument, **options: Any) -> Tensor:
        x = tensor(b, x)
        return function(b, x if is_integer(x.dtype) else floating(b, x), **options)

    return apply


def absolute(b: GraphBuilder, x: Argument) -> Tensor:
    x = tensor(b, x)
    return x if x.dtype == "bool" else b.op("Abs", [x])


def square(b: GraphBuilder, x: Argument) -> Tensor:
    return b.op("Square", [countable(b, tensor(b, x))])


def gelu(b: GraphBuilder, x: Argument, approximate: bool = True) -> Tensor:
    return activations.gelu(b, floating(b, x), approximate)


def squareplus(b: GraphBuilder, /, x: Argument, **options: float) -> Tensor:
    return activations.squareplus(b, floating(b, x), options.get("b", 4))


def round_(b: GraphBuilder, x: Argument, decimals: int = 0) -> Tensor:
    given = tensor(b, x)
    if not is_float(given.dtype) and decimals >= 0:
        return given
    if decimals == 0:
        return b.op("Round", [given])
    return b.op("Round", [given * 10.0**decimals]) / 10.0**decimals


def change_dtype(b: GraphBuilder, x: Argument, dtype: str | None = None, **_: Any) -> Tensor:
    x = tensor(b, x)
    return x if dtype is None else cast(b, x, dtype)


def identity(b: GraphBuilder, x: Argument = None, variable: Argument = None) -> Tensor:
    return tensor(b, x if variable is None else variable)


def clip(b: GraphBuilder, x: Argument, x_min: Argument, x_max: Argument) -> Tensor:
    if isinstance(x_min, int | float) and isinstance(x_max, int | float) and is_float(tensor(b, x).dtype):
        return b.op("Clip", [tensor(b, x)], {"min": float(x_min), "max": float(x_max)})
    x, low = operands(b, x, x_min)
    x, high = operands(b, b.op("Max", [x, low]), x_max)
    return b.op("Min", [x, high])


def where(b: GraphBuilder, condition: Argument, x1: Argument, x2: Argument) -> Tensor:
    return b.op("Where", [cast(b, tensor(b, condition), "bool"), *operands(b, x1, x2)])


def floor_mod(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    return b.op("Mod", operands(b, x1, x2))


def logarithm(base: float) -> Operation:
    def apply(b: GraphBuilder, x: Argument) -> Tensor:
        return b.op("Log", [floating(b, x)]) / base

    return apply


def exponential_2(b: GraphBuilder, x: Argument) -> Tensor:
    return b.binary("Pow", 2.0, floating(b, x))


def cosh(b: GraphBuilder, x: Argument) -> Tensor:
    x = floating(b, x)
    return (b.op("Exp", [x]) + b.op("Exp", [-x])) * 0.5


def divide_no_nan(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    x1, x2 = operands(b, x1, x2, floating=True)
    zero = b.binary("Equal", x2, 0.0)
    return b.op("Where", [zero, b.constant(0.0, x1.dtype), b.op("Div", [x1, x2])])


def full_like(value: float) -> Operation:
    """ones_like, zeros_like."""

    def apply(b: GraphBuilder, x: Argument, dtype: str | None = None) -> Tensor:
        x = tensor(b, x)
        return b.op("Broadcast", [b.constant(value, dtype or x.dtype)], {"shape": x.shape})

    return apply


def fill_like(b: GraphBuilder, x: Argument, fill_value: Argument, dtype: str | None = None) -> Tensor:
    x = tensor(b, x)
    value = cast(b, tensor(b, fill_value, None if isinstance(fill_value, Tensor) else dtype or x.dtype), dtype or x.dtype)
    return b.op("Broadcast", [value], {"shape": x.shape})
