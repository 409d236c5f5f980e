"""The rows of operations without a separate model in `make test`, in one model per table, compared
with Keras.
"""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from tests.frontends.keras import image_rows, linalg_rows, math_rows, nn_rows, option_rows
from tests.frontends.keras.operation_cases import CASES, MORE
from tests.frontends.keras.operation_expressions import EXPRESSIONS
from tests.frontends.keras.operation_rows import FILED, Row, left_out, row
from webkiln.backends.compare import relative_error
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph


def of_two(functions: dict[str, Callable[..., Any]]) -> dict[str, Row]:
    return {name: row(function, (2, 3, 4), (2, 3, 4)) for name, function in functions.items()}


TABLES = {
    "numpy": of_two({**CASES, **MORE}),
    "expressions": of_two(EXPRESSIONS),
    "nn": nn_rows.ROWS,
    "image": image_rows.ROWS,
    "linalg": linalg_rows.ROWS,
    "math": math_rows.ROWS,
    "options": option_rows.ROWS,
}
LOOSE = {"nn": {"dot_product_attention halves": 2e-3}}


def inputs_of(item: Row) -> list[np.ndarray]:
    """The inputs that `compare` generates for a model of this row."""
    generator = np.random.default_rng(7)
    return [
        (generator.normal(size=shape) * 1.5).astype(dtype)
        if dtype.startswith("float")
        else generator.integers(0, 4, shape).astype(dtype)
        for shape, dtype in item.inputs
    ]


@pytest.mark.parametrize("table", TABLES)
def test_rows_agree_with_keras(table: str) -> None:
    rows = TABLES[table]
    selected = left_out(table, rows) if table in FILED else {*rows}
    starts: dict[Any, list[Any]] = {}
    results, values = {}, []
    for name, item in rows.items():
        if name not in selected:
            continue
        if item.inputs not in starts:
            starts[item.inputs] = [
                keras.Input(batch_shape=shape, dtype=dtype) for shape, dtype in item.inputs
            ]
            values += inputs_of(item)
        results[name] = keras.tree.flatten(item.function(*starts[item.inputs]))
    inputs = [start for own in starts.values() for start in own]
    model = keras.Model(inputs, [result for tensors in results.values() for result in tensors])
    graph = KerasConverter().convert(model)
    expected = [np.array(value) for value in keras.tree.flatten(model(values, training=False))]
    with np.errstate(all="ignore"):
        got = list(run_graph(graph, dict(zip(graph.inputs, values, strict=True)))[0].values())
    labels = [name for name, tensors in results.items() for _ in tensors]
    bounds = LOOSE.get(table, {})
    wrong = {
        f"{index} {label}": (str(one.dtype), one.shape, str(other.dtype), other.shape)
        for index, (label, one, other) in enumerate(zip(labels, got, expected, strict=True))
        if (one.shape, one.dtype) != (other.shape, other.dtype)
        or not relative_error(one, other) < bounds.get(label, 1e-4)
    }
    assert not wrong


@pytest.mark.parametrize("method", ["lower", "higher", "nearest", "midpoint"])
def test_quantile_methods(method: str) -> None:
    """Compared with the function: the operation in a model ignores the method."""
    x = np.random.default_rng(3).normal(size=(2, 3, 4)).astype("float32")
    start = keras.Input(batch_shape=x.shape, name="x")
    model = keras.Model(start, ops.quantile(start, 0.6, axis=1, method=method, keepdims=True))
    (y,) = run_graph(KerasConverter().convert(model), {"x": x})[0].values()
    expected = np.array(ops.quantile(x, 0.6, axis=1, method=method, keepdims=True))
    assert y.shape == expected.shape
    assert relative_error(y, expected) < 1e-5
