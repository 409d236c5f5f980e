"""Python's operators in a call. There, Keras passes TensorFlow tensors, whose operators differ from
those of symbolic tensors: `~`, `&`, `|` and `^` of integers are bitwise, `/` of wide integers
returns float64, `==` is elementwise, and other operands are converted to the tensor's dtype.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import keras
import numpy as np
from keras import ops
from keras.src import backend

from webkiln.frontends.keras.symbolic_variables import WeightTensor
from webkiln.ops.functional.operands import QUOTIENTS

Method = Callable[..., Any]


def _divided(x: Any, y: Any) -> Any:
    if (dtype := QUOTIENTS.get(_dtype(x))) is not None:
        x, y = ops.cast(x, dtype), ops.cast(y, dtype)
    return ops.true_divide(x, y)


def _multiplied(x: Any, y: Any) -> Any:
    return ops.logical_and(x, y) if "bool" in {_dtype(x), _dtype(y)} else ops.multiply(x, y)


def _by_kind(logical: Method, bitwise: Method) -> Method:
    """An operation on bools and one on integers. For other dtypes, TensorFlow raises an error."""
    return lambda *values: (
        bitwise if _dtype(values[0]).removeprefix("u").startswith("int") else logical
    )(*values)


BINARY: Mapping[str, Method] = {
    "add": ops.add,
    "sub": ops.subtract,
    "mul": _multiplied,
    "truediv": _divided,
    "floordiv": ops.floor_divide,
    "mod": ops.mod,
    "pow": ops.power,
    "matmul": ops.matmul,
    "and": _by_kind(ops.logical_and, ops.bitwise_and),
    "or": _by_kind(ops.logical_or, ops.bitwise_or),
    "xor": _by_kind(ops.logical_xor, ops.bitwise_xor),
}
COMPARISONS: Mapping[str, Method] = {
    "lt": ops.less,
    "le": ops.less_equal,
    "gt": ops.greater,
    "ge": ops.greater_equal,
    "eq": ops.equal,
    "ne": ops.not_equal,
}


def _dtype(value: Any) -> str:
    return str(keras.backend.standardize_dtype(value.dtype)) if hasattr(value, "dtype") else ""


def _operand(value: Any, like: Any) -> Any:
    """The other operand of a tensor. Python numbers are unchanged if Keras makes them float32."""
    if isinstance(value, keras.KerasTensor | keras.Variable) or backend.is_tensor(value):
        return value
    dtype = _dtype(like)
    if dtype in {"float32", "bfloat16"} and type(value) in {int, float}:
        return value
    return np.asarray(value).astype("float32" if dtype == "bfloat16" else dtype)


def _binary(compute: Method, before: Method | None, *, swapped: bool = False) -> Method:
    def operator(tensor: Any, other: Any) -> Any:
        if isinstance(tensor, WeightTensor):
            return before(tensor, other) if before is not None else compute(tensor, other)
        return (
            compute(_operand(other, tensor), tensor)
            if swapped
            else compute(tensor, _operand(other, tensor))
        )

    return operator


def _same(compute: Method, otherwise: bool) -> Method:
    """An elementwise comparison with another tensor or array. A tensor is not equal to anything
    else.
    """
    compare = _binary(compute, compute)

    def operator(tensor: Any, other: Any) -> Any:
        numbers = isinstance(
            other, keras.KerasTensor | keras.Variable | np.ndarray | np.generic | int | float
        ) or backend.is_tensor(other)
        return compare(tensor, other) if numbers else otherwise

    return operator


def _inverted(before: Method) -> Method:
    invert = _by_kind(ops.logical_not, ops.bitwise_invert)
    return lambda tensor: before(tensor) if isinstance(tensor, WeightTensor) else invert(tensor)


def _item(before: Method) -> Method:
    def index(key: Any) -> Any:
        if isinstance(key, slice):
            return slice(*map(index, (key.start, key.stop, key.step)))
        return int(key) if isinstance(key, np.integer) else key

    return lambda tensor, key: before(
        tensor, tuple(map(index, key if isinstance(key, tuple | list) else (key,)))
    )


def _operators() -> dict[str, Method]:
    kind = keras.KerasTensor
    found = {
        f"__{name}__": _binary(compute, getattr(kind, f"__{name}__"))
        for name, compute in {**BINARY, **COMPARISONS}.items()
    }
    found |= {
        f"__r{name}__": _binary(compute, getattr(kind, f"__r{name}__"), swapped=True)
        for name, compute in BINARY.items()
    }
    found |= {
        "__eq__": _same(ops.equal, otherwise=False),
        "__ne__": _same(ops.not_equal, otherwise=True),
    }
    return found | {
        "__invert__": _inverted(kind.__invert__),
        "__getitem__": _item(kind.__getitem__),
    }


@contextmanager
def as_in_a_call() -> Iterator[None]:
    """In the block, symbolic tensors have TensorFlow's operators, even if the left operand is a
    numpy array.
    """
    with ExitStack() as stack:
        for name, operator in _operators().items():
            stack.enter_context(patch.object(keras.KerasTensor, name, operator))
        stack.enter_context(patch.object(keras.KerasTensor, "__array_ufunc__", None, create=True))
        yield
