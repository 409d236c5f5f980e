"""The size of a lookup table, and unique elements of constants and along axes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.ops.evaluate import run_graph

raw = tf.raw_ops


class Table(tf.Module):
    def __init__(self) -> None:
        keys, values = tf.constant([3, 5, 9], tf.int64), tf.constant([1.5, -2.0, 0.25])
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, values), 7.0
        )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, name="x")])
    def run(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        count = self.table.size()
        return {"y": self.table.lookup(x), "size": count + x, "filled": tf.fill([count, 2], 1.0)}


def test_the_size_of_a_table(tmp_path: Path) -> None:
    module = Table()
    tf.saved_model.save(module, str(tmp_path), signatures=module.run)
    graph = TensorFlowConverter().convert(*read_model(tmp_path / "saved_model.pb"))
    x = np.array([9, 4, 3, 5])
    outputs, _ = run_graph(graph, {"x": x})
    for name, expected in module.run(tf.constant(x)).items():
        assert outputs[name].dtype == expected.numpy().dtype
        assert np.array_equal(outputs[name], expected)


@pytest.mark.parametrize("axis", [[], [0]])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_unique_elements(axis: list[int], index: str, tmp_path: Path) -> None:
    check(
        lambda x: raw.UniqueV2(x=x, axis=tf.constant(axis, tf.int64), out_idx=index),
        np.array([4, 2, 2, 4, 7, 0, 2], np.int32),
        tmp_path,
    )
    check(
        lambda x: [
            item + x[0] * 0
            for item in raw.UniqueV2(x=[5, 1, 5, 2], axis=tf.constant(axis, tf.int64))
        ],
        np.array([4, 2], np.int32),
        tmp_path,
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_slices(axis: int, tmp_path: Path) -> None:
    x = np.array([[1, 2, 1], [0, 2, 0], [1, 2, 1]], np.float32)
    check(lambda x: raw.UniqueV2(x=x, axis=tf.constant([axis], tf.int64)), x, tmp_path)


def check(function: Any, x: np.ndarray, folder: Path) -> None:
    concrete = tf.function(
        lambda x: {f"y{n}": item + 1 for n, item in enumerate(function(x))},
        input_signature=[tf.TensorSpec(x.shape, x.dtype, name="x")],
        autograph=False,
    ).get_concrete_function()
    path = folder / "graph.pb"
    path.write_bytes(concrete.graph.as_graph_def().SerializeToString())
    graph = TensorFlowConverter().convert(*read_model(path))
    outputs, _ = run_graph(graph, {"x": x})
    expected = [value.numpy() for _, value in sorted(concrete(x=tf.constant(x)).items())]
    for actual, right in zip(outputs.values(), expected, strict=True):
        assert actual.dtype == right.dtype
        assert np.array_equal(actual, right)
