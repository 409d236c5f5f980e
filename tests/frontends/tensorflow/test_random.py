"""Random numbers of TensorFlow are inputs of the bundle; TensorFlow computes with the same ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from webkiln.backends.compare import relative_error
from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.frontends.tensorflow.reference import compute_reference
from webkiln.ops.evaluate import run_graph

PARAMS = {"dims": {}, "input_shapes": {}}
KERNEL = np.random.default_rng(0).standard_normal((6, 4)).astype("float32")
Net = Callable[[Any], Any]


def noisy(draw: Callable[[Any], Any]) -> Net:
    return lambda x: tf.matmul(x, KERNEL) * 3.0 + tf.cast(draw([2, 4]), tf.float32)


NETS: dict[str, Net] = {
    "uniform": noisy(lambda shape: tf.random.uniform(shape, -1.0, 2.0)),
    "float64": noisy(lambda shape: tf.random.uniform(shape, dtype=tf.float64)),
    "float16": noisy(lambda shape: tf.random.normal(shape, dtype=tf.float16)),
    "normal": noisy(lambda shape: tf.random.normal(shape, 0.5, 2.0)),
    "truncated": noisy(tf.random.truncated_normal),
    "integers": noisy(lambda shape: tf.random.uniform(shape, 2, 9, tf.int32)),
    "stateless uniform": noisy(lambda shape: tf.random.stateless_uniform(shape, [1, 2])),
    "stateless normal": noisy(lambda shape: tf.random.stateless_normal(shape, [1, 2])),
    "stateless truncated": noisy(lambda shape: tf.random.stateless_truncated_normal(shape, [1, 2])),
    "stateless integers": noisy(
        lambda shape: tf.random.stateless_uniform(shape, [1, 2], 0, 5, tf.int64)
    ),
    "dropout": lambda x: tf.nn.dropout(tf.matmul(x, KERNEL), 0.4),
    "open size": lambda x: x + tf.random.normal(tf.shape(x)),
}


def save(net: Net, folder: Path, batch: int | None = 2) -> Path:
    signature = [tf.TensorSpec([batch, 6], name="x")]
    function = tf.function(lambda x: {"y": net(x)}, input_signature=signature)
    module = tf.Module()
    module.call = function
    tf.saved_model.save(module, folder, signatures=function)
    return folder / "saved_model.pb"


@pytest.mark.parametrize("name", NETS)
def test_random_numbers_are_inputs(name: str, tmp_path: Path) -> None:
    path = save(NETS[name], tmp_path, None if name == "open size" else 2)
    spec, blobs = read_model(path, path.parent)
    graph = TensorFlowConverter().convert(spec, blobs)
    (noise,) = set(graph.inputs) - {"x"}
    assert noise.endswith("_noise")
    assert graph.variables[noise].distribution is not None
    samples = sampled_inputs(spec, PARAMS, {})
    reference, _ = compute_reference(path, path.parent, "", spec, samples)
    for key in ("natural0", "natural1", "extreme"):
        values = {item: reference[f"{key}/in/{item}"] for item in graph.inputs}
        (actual,) = run_graph(graph, values)[0].values()
        assert relative_error(actual, reference[f"{key}/out/y"]) < 1e-5


def test_samples_of_classes_and_shuffled_rows_follow_their_numbers(tmp_path: Path) -> None:
    path = save(
        lambda x: tf.random.categorical(x, 5) + tf.cast(tf.random.shuffle(x)[:, :5] * 0, "int64"),
        tmp_path,
    )
    spec, blobs = read_model(path, path.parent)
    graph = TensorFlowConverter().convert(spec, blobs)
    values = {
        name: np.random.default_rng(1).uniform(size=graph.type(name).shape).astype("float32")
        for name in graph.inputs
    }
    values["x"] = np.log(np.eye(2, 6, 3, dtype="float32") + 1e-30)
    (actual,) = run_graph(graph, values)[0].values()
    np.testing.assert_array_equal(actual, np.array([[3] * 5, [4] * 5]))
    with pytest.raises(SourceError, match="there is no reference to verify with"):
        compute_reference(path, path.parent, "", spec, sampled_inputs(spec, PARAMS, {}))


def test_draws_in_loops_are_refused(tmp_path: Path) -> None:
    def net(x: Any) -> Any:
        return tf.while_loop(
            lambda n, _: n < tf.cast(tf.reduce_sum(x), tf.int32),
            lambda n, y: (n + 1, y + tf.random.normal([2, 6])),
            [0, x],
        )[1]

    spec, blobs = read_model(save(net, tmp_path), tmp_path)
    with pytest.raises(UnsupportedError, match="draws random numbers in a branch or loop"):
        TensorFlowConverter().convert(spec, blobs)
