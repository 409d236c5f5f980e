"""numpy functions of `.array`, and the operators of variables."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.frontends.chainer.converter import DOMAIN
from webkiln.frontends.chainer.functions.activation import tanh
from webkiln.frontends.chainer.functions.elementwise import (
    ELEMENTWISE,
    binary,
    cast,
    clip,
    divide,
    power,
    where,
)
from webkiln.frontends.chainer.functions.indexing import INDEXING, get_item
from webkiln.frontends.chainer.functions.reduce import REDUCE, matmul
from webkiln.frontends.chainer.functions.shape import SHAPE, concat, reshape, transpose
from webkiln.frontends.chainer.sizes import is_open
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node

add, subtract, multiply = binary("Add"), binary("Sub"), binary("Mul")
floor_divide = binary("FloorDiv", DOMAIN)
COMPARED = {
    "less": "Less",
    "less_equal": "LessOrEqual",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "equal": "Equal",
}


def negative(x: Any) -> ChainVariable:
    return node("Neg", as_variable(x))


def not_equal(x: Any, y: Any) -> ChainVariable:
    return node("Not", binary("Equal")(x, y))


def joined(op: str) -> Callable[[Any, Any], ChainVariable]:
    return lambda x, y: node(op, cast(x, np.bool_), cast(y, np.bool_))


UFUNCS: Mapping[str, Callable[..., Any]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "true_divide": divide,
    "power": power,
    "negative": negative,
    "floor_divide": floor_divide,
    "matmul": matmul,
    "maximum": ELEMENTWISE["maximum"],
    "minimum": ELEMENTWISE["minimum"],
    "tanh": tanh,
    "not_equal": not_equal,
    "logical_and": joined("And"),
    "logical_or": joined("Or"),
    "logical_not": lambda x: node("Not", cast(x, np.bool_)),
    **{
        name: ELEMENTWISE[name]
        for name in (
            "arccos",
            "arcsin",
            "arctan",
            "arctanh",
            "arctan2",
            "ceil",
            "cos",
            "cosh",
            "exp",
            "expm1",
            "floor",
            "fmod",
            "log",
            "log10",
            "log1p",
            "log2",
            "sign",
            "sin",
            "sinh",
            "sqrt",
            "square",
            "tan",
            "absolute",
        )
    },
    **{name: binary(op) for name, op in COMPARED.items()},
}


def filled(value: float) -> Callable[..., ChainVariable]:
    def function(x: Any, dtype: Any = None, **options: Any) -> ChainVariable:
        x = as_variable(x)
        return node("Expand", np.asarray(value, dtype or x.dtype), node("Shape", x))

    return function


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "concatenate": lambda xs, axis=0: concat(xs, axis),
    "where": where,
    "clip": clip,
    "zeros_like": filled(0),
    "ones_like": filled(1),
    **{
        name: SHAPE[name]
        for name in (
            "reshape",
            "transpose",
            "swapaxes",
            "moveaxis",
            "rollaxis",
            "expand_dims",
            "squeeze",
            "broadcast_to",
            "stack",
            "vstack",
            "hstack",
            "dstack",
            "tile",
            "repeat",
        )
    },
    **{name: INDEXING[name] for name in ("flip", "fliplr", "flipud")},
    **{
        name: REDUCE[name]
        for name in (
            "sum",
            "mean",
            "prod",
            "argmax",
            "argmin",
            "cumsum",
            "cumprod",
            "tensordot",
            "einsum",
        )
    },
    "max": REDUCE["max"],
    "min": REDUCE["min"],
    "amax": REDUCE["max"],
    "amin": REDUCE["min"],
    "dot": matmul,
    "split": lambda x, parts, axis=0: SHAPE["split_axis"](x, parts, axis),
    "ravel": SHAPE["flatten"],
}


def swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: function(y, x)


def _reshape(x: ChainVariable, *shape: Any) -> ChainVariable:
    return reshape(x, shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape)


def _transpose(x: ChainVariable, *axes: Any) -> ChainVariable:
    perm = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    return transpose(x, perm)


def _equal(x: ChainVariable, y: Any) -> Any:
    return (
        False
        if y is None
        or isinstance(y, str)
        or (
            not isinstance(y, ChainVariable | np.ndarray | float | int | bool | np.generic)
            and not is_open(y)
        )
        else binary("Equal")(x, y)
    )


METHODS: Mapping[str, Any] = {
    "__add__": add,
    "__radd__": swapped(add),
    "__sub__": subtract,
    "__rsub__": swapped(subtract),
    "__mul__": multiply,
    "__rmul__": swapped(multiply),
    "__truediv__": divide,
    "__rtruediv__": swapped(divide),
    "__floordiv__": floor_divide,
    "__rfloordiv__": swapped(floor_divide),
    "__pow__": power,
    "__rpow__": swapped(power),
    "__matmul__": matmul,
    "__rmatmul__": swapped(matmul),
    "__neg__": negative,
    "__abs__": ELEMENTWISE["absolute"],
    "__getitem__": get_item,
    "__lt__": binary("Less"),
    "__le__": binary("LessOrEqual"),
    "__gt__": binary("Greater"),
    "__ge__": binary("GreaterOrEqual"),
    "__eq__": _equal,
    "__ne__": lambda x, y: True if (same := _equal(x, y)) is False else node("Not", same),
    "__and__": joined("And"),
    "__or__": joined("Or"),
    "__invert__": lambda x: node("Not", cast(x, np.bool_)),
    "reshape": _reshape,
    "transpose": _transpose,
    "T": property(transpose),
    "astype": lambda x, dtype, copy=True: cast(x, dtype),
    "ravel": SHAPE["flatten"],
    "flatten": SHAPE["flatten"],
    "squeeze": SHAPE["squeeze"],
    "swapaxes": SHAPE["swapaxes"],
    "repeat": SHAPE["repeat"],
    "copy": lambda x: x,
    "clip": clip,
    "dot": matmul,
    "mean": REDUCE["mean"],
    **{
        name: REDUCE[name]
        for name in ("sum", "max", "min", "prod", "argmax", "argmin", "cumsum", "cumprod")
    },
}


def install() -> None:
    """Attach operators and methods to variables."""
    ChainVariable.ufuncs, ChainVariable.functions = UFUNCS, FUNCTIONS
    for name, method in METHODS.items():
        setattr(ChainVariable, name, method)
