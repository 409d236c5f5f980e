"""Hashes of numbers of every length, and learned lookup tables, agree with Keras."""

import keras
import numpy as np
import pytest
from keras import layers as L

from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph


def numbers(dtype):
    """Numbers of every length, with both signs, and the limits of the range."""
    rng = np.random.default_rng(0)
    found = [0, 1, -1, np.iinfo(dtype).max, np.iinfo(dtype).min, np.iinfo(dtype).min + 1]
    for digits in range(1, 10 if dtype == "int32" else 19):
        values = rng.integers(10 ** (digits - 1), 10**digits, 5)
        found += [*values, *-values]
    return np.array(found, dtype)


def check(model, *inputs):
    graph = KerasConverter(batch_size=len(inputs[0])).convert(model)
    outputs = run_graph(graph, dict(zip(graph.inputs, inputs, strict=True)))[0]
    for got, expected in zip(
        outputs.values(), keras.tree.flatten(model(list(inputs))), strict=True
    ):
        np.testing.assert_allclose(got, np.array(expected), rtol=1e-6)
    return graph


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_hashes(dtype):
    x = keras.Input((1,), dtype=dtype)
    layers = (
        L.Hashing(1000003),
        L.Hashing(7, mask_value=9),
        L.Hashing(11, salt=[133, 137]),
        L.Hashing(1 << 24, salt=5),
    )
    inputs = numbers(dtype)[:, None]
    check(keras.Model(x, [*(layer(x) for layer in layers), L.HashedCrossing(1001)((x, x))]), inputs)


def test_learned_lookup_tables(tmp_path):
    places, weights = (
        L.IntegerLookup(mask_token=0, num_oov_indices=2),
        L.IntegerLookup(output_mode="tf_idf"),
    )
    places.adapt(np.array([5, 5, 7, 7, 7, 9, 11]))
    weights.adapt(np.array([[5, 5, 7], [7, 7, 9]]))
    x = keras.Input((4,), dtype="int64")
    model = keras.Model(x, [places(x), weights(x)])
    graph = check(model, np.array([[5, 7, 0, 100], [9, 11, 12, 13]]))
    model.save(tmp_path / "m.keras")
    assert KerasConverter(batch_size=2).convert(tmp_path / "m.keras") == graph


def test_weighted_counts():
    x, weights = keras.Input((4,), dtype="int32"), keras.Input((4,))
    model = keras.Model(
        [x, weights], L.CategoryEncoding(5, output_mode="count")(x, count_weights=weights)
    )
    inputs = np.array([[1, 2, 0, 1], [4, 4, 4, 0]], "int32")
    check(model, inputs, np.random.default_rng(0).random((2, 4)).astype("float32"))
