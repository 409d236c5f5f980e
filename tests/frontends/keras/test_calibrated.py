"""Models that Keras has quantized by `quantize("gptq")` and `quantize("awq")`."""

import keras
import numpy as np
import pytest

from tests.frontends.bundle_weights import bundle_bytes, bundle_weights
from tests.passes.running import optimised
from webkiln.errors import SourceError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model
from webkiln.ops.evaluate import run_graph

L = keras.layers
WORDS, LENGTH, WIDTH, INNER = 64, 16, 64, 128
CONFIGS = {
    "4 bits": ("gptq", {"weight_bits": 4, "group_size": 32}),
    "a scale for each column": (
        "gptq",
        {"weight_bits": 4, "group_size": -1, "symmetric": True},
    ),
    "8 bits": ("gptq", {"weight_bits": 8, "group_size": 64}),
    "3 bits": ("gptq", {"weight_bits": 3, "group_size": 32}),
    "2 bits": ("gptq", {"weight_bits": 2, "group_size": 32}),
    "columns by activations": (
        "gptq",
        {"weight_bits": 4, "group_size": 32, "activation_order": True},
    ),
    "awq": ("awq", {"group_size": 32}),
}


def quantized(mode, options):
    words = keras.Input((LENGTH,), dtype="int32", name="words")
    table = L.Embedding(WORDS, WIDTH, name="table")
    block = keras.Sequential(
        [
            L.Dense(INNER, activation="relu", name="dense"),
            L.EinsumDense("abc,cd->abd", output_shape=(None, WIDTH), name="einsum"),
        ],
        name="block",
    )
    model = keras.Model(words, block(table(words)))
    rng = np.random.default_rng(3)
    for variable in model.weights:
        variable.assign(rng.normal(0, 0.2, variable.shape))
    kind = {"gptq": keras.quantizers.GPTQConfig, "awq": keras.quantizers.AWQConfig}[mode]
    config = kind(
        dataset=list(rng.integers(0, WORDS, (4, 1, LENGTH)).astype("int32")),
        tokenizer=lambda text: text,
        num_samples=4,
        sequence_length=LENGTH,
        quantization_layer_structure={"pre_block_layers": [table], "sequential_blocks": [block]},
        **options,
    )
    model.quantize(mode, config=config)
    return model


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.sample(3)
def test_codes_stay_as_in_keras(name):
    mode, options = CONFIGS[name]
    model = quantized(mode, options)
    structure = model.get_layer("block").layers[0].quantization_config.quantization_layer_structure
    assert structure is not None
    x = np.random.default_rng(0).integers(0, WORDS, (3, LENGTH)).astype("int32")
    source = KerasConverter(batch_size=3).convert(model)
    (got,) = run_graph(optimised(source), {"words": x})[0].values()
    expected = np.array(model(x))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    halved = options.get("weight_bits", 4) == 4
    codes = ("uint8", WIDTH * INNER // (2 if halved else 1))
    assert list(bundle_weights(source).values()).count(codes) == 2
    in_model = sum(np.array(variable).nbytes for variable in model.weights)
    assert bundle_bytes(source) <= 1.05 * in_model
    layer = model.get_layer("block").layers[0]
    assert layer.quantization_config.quantization_layer_structure is structure


@pytest.mark.parametrize("mode", ["gptq", "awq"])
def test_files_that_lack_zero_points_are_refused(mode, tmp_path):
    model = quantized(mode, {"group_size": 32})
    for layer in model._flatten_layers():
        if hasattr(layer, "quantization_config"):
            layer.quantization_config = None
    model.save(tmp_path / "m.keras")
    with pytest.raises(
        SourceError,
        match=rf"does not save the zero points of quantize\('{mode}'\): build a function",
    ):
        load_model(tmp_path / "m.keras")
