"""Symbolic replacements for a layer's variables while its `call` is traced."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import keras

from webkiln.frontends.keras.literals import Refused

BOOKKEEPING = frozenset(
    {
        "_trainable_variables",
        "_non_trainable_variables",
        "_tracker",
        "_layers",
        "_metrics",
        "_inbound_nodes",
        "_outbound_nodes",
    }
)


class WeightTensor(keras.KerasTensor):  # type: ignore[misc]
    """Replaces a variable of the layer during its call. Assignments become the next value of the
    state.
    """

    def __init__(self, assigned: Callable[["WeightTensor", Any], None], variable: Any) -> None:
        super().__init__(variable.shape, variable.dtype, name=variable.name)
        self.assigned = assigned
        self.variable = variable
        self.path = variable.path
        self.trainable = variable.trainable

    @property
    def value(self) -> "WeightTensor":
        return self

    def numpy(self) -> Any:
        raise Refused(f"weight {self.name!r} is read as numpy")

    def assign(self, value: Any) -> "WeightTensor":
        if not isinstance(value, keras.KerasTensor):
            value = keras.ops.add(keras.ops.zeros_like(self), value)
        if tuple(value.shape) != tuple(self.shape):
            raise Refused(
                f"weight {self.name!r} of shape {list(self.shape)} is assigned a value of shape"
                f" {list(value.shape)}"
            )
        if value.dtype != self.dtype:
            value = keras.ops.cast(value, self.dtype)
        self.assigned(self, value)
        return self

    def assign_add(self, value: Any) -> "WeightTensor":
        return self.assign(self + value)

    def assign_sub(self, value: Any) -> "WeightTensor":
        return self.assign(self - value)


@contextmanager
def substituted(layer: Any, stand_in: Callable[[Any], Any]) -> Iterator[None]:
    """In the block, attributes of a layer that are or contain variables have `stand_in(variable)`
    instead.
    """
    attributes = vars(layer)
    before = dict(attributes)
    try:
        for name, value in before.items():
            if name not in BOOKKEEPING:
                attributes[name] = _changed(value, stand_in)
        yield
    finally:
        for name, value in before.items():
            attributes[name] = value


def _changed(value: Any, stand_in: Callable[[Any], Any]) -> Any:
    if isinstance(value, keras.Variable):
        return stand_in(value)
    if isinstance(value, list | tuple) and any(isinstance(item, keras.Variable) for item in value):
        return [_changed(item, stand_in) for item in value]
    if isinstance(value, dict) and any(isinstance(item, keras.Variable) for item in value.values()):
        return {name: _changed(item, stand_in) for name, item in value.items()}
    return value
