"""Ranges whose limit depends on data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from webkiln.frontends.nodes.call import DataDependentError
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph

raw = tf.raw_ops
Limit = Callable[[Any, Any], Any]


def integer(x: Any) -> Any:
    return tf.cast(x, tf.int32)


BOUNDED: dict[str, Limit] = {
    "Minimum": lambda x, n: tf.minimum(n, 6),
    "Minimum with a size": lambda x, n: tf.minimum(n, tf.shape(x)[0]),
    "ClipByValue": lambda x, n: tf.clip_by_value(n, 1, 5),
    "sum of booleans": lambda x, n: tf.reduce_sum(integer(x[:, 0] > 0)),
    "sum of booleans as floats": lambda x, n: integer(
        tf.reduce_sum(tf.cast(x[:, 0] > 0, tf.float32))
    ),
    "count_nonzero": lambda x, n: tf.math.count_nonzero(x[:, 1] > 0, dtype=tf.int32),
    "ArgMax": lambda x, n: tf.argmax(x[:, 0], output_type=tf.int32),
    "ArgMax and one": lambda x, n: tf.argmax(x[0], output_type=tf.int32) + 1,
    "number of rows that are found": lambda x, n: tf.shape(tf.where(x[:, 0] > 0))[0],
    "maximum of clipped numbers": lambda x, n: integer(
        tf.reduce_max(tf.clip_by_value(x * 9.0, 0.0, 7.5))
    ),
    "share of a size": lambda x, n: integer(
        tf.math.ceil(tf.sigmoid(x[0, 0]) * tf.cast(tf.shape(x)[0], tf.float32))
    ),
    "remainder": lambda x, n: tf.math.floormod(n, 4),
    "half": lambda x, n: tf.minimum(n, 9) // 2,
    "where": lambda x, n: tf.where(n > 4, tf.minimum(n, 9), 2),
    "uint8": lambda x, n: integer(tf.cast(tf.clip_by_value(n, 0, 9), tf.uint8)),
    "relu": lambda x, n: tf.nn.relu(tf.minimum(n - 3, 5)),
}
UNBOUNDED: dict[str, Limit] = {
    "an input": lambda x, n: n,
    "a maximum": lambda x, n: tf.maximum(n, 3),
    "a sum": lambda x, n: integer(tf.reduce_sum(x)),
    "a difference": lambda x, n: 5 - n,
    "a product of either sign": lambda x, n: tf.minimum(n, 5) * tf.minimum(n, 5),
}


def model(function: Callable[[Any, Any], Any], folder: Path) -> tuple[Any, Graph]:
    concrete = tf.function(
        lambda x, n: {"y": tf.expand_dims(function(x, n[0]), 0)},
        input_signature=[
            tf.TensorSpec([None, 3], tf.float32, name="x"),
            tf.TensorSpec([None], tf.int32, name="n"),
        ],
        autograph=False,
    ).get_concrete_function()
    path = folder / "graph.pb"
    path.write_bytes(concrete.graph.as_graph_def().SerializeToString())
    return concrete, TensorFlowConverter().convert(*read_model(path))


def check(function: Callable[[Any, Any], Any], folder: Path) -> None:
    """Compare with TensorFlow, which rejects limits before the start."""
    concrete, graph = model(function, folder)
    compared = 0
    for seed, number in enumerate((-3, 0, 1, 2, 4, 5, 6, 7, 20)):
        x = np.random.default_rng(seed).standard_normal((seed % 4 + 1, 3)).astype(np.float32)
        n = np.array([number, 3], np.int32)
        try:
            expected = concrete(x=tf.constant(x), n=tf.constant(n))["y"].numpy()
        except tf.errors.InvalidArgumentError:
            continue
        compared += 1
        inputs = {name: value for name, value in {"x": x, "n": n}.items() if name in graph.inputs}
        actual = run_graph(graph, inputs)[0]["Identity"]
        assert actual.dtype == expected.dtype
        assert np.array_equal(actual, expected), (number, actual, expected)
    assert compared >= 4


@pytest.mark.parametrize("name", BOUNDED)
def test_limits_with_a_bound(name: str, tmp_path: Path) -> None:
    check(lambda x, n: tf.range(BOUNDED[name](x, n)), tmp_path)


def test_starts_and_steps(tmp_path: Path) -> None:
    """Also a start that depends on data, and steps of either sign."""
    for start, step in ((2, 1), (-3, 2), (1, 3), (9, -1), (12, -4)):
        check(
            lambda x, n, start=start, step=step: raw.Range(
                start=start, limit=tf.clip_by_value(n, -2, 6), delta=step
            ),
            tmp_path,
        )
    check(lambda x, n: tf.range(tf.clip_by_value(n, 0, 5), 7), tmp_path)
    check(lambda x, n: tf.range(tf.clip_by_value(n, 0, 5), tf.shape(x)[0] + 2), tmp_path)
    check(lambda x, n: tf.range(7, tf.clip_by_value(n, 0, 5), -2), tmp_path)


def test_consumers(tmp_path: Path) -> None:
    """Ranges of one length are added, gathered, compared and tiled."""
    limit = BOUNDED["sum of booleans"]
    check(lambda x, n: tf.range(limit(x, n)) * 2 + tf.range(limit(x, n)), tmp_path)
    check(lambda x, n: tf.gather(x, tf.range(limit(x, n))), tmp_path)
    check(lambda x, n: tf.range(limit(x, n))[:, None] < tf.range(3)[None], tmp_path)
    check(lambda x, n: tf.reduce_sum(tf.range(limit(x, n))), tmp_path)


@pytest.mark.parametrize("name", UNBOUNDED)
def test_limits_without_a_bound_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataDependentError, match=r"range.*--(value|dim).*--from-layer"):
        model(lambda x, n: tf.range(UNBOUNDED[name](x, n), name="range"), tmp_path)
