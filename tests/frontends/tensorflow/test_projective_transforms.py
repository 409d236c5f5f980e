"""ImageProjectiveTransformV2 and V3 with every option, compared with TensorFlow."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.ops.evaluate import run_graph

raw = tf.raw_ops
TRANSFORMS = {
    "identity": [[1, 0, 0, 0, 1, 0, 0, 0]],
    "translation": [[1, 0, -3, 0, 1, 2, 0, 0]],
    "rotation": [[0.8, -0.6, 1.3, 0.6, 0.8, -1.1, 0, 0]],
    "projection": [[0.9, 0.1, 0.5, -0.2, 1.2, 0.3, 0.03, -0.02]],
    "far": [[1.3, 0.2, 11.6, 0.1, 0.9, -14.7, 0, 0]],
    "one per image": [[1, 0, 0.5, 0, 1, -0.5, 0, 0], [-1, 0.1, 4.2, 0, 1, 1, 0.01, 0]],
}
FILLS = ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
METHODS = ("NEAREST", "BILINEAR")


def outputs(function: Any, shape: list[int | None], x: np.ndarray, folder: Path) -> None:
    """Compare the outputs of a graph with those of TensorFlow."""
    concrete = tf.function(
        function, input_signature=[tf.TensorSpec(shape, x.dtype, name="x")], autograph=False
    ).get_concrete_function()
    path = folder / "graph.pb"
    path.write_bytes(concrete.graph.as_graph_def().SerializeToString())
    graph = TensorFlowConverter().convert(*read_model(path))
    expected = [value.numpy() for _, value in sorted(concrete(x=tf.constant(x)).items())]
    actual = list(run_graph(graph, {"x": x})[0].values())
    assert len(actual) == len(expected)
    for number, (a, b) in enumerate(zip(actual, expected, strict=True)):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, atol=2e-5, err_msg=str(number))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_option(name: str, tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        results = {}
        for number, (method, fill, size) in enumerate(
            product(METHODS, FILLS, ([5, 7], [8, 3], [1, 1]))
        ):
            operands = {
                "images": x,
                "transforms": tf.constant(TRANSFORMS[name], tf.float32),
                "output_shape": size,
                "interpolation": method,
                "fill_mode": fill,
            }
            results[f"y{2 * number:03}"] = raw.ImageProjectiveTransformV2(**operands) * 1.0
            results[f"y{2 * number + 1:03}"] = (
                raw.ImageProjectiveTransformV3(**operands, fill_value=-1.5) * 1.0
            )
        return results

    x = np.random.default_rng(0).standard_normal((2, 5, 7, 3)).astype(np.float32)
    outputs(function, [2, 5, 7, 3], x, tmp_path)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
def test_dtypes(dtype: str, tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        return {
            f"y{number}": raw.ImageProjectiveTransformV3(
                images=x,
                transforms=TRANSFORMS["rotation"],
                output_shape=[4, 6],
                interpolation=method,
                fill_mode="CONSTANT",
                fill_value=2.0,
            )
            + 1
            for number, method in enumerate(METHODS)
        }

    x = np.random.default_rng(1).integers(0, 200, (1, 5, 7, 2)).astype(dtype)
    outputs(function, [1, 5, 7, 2], x, tmp_path)


def test_sizes_of_the_image(tmp_path: Path) -> None:
    """The size of the result is computed from that of the image, and its batch is open."""

    def function(x: Any) -> dict[str, Any]:
        return {
            f"y{number}": raw.ImageProjectiveTransformV3(
                images=x,
                transforms=TRANSFORMS["projection"],
                output_shape=tf.shape(x)[1:3] * 2,
                interpolation=method,
                fill_mode=fill,
                fill_value=0.5,
            )
            * 2.0
            for number, (method, fill) in enumerate(product(METHODS, FILLS))
        }

    x = np.random.default_rng(2).standard_normal((3, 4, 5, 2)).astype(np.float32)
    outputs(function, [None, None, None, 2], x, tmp_path)
