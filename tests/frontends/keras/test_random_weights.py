"""Random weights make outputs depend on inputs; inputs have the range that a model expects."""

import keras
import numpy as np
import pytest
from keras import layers as L

from webkiln.frontends.keras.random_weights import fill_randomly
from webkiln.frontends.keras.ranges import natural_scales
from webkiln.random_inputs import SCALES, natural


def network(*, bytes_=False, depth=12):
    x = keras.Input((16, 16, 3), name="image")
    y = L.Rescaling(1 / 255)(x) if bytes_ else x
    for _ in range(depth):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(12, 3, padding="same", use_bias=False)(y)))
    y = L.Dense(40, activation="softmax", name="classes")(L.GlobalAveragePooling2D()(y))
    model = keras.Model(x, y)
    fill_randomly(model)
    return model


@pytest.mark.parametrize("bytes_", [False, True])
def test_outputs_depend_on_the_input(bytes_):
    scale = 255.0 if bytes_ else 1.0
    outputs = np.concatenate(
        [
            network(bytes_=bytes_)(natural("float32", (1, 16, 16, 3), seed, scale))
            for seed in range(4)
        ]
    )
    distance = min(np.abs(a - b).max() for i, a in enumerate(outputs) for b in outputs[:i])
    assert distance > 1e-3 * outputs.max()
    assert outputs.max() < 0.9


def test_weights_are_reproducible():
    for a, b in zip(network().get_weights(), network().get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_normalisations_have_the_statistics_of_images_and_no_small_variance():
    model = network()
    norms = [layer for layer in model.layers if isinstance(layer, L.BatchNormalization)]
    before = keras.Model(model.input, norms[0].input)
    images = np.concatenate([natural("float32", (1, 16, 16, 3), image, 1.0) for image in range(8)])
    values = np.asarray(before(images), "float64")
    np.testing.assert_allclose(norms[0].moving_mean, values.mean((0, 1, 2)), rtol=1e-3, atol=1e-5)
    variance = values.var((0, 1, 2))
    np.testing.assert_allclose(
        norms[0].moving_variance, np.maximum(variance, variance.mean()), rtol=1e-3
    )
    for norm in norms:
        variance = np.asarray(norm.moving_variance)
        assert variance.min() >= 0.3 * variance.mean()


def test_errors_do_not_grow_from_layer_to_layer():
    model = network(depth=40)
    image = natural("float32", (1, 16, 16, 3), 0, 1.0)
    moved = image * (1 + 2.0**-20 * np.random.default_rng(0).choice([-1, 1], image.shape)).astype(
        "float32"
    )
    outputs = np.asarray(model(image))
    assert np.abs(np.asarray(model(moved)) - outputs).max() < 1e-4 * outputs.max()


def test_branches_add_no_offsets():
    x = keras.Input((8, 8, 4))
    first = L.BatchNormalization(name="inside")(L.Conv2D(4, 1)(x))
    second = L.BatchNormalization(name="branch")(L.Conv2D(4, 1)(L.ReLU()(first)))
    third = L.Dropout(0.2)(L.BatchNormalization(name="dropped")(L.Conv2D(4, 1)(x)))
    model = keras.Model(x, L.Add()([x, second, third]))
    fill_randomly(model)
    betas = {
        name: np.asarray(model.get_layer(name).beta) for name in ("inside", "branch", "dropped")
    }
    assert betas["inside"].min() >= 0.8
    assert max(np.abs(betas[name]).max() for name in ("branch", "dropped")) <= 0.2


def test_kernels_preserve_the_variance_of_activations():
    x = keras.Input((400,))
    model = keras.Model(
        x,
        L.Dense(300, activation="softmax", name="classes")(
            L.Dense(500, activation="relu", name="hidden")(x)
        ),
    )
    fill_randomly(model)
    assert np.std(model.get_layer("hidden").kernel) == pytest.approx(np.sqrt(2 / 400), rel=0.02)
    assert np.std(model.get_layer("classes").kernel) == pytest.approx(np.sqrt(1 / 500), rel=0.02)


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([], SCALES),
        ([("Conv2D", {}), ("Rescaling", {"scale": 1.0})], SCALES),
        ([("Rescaling", {"scale": 1 / 255})], (255.0,)),
        ([("Rescaling", {"scale": 1 / 127.5, "offset": -1})], (255.0,)),
        ([("Rescaling", {"scale": [0.01, 1 / 127.5]})], (255.0,)),
        ([("Rescaling", {"scale": 0.0})], SCALES),
        ([("Normalization", {"mean": [123.7, 116.3, 103.5]})], (255.0,)),
        ([("Normalization", {"mean": [0.485, 0.456, 0.406]})], SCALES),
        ([("Normalization", {"mean": None}), ("Rescaling", {"scale": 1 / 255})], (255.0,)),
        ([("Normalization", {"mean": [120.0], "invert": True})], SCALES),
        ([("Rescaling", {"scale": 1 / 65535})], (255.0,)),
    ],
)  # fmt: skip
def test_input_ranges_suit_the_first_layers(layers, expected):
    assert natural_scales(layers) == expected
