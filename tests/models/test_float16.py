"""float16 between layers, on every GPU backend of every browser, against Keras."""

import json
from itertools import product

import keras
import pytest
from keras import layers

from tests.hosts import PAGES, one_page
from tests.models.conftest import Model
from tests.sampling import representative
from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.build.graph import Selection
from webkiln.recipe.read import parse_recipe
from webkiln.recipe.values import BACKENDS, FLOAT16_BACKENDS


def image():
    """Odd sizes, strides, and widths of which some are no multiple of four."""
    x = keras.Input((33, 31, 3))
    y = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(x)
    wide = layers.DepthwiseConv2D(3, padding="same", activation="relu6")(y)
    wide = layers.BatchNormalization()(layers.Conv2D(24, 1)(wide))
    narrow = layers.Conv2D(6, 3, padding="same", activation="swish")(y)
    y = layers.concatenate([layers.Conv2D(16, 3, padding="same")(y), wide, narrow])
    y = layers.MaxPooling2D(2)(y) + layers.AveragePooling2D(2)(y)
    y = layers.UpSampling2D(2)(layers.Conv2D(20, (1, 5), padding="same")(y))
    return keras.Model(
        x,
        [
            layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(y)),
            layers.Conv2DTranspose(4, 2)(y),
        ],
    )


def text():
    """A causal encoder: masked scores are far below the float16 range."""
    x = keras.Input((20,), dtype="int32")
    y = layers.Embedding(50, 32)(x)
    for _ in range(2):
        y = layers.LayerNormalization()(
            y + layers.MultiHeadAttention(4, 8)(y, y, use_causal_mask=True)
        )
        y = layers.LayerNormalization()(
            y + layers.Dense(32)(layers.Dense(64, activation="gelu")(y))
        )
    return keras.Model(x, layers.Dense(50)(y))


def sequence():
    """A sequence of symbolic length, through loops with states."""
    x = keras.Input((24, 12))
    y = layers.Bidirectional(layers.LSTM(16, return_sequences=True))(x)
    return keras.Model(x, layers.Dense(5)(layers.GRU(12)(layers.LayerNormalization()(y))))


def large():
    """Numbers beyond the float16 range, which are clipped afterwards."""
    x = keras.Input((16,))
    y = layers.Reshape((16, 16))(layers.Rescaling(1e5)(layers.Dense(256)(x)))
    y = layers.ReLU(max_value=5e4)(layers.MaxPooling1D(2)(y))
    return keras.Model(x, layers.Dense(8)(layers.Rescaling(1e-5)(layers.Flatten()(y))))


def wide():
    """Products that are large enough for blocks in workgroup memory."""
    x = keras.Input((128, 96))
    y = layers.Dense(160, activation="gelu")(x)
    return keras.Model(x, layers.Dense(128)(layers.LayerNormalization()(layers.Dense(160)(y))))


def recipe_of(folder, make, **keys):
    keras.utils.set_random_seed(2)
    make().save(folder / "model.keras")
    table = {"source": "model.keras", "precision": "float16", "backends": list(BACKENDS)} | keys
    return parse_recipe("model", table, folder / "recipe.toml")


@one_page
@pytest.mark.parametrize("make", representative([image, text, sequence, large], text))
def test_float16_between_layers_is_close_to_keras(make, browser, tmp_path):
    recipe = recipe_of(tmp_path, make)
    with Engine(tmp_path / ".webkiln") as engine:
        model = Model(engine, recipe, tmp_path)
        results = model.verify("float32", browser)
        programs = [
            canonical.read(
                model.file(model.actions.lower(name, Selection(BACKENDS)), "program.json")
            )
            for name in FLOAT16_BACKENDS
        ]
    assert all("float16" in json.dumps(lowered) for lowered in programs)
    assert results
    for result in results:
        worst = max(row["relative"] for row in result["outputs"])
        assert worst <= (5e-3 if result["backend"] in FLOAT16_BACKENDS else 1e-4), (
            result["backend"],
            worst,
        )


@pytest.mark.parametrize(
    ("browser", "encoding"),
    representative(
        product(PAGES, ["float16", "int8", "eightbit"]),
        *zip(PAGES, ["int8", "float16", "eightbit"], strict=True),
    ),
)
@pytest.mark.long
def test_weights_of_any_encoding_are_decoded_to_float16(encoding, browser, tmp_path):
    recipe = recipe_of(tmp_path, text, backends=["webgpu", "webgl"], encodings=[encoding])
    with Engine(tmp_path / ".webkiln") as engine:
        results = Model(engine, recipe, tmp_path).verify(encoding, browser)
    assert all(row["passed"] for result in results for row in result["outputs"]), results


@pytest.mark.parametrize(
    ("browser", "products", "encoding"),
    [
        ("firefox", "float16", "float32"),
        ("firefox", "float16", "int8"),
        ("chromium", "float32", "float32"),
    ],
)
@pytest.mark.sample("chromium-float32-float32")
def test_verification_reports_the_precision_of_products(browser, products, encoding, tmp_path):
    """Mesa's lavapipe has `shader-f16`, SwiftShader does not."""
    recipe = recipe_of(
        tmp_path,
        wide,
        backends=["webgpu", "webgl"],
        encodings=[encoding],
        precision="float16-arithmetic",
    )
    with Engine(tmp_path / ".webkiln") as engine:
        model = Model(engine, recipe, tmp_path)
        manifest = canonical.read(model.bundle(encoding) / "manifest.json")
        actions = model.actions.verify(Selection(("webgpu", "webgl"), encoding), browser)
        results = {
            result["backend"]: result
            for result in (canonical.read(model.file(action, "result.json")) for action in actions)
        }
    assert {name: entry["precision"] for name, entry in manifest["backends"].items()} == {
        "webgpu": "float16-arithmetic",
        "webgl": "float16",
    }
    assert (results["webgpu"]["products"], results["webgl"].get("products")) == (products, None)
    assert all(row["passed"] for result in results.values() for row in result["outputs"]), results


def test_the_manifest_lists_backends_that_store_float16(tmp_path):
    with Engine(tmp_path / ".webkiln") as engine:
        manifest = canonical.read(
            Model(engine, recipe_of(tmp_path, sequence), tmp_path).bundle() / "manifest.json"
        )
    assert {name: entry.get("precision") for name, entry in manifest["backends"].items()} == {
        "webgpu": "float16", "wasm": None, "webgl": "float16", "js": None,
    }  # fmt: skip
