"""Arguments of calls that are not tensors of the graph, in the form of specs."""

from typing import Any

import keras
import numpy as np
from keras.src import backend

from webkiln.frontends.core.arrays import Literal


class Refused(Exception):
    """An argument of a call that cannot be part of a graph."""


def literal(value: Any, *, made: bool = False) -> Any:
    """A value of Python or numpy in the form of specs. numpy numbers keep their dtype.

    A concrete floating-point tensor may be trained, so it is rejected, unless the call created it
    (`made`) from constants.
    """
    if value is None or isinstance(value, bool | int | float | str | slice) or value is Ellipsis:
        return value
    if isinstance(value, np.generic):
        return Literal(str(value.dtype), (), (value.item(),))
    concrete = backend.is_tensor(value)
    if not concrete and not isinstance(value, np.ndarray):
        raise Refused(f"an argument of an operation is a {type(value).__name__}")
    array = keras.ops.convert_to_numpy(value)
    if array.dtype.name == "bfloat16":
        array = array.astype("float32")
    if concrete and not made and array.dtype.kind == "f":
        raise Refused(
            f"a concrete tensor of shape {list(array.shape)} is neither a weight nor a literal;"
            " create a weight with add_weight, or write it as a numpy array"
        )
    return Literal(str(array.dtype), array.shape, tuple(array.ravel().tolist()))


def number(value: Any) -> Any:
    """A number that a function returns, as the tensor that Keras converts it to."""
    return (
        np.array(value, {bool: "bool", int: "int32", float: "float32"}[type(value)])
        if isinstance(value, bool | int | float)
        else value
    )
