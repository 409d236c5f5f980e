"""Rows of tests of keras.ops operations: a function of inputs, and these by shape and dtype."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import keras

from tests.sampling import sample
from webkiln.frontends.keras.converter import KerasConverter

FILED = {"numpy": 52, "expressions": 24, "nn": 16, "image": 24, "linalg": 24, "math": 12}
"""How many rows of a table `make test` also saves and reads, in a model each."""


@dataclass(frozen=True)
class Row:
    function: Callable[..., Any]
    inputs: tuple[tuple[tuple[int, ...], str], ...]


def row(function: Callable[..., Any], *shapes: tuple[int, ...], dtypes: str = "") -> Row:
    """`dtypes` has a word for each input, float32 where there is none."""
    named = [*dtypes.split(), *["float32"] * len(shapes)]
    return Row(function, tuple(zip(shapes, named, strict=False)))


def built(item: Row) -> Any:
    starts = [
        keras.Input(batch_shape=shape, dtype=dtype, name=f"x{n}")
        for n, (shape, dtype) in enumerate(item.inputs)
    ]
    result = item.function(*starts)
    return keras.Model(starts, list(result) if isinstance(result, list | tuple) else result)


def check(compare: Callable[..., Any], item: Row, folder: Any, tolerance: float = 2e-5) -> None:
    """From memory and from a file, against Keras."""
    model = built(item)
    graph = compare(model, tolerance=tolerance)
    model.save(folder / "m.keras")
    assert KerasConverter().convert(folder / "m.keras") == graph


def left_out(table: str, names: Iterable[str]) -> set[str]:
    """The rows that have no model of their own in `make test`."""
    return {*names} - {*sample([(name,) for name in names], FILED[table])}
