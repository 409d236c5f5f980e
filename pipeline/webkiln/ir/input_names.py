"""The names that options may have for the inputs of a model."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from webkiln.errors import ShapeError

Value = TypeVar("Value")


def by_input(table: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    """The table with each name replaced by that of the input that it stands for.

    Converters keep the names of TensorFlow's tensors, such as `x:0` and `serving_default_x:0`. `x`
    stands for such an input if no other input could be meant. Raises ShapeError for an input that
    is named twice.
    """
    known = list(names)
    meant: dict[str, list[str]] = {}
    for name in known:
        tensor = name.removesuffix(":0")
        for short in {tensor, tensor.removeprefix("serving_default_")} - {""}:
            meant.setdefault(short, []).append(name)
    result: dict[str, Value] = {}
    for given, value in table.items():
        inputs = [given] if given in known else meant.get(given, [])
        name = inputs[0] if len(inputs) == 1 else given
        if name in result:
            raise ShapeError(f"input {name}: is named twice, also as {name.removesuffix(':0')}")
        result[name] = value
    return result
