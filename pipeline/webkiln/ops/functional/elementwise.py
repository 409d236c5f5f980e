"""Elementwise functions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.types import is_float, is_integer
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional import activations
from webkiln.ops.functional.operands import (
    Argument,
    Operation,
    as_dtype,
    combined,
    countable,
    floating,
    full,
    literal,
    operands,
    tensor,
)
from webkiln.ops.pieces import cast, filled


def unary(op: str, *, real: bool = False, **attrs: Any) -> Operation:
    """A unary operator; with `real`, integers are cast to float first."""

    def apply(b: GraphBuilder, x: Argument) -> Tensor:
        return b.op(op, [floating(b, x) if real else tensor(b, x)], attrs)

    return apply


def binary(op: str, *, real: bool = False) -> Operation:
    def apply(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
        return combined(b, op, *operands(b, x1, x2, floating=real))

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
    """An activation that preserves integers."""

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
    """Round to decimals; integers to tens and higher."""
    original = tensor(b, x)
    if not is_float(original.dtype) and decimals >= 0:
        return original
    if decimals == 0:
        return b.op("Round", [original])
    scale, wide = 10.0 ** abs(decimals), floating(b, original)
    if decimals < 0:
        return cast(b, b.op("Round", [wide / scale]) * scale, original.dtype)
    return cast(b, b.op("Round", [wide * scale]) / scale, original.dtype)


def change_dtype(b: GraphBuilder, x: Argument, dtype: str | None = None, **_: Any) -> Tensor:
    x = tensor(b, x)
    return x if dtype is None else cast(b, x, dtype)


def identity(b: GraphBuilder, x: Argument = None, variable: Argument = None) -> Tensor:
    return tensor(b, x if variable is None else variable)


def clip(b: GraphBuilder, x: Argument, x_min: Argument, x_max: Argument) -> Tensor:
    """In the dtype of x, with bools as int32. Bounds that are None do not apply."""
    x = countable(b, tensor(b, x))
    if isinstance(x_min, int | float) and isinstance(x_max, int | float) and is_float(x.dtype):
        return b.op("Clip", [x], {"min": float(x_min), "max": float(x_max)})
    x = x if x_min is None else b.op("Max", [x, as_dtype(b, x_min, x.dtype)])
    return x if x_max is None else b.op("Min", [x, as_dtype(b, x_max, x.dtype)])


def where(b: GraphBuilder, condition: Argument, x1: Argument = None, x2: Argument = None) -> Tensor:
    if x1 is None or x2 is None:
        raise ShapeError(
            f"{b.layer}: where needs two values to choose from; use keras.ops.nonzero for the"
            " indices of true elements"
        )
    return b.op("Where", [cast(b, tensor(b, condition), "bool"), *operands(b, x1, x2)])


def select(
    b: GraphBuilder,
    condlist: Sequence[Argument],
    choicelist: Sequence[Argument],
    default: Argument = 0,
) -> Tensor:
    """The choice of the first true condition."""
    y, *choices = operands(b, default, *choicelist)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        y = b.op("Where", [cast(b, tensor(b, condition), "bool"), choice, y])
    return y


def of_tensors(operation: Operation) -> Operation:
    """An operation that converts Python numbers to tensors before promotion, so that they are not
    weak.
    """

    def apply(b: GraphBuilder, *values: Argument, **options: Any) -> Any:
        return operation(
            b,
            *(
                literal(value) if isinstance(value, bool | int | float) else value
                for value in values
            ),
            **options,
        )

    return apply


def remainder(op: str) -> Operation:
    """Bools as int32."""

    def apply(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
        return b.op(op, [countable(b, x) for x in operands(b, x1, x2)])

    return apply


def logarithm(base: float) -> Operation:
    def apply(b: GraphBuilder, x: Argument) -> Tensor:
        return b.op("Log", [floating(b, x)]) / base

    return apply


def exponential_2(b: GraphBuilder, x: Argument) -> Tensor:
    return b.binary("Pow", 2.0, floating(b, x))


def divide_no_nan(b: GraphBuilder, x1: Argument, x2: Argument) -> Tensor:
    x1, x2 = operands(b, x1, x2, floating=True)
    zero = b.binary("Equal", x2, 0.0)
    return b.op("Where", [zero, b.constant(0.0, x1.dtype), b.op("Div", [x1, x2])])


def full_like(value: float) -> Operation:
    """ones_like, zeros_like."""

    def apply(b: GraphBuilder, x: Argument, dtype: str | None = None) -> Tensor:
        x = tensor(b, x)
        return filled(b, value, dtype or x.dtype, x.shape)

    return apply


def fill_like(
    b: GraphBuilder, x: Argument, fill_value: Argument, dtype: str | None = None
) -> Tensor:
    x = tensor(b, x)
    return full(b, fill_value, dtype or x.dtype, x.shape)


def constantly(value: float) -> Operation:
    """A constant predicate, such as isreal of real numbers."""

    def apply(b: GraphBuilder, x: Argument) -> Tensor:
        return filled(b, value, "bool", tensor(b, x).shape)

    return apply


def saturate(b: GraphBuilder, x: Argument, dtype: str) -> Tensor:
    """A cast that saturates."""
    x = tensor(b, x)
    if x.dtype in {dtype, "bool"}:
        return cast(b, x, dtype)
    limits = (0, 1) if dtype == "bool" else (np.finfo if is_float(dtype) else np.iinfo)(dtype)
    low, high = limits if isinstance(limits, tuple) else (limits.min, limits.max)
    own = (np.finfo if is_float(x.dtype) else np.iinfo)(x.dtype)
    if low > own.min:
        x = b.binary("Max", x, _within(low, x.dtype))
    if high < own.max:
        x = b.binary("Min", x, _within(high, x.dtype))
    return cast(b, x, dtype)


def _within(limit: Any, dtype: str) -> Any:
    """A limit in another dtype, rounded inwards."""
    if not is_float(dtype):
        return int(limit)
    value = np.array(limit).astype(dtype)
    return float(
        np.nextafter(value, np.array(0, dtype)) if abs(float(value)) > abs(float(limit)) else value
    )


def rounded_power(b: GraphBuilder, x: Tensor, exponent: Tensor) -> Tensor:
    """x ** exponent in the dtype of x. For integers, the integer nearest to the power in
    float64.
    """
    if is_integer(x.dtype):
        wide = [cast(b, item, "float64") for item in (x, exponent)]
        return cast(b, b.op("Round", [b.op("Pow", wide)]), x.dtype)
    return b.op("Pow", [x, cast(b, exponent, x.dtype)])
