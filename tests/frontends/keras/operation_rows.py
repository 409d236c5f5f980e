"""Test rows of keras.ops operations: a function, and the shapes and dtypes of its inputs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import keras

from tests.sampling import sample
from webkiln.frontends.keras.converter import KerasConverter

FILED = {"numpy": 52, "expressions": 24, "nn": 16, "image": 24, "linalg": 24, "math": 12}
"""The number of rows of a table that `make test` also saves and reads, each as a model."""


@dataclass(frozen=True)
class Row:
    function: Callable[..., Any]
    inputs: tuple[tuple[tuple[int, ...], str], ...]


def row(function: Callable[..., Any], *shapes: tuple[int, ...], dtypes: str = "") -> Row:
    """`dtypes` has a name for each input; float32 by default."""
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
    """Compare with Keras, from memory and from a file."""
    model = built(item)
    graph = compare(model, tolerance=tolerance)
    model.save(folder / "m.keras")
    assert KerasConverter().convert(folder / "m.keras") == graph


def left_out(table: str, names: Iterable[str]) -> set[str]:
    """The rows without a separate model in `make test`."""
    return {*names} - {*sample([(name,) for name in names], FILED[table])}
