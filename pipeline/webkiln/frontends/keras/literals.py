"""Values that a call takes beside tensors of the graph, as a spec states them."""

from typing import Any

import keras
import numpy as np
from keras.src import backend

from webkiln.frontends.core.arrays import Literal


class Refused(Exception):
    """Something in a call that cannot be part of a graph."""


def literal(value: Any, *, made: bool = False) -> Any:
    """A value of Python or numpy as a spec states it; numbers of numpy keep their dtype.

    A concrete tensor of floats that was not `made` in the call of constants alone may be trained,
    and is refused.
    """
    if value is None or isinstance(value, bool | int | float | str | slice) or value is Ellipsis:
        return value
    if isinstance(value, np.generic):
        return Literal(str(value.dtype), (), (value.item(),))
    concrete = backend.is_tensor(value)
    if not concrete and not isinstance(value, np.ndarray):
        raise Refused(f"an operation takes a {type(value).__name__}")
    array = keras.ops.convert_to_numpy(value)
    if array.dtype.name == "bfloat16":
        array = array.astype("float32")
    if concrete and not made and array.dtype.kind == "f":
        raise Refused(
            f"a concrete tensor of shape {list(array.shape)} is neither a weight nor a literal;"
            " make it a weight with add_weight, or write it as a numpy array"
        )
    return Literal(str(array.dtype), array.shape, tuple(array.ravel().tolist()))


def number(value: Any) -> Any:
    """A number that a function gives, as the tensor that Keras makes of it."""
    return (
        np.array(value, {bool: "bool", int: "int32", float: "float32"}[type(value)])
        if isinstance(value, bool | int | float)
        else value
    )
