"""Elementwise functions, and the operators of variables."""

from collections.abc import Callable, Mapping
from math import log, pi
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.converter import DOMAIN
from webkiln.frontends.chainer.dtypes import CODES
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node


def unary(op: str, domain: str = "", **attrs: Any) -> Callable[[Any], ChainVariable]:
    return lambda x: node(op, as_variable(x), domain=domain, **attrs)


def own(op: str) -> Callable[[Any], ChainVariable]:
    return unary(op, DOMAIN)


def binary(op: str, domain: str = "") -> Callable[[Any, Any], ChainVariable]:
    def function(x: Any, y: Any) -> ChainVariable:
        a, b = paired(x, y)
        return node(op, a, b, domain=domain)

    return function


def paired(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands. An integer with a float becomes a float of the same dtype; numpy would promote
    to a wider one.
    """
    if not isinstance(x, ChainVariable) and not isinstance(y, ChainVariable):
        return as_variable(x), y
    kinds = [
        item.dtype.kind if isinstance(item, ChainVariable | np.ndarray) else "" for item in (x, y)
    ]
    if kinds[0] == "f" and kinds[1] in ("i", "u", "b"):
        return x, cast(y, x.dtype)
    if kinds[1] == "f" and kinds[0] in ("i", "u", "b"):
        return cast(x, y.dtype), y
    return x, y


def cast(x: Any, typ: Any) -> ChainVariable:
    x, dtype = as_variable(x), str(np.dtype(typ))
    return x if str(x.dtype) == dtype else node("Cast", x, to=code(dtype))


def code(dtype: str) -> int:
    if dtype not in CODES:
        raise SourceError(f"the dtype {dtype} is not supported; expected one of {', '.join(CODES)}")
    return CODES[dtype]


def divide(x: Any, y: Any) -> ChainVariable:
    return node("Div", *paired(x, y))


def power(x: Any, y: Any) -> ChainVariable:
    if isinstance(y, int | float) and y == 2:
        return square(x)
    return node("Pow", *paired(x, y))


def square(x: Any) -> ChainVariable:
    x = as_variable(x)
    return node("Mul", x, x)


def add(*xs: Any) -> ChainVariable:
    total = as_variable(xs[0])
    for x in xs[1:]:
        total = node("Add", total, x)
    return total


def clip(x: Any, x_min: Any, x_max: Any) -> ChainVariable:
    x = as_variable(x)
    if x_min is not None:
        x = node("Max", x, x_min)
    return x if x_max is None else node("Min", x, x_max)


def fix(x: Any) -> ChainVariable:
    """Division, rounded towards zero."""
    x = as_variable(x)
    return node("Mul", node("Sign", x), node("Floor", node("Abs", x)))


def arctan2(x1: Any, x2: Any) -> ChainVariable:
    """The angle, from the quotient, plus pi if the second operand is negative."""
    y, x = as_variable(x1), as_variable(x2)
    at_zero = node("Mul", node("Sign", y), pi / 2)
    negative = node("Less", x, 0.0)
    offset = node("Where", node("Less", y, 0.0), node("Add", node("Mul", y, 0.0), -pi), pi)
    plain = node(
        "Atan",
        node(
            "Div", y, node("Where", node("Equal", x, 0.0), node("Add", node("Mul", x, 0.0), 1.0), x)
        ),
    )
    return node(
        "Where",
        node("Equal", x, 0.0),
        at_zero,
        node("Where", negative, node("Add", plain, offset), plain),
    )


def fmod(x: Any, divisor: Any) -> ChainVariable:
    return node("Mod", *paired(x, divisor), fmod=1)


def log_base(base: float) -> Callable[[Any], ChainVariable]:
    return lambda x: node("Mul", node("Log", as_variable(x)), 1 / log(base))


def ndtr(x: Any) -> ChainVariable:
    """The normal cumulative distribution function."""
    return node("Mul", node("Erfc", node("Mul", as_variable(x), -(0.5**0.5)), domain=DOMAIN), 0.5)


def ndtri(x: Any) -> ChainVariable:
    return node(
        "Mul",
        node("ErfInv", node("Add", node("Mul", as_variable(x), 2.0), -1.0), domain=DOMAIN),
        2**0.5,
    )


def identity(*inputs: Any) -> Any:
    variables = tuple(map(as_variable, inputs))
    return variables[0] if len(variables) == 1 else variables


def linear_interpolate(p: Any, x: Any, y: Any) -> ChainVariable:
    p = as_variable(p)
    return node("Add", node("Mul", p, x), node("Mul", node("Sub", 1.0, p), y))


def squared_difference(x1: Any, x2: Any) -> ChainVariable:
    return square(node("Sub", as_variable(x1), x2))


def absolute_error(x0: Any, x1: Any) -> ChainVariable:
    return node("Abs", node("Sub", as_variable(x0), x1))


def along(x: Any, y: Any, axis: int, op: str) -> ChainVariable:
    """Broadcast an operand along the axes of the first one, starting at `axis`."""
    from webkiln.frontends.chainer.functions.shape import reshape

    x, y = as_variable(x), as_variable(y)
    axis = axis + x.ndim if axis < 0 else axis
    if axis == -1 or x.ndim < axis + y.ndim:
        raise SourceError(f"{list(y.shape)} does not fit at axis {axis} of {list(x.shape)}")
    return node(op, x, reshape(y, (*y.shape, *[1] * (x.ndim - axis - y.ndim))))


def bias(x: Any, y: Any, axis: int = 1) -> ChainVariable:
    return along(x, y, axis, "Add")


def scale(x: Any, y: Any, axis: int = 1) -> ChainVariable:
    return along(x, y, axis, "Mul")


def where(condition: Any, x: Any, y: Any) -> ChainVariable:
    variable = as_variable(condition)
    first, second = paired(x, y)
    like = first if isinstance(first, ChainVariable) else second
    return node(
        "Where",
        cast(variable, np.bool_),
        *(
            item if isinstance(item, ChainVariable) else np.asarray(item, like.dtype)
            for item in (first, second)
        ),
    )


ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "absolute": unary("Abs"),
    "arccos": unary("Acos"),
    "arcsin": unary("Asin"),
    "arctan": unary("Atan"),
    "arctanh": unary("Atanh"),
    "ceil": unary("Ceil"),
    "cos": unary("Cos"),
    "cosh": unary("Cosh"),
    "erf": unary("Erf"),
    "erfc": own("Erfc"),
    "erfinv": own("ErfInv"),
    "exp": unary("Exp"),
    "expm1": own("Expm1"),
    "floor": unary("Floor"),
    "log": unary("Log"),
    "log10": log_base(10),
    "log1p": own("Log1p"),
    "log2": log_base(2),
    "rsqrt": own("Rsqrt"),
    "sign": unary("Sign"),
    "sin": unary("Sin"),
    "sinh": unary("Sinh"),
    "sqrt": unary("Sqrt"),
    "tan": unary("Tan"),
    "square": square,
    "fix": fix,
    "identity": identity,
    "ndtr": ndtr,
    "ndtri": ndtri,
    "add": add,
    "maximum": binary("Max"),
    "minimum": binary("Min"),
    "fmod": fmod,
    "arctan2": arctan2,
    "clip": clip,
    "cast": cast,
    "squared_difference": squared_difference,
    "squared_error": squared_difference,
    "absolute_error": absolute_error,
    "linear_interpolate": linear_interpolate,
    "bias": bias,
    "scale": scale,
    "where": where,
}
