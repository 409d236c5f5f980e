"""Kernels of layers that `quantize` has changed: a bundle contains their integers."""

import keras
import numpy as np
import pytest

from tests.frontends.bundle_weights import bundle_bytes, bundle_weights
from tests.passes.running import optimised
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph
from webkiln.weights.encoding import BY_NAME
from webkiln.weights.shards import pieces, stored

L = keras.layers
INT4 = keras.quantizers.Int4QuantizationConfig(block_size=32)
ONLY_WEIGHTS = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
CONFIGS = {"int8": {"mode": "int8"}, "int8 weights": {"config": ONLY_WEIGHTS}}
CONFIGS |= {"int4": {"mode": "int4"}, "int4 in blocks": {"config": INT4}}
KERNELS = {"dense": (192, 128), "einsum": (128, 160), "words": (120, 96)}


def quantized(**options):
    a, b = keras.Input((192,), name="a"), keras.Input((5,), dtype="int32", name="b")
    hidden = L.Dense(128, name="dense")(a)
    y = L.EinsumDense("ab,bc->ac", output_shape=160, name="einsum")(hidden)
    model = keras.Model([a, b], [y, L.Embedding(120, 96, name="words")(b)])
    rng = np.random.default_rng(3)
    for variable in model.weights:
        variable.assign(rng.normal(0, 0.1, variable.shape))
    model.quantize(**options)
    return model


@pytest.mark.parametrize("name", CONFIGS)
def test_kernels_have_the_bytes_of_the_model(name):
    model = quantized(**CONFIGS[name])
    inputs = {
        "a": np.random.default_rng(0).standard_normal((3, 192)).astype("float32"),
        "b": np.array([[0, 1, 119, 2, 2]] * 3, "int32"),
    }
    source = KerasConverter(batch_size=3).convert(model)
    graph = optimised(source)
    results = run_graph(graph, inputs, source.weights)[0].values()
    for got, expected in zip(results, model([*inputs.values()]), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(got).max())
    found = bundle_weights(source)
    for size in (rows * columns for rows, columns in KERNELS.values()):
        assert ("int8", size // 2 if "int4" in name else size) in found.values()
    in_model = sum(np.array(variable).nbytes for variable in model.weights)
    assert bundle_bytes(source) <= 1.05 * in_model
    for encoding in BY_NAME:
        assert {(item.weight.name, item.encoding) for item in pieces(stored(graph), encoding)} == {
            (item.name, "raw") for item in stored(graph)
        }
