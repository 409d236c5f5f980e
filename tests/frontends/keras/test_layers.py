"""Every built-in layer and its options against Keras."""

import keras
import pytest
from keras import layers as L

from webkiln.errors import ShapeError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.layers.activations import ACTIVATIONS
from webkiln.frontends.keras.layers.table import LAYERS

IMAGE, SEQUENCE, VOLUME, VECTOR = (9, 8, 4), (11, 4), (6, 5, 7, 2), (6,)
FIRST = (4, 9, 8)

CASES = [
    (VECTOR, lambda: L.Dense(5)),
    (VECTOR, lambda: L.Dense(5, use_bias=False, activation="relu")),
    (SEQUENCE, lambda: L.Dense(3, activation="softmax")),
    (IMAGE, lambda: L.Dense(3, activation=L.LeakyReLU(negative_slope=0.3))),
    *[
        (SEQUENCE, lambda options=options: L.Conv1D(6, **options))
        for options in (
            {"kernel_size": 3},
            {"kernel_size": 4, "padding": "same", "strides": 2},
            {"kernel_size": 3, "padding": "causal", "dilation_rate": 2},
            {"kernel_size": 2, "groups": 2, "use_bias": False, "activation": "tanh"},
        )
    ],
    *[
        (IMAGE, lambda options=options: L.Conv2D(4, **options))
        for options in (
            {"kernel_size": 3},
            {"kernel_size": (3, 2), "padding": "same"},
            {"kernel_size": (4, 3), "padding": "same", "strides": (2, 3)},
            {"kernel_size": (2, 3), "padding": "same", "strides": 3},
            {"kernel_size": 3, "dilation_rate": (2, 1)},
            {"kernel_size": 3, "padding": "same", "dilation_rate": 2, "groups": 4},
            {"kernel_size": 1, "groups": 2, "activation": "gelu"},
        )
    ],
    (FIRST, lambda: L.Conv2D(6, 3, padding="same", strides=2, data_format="channels_first")),
    (VOLUME, lambda: L.Conv3D(3, (2, 3, 2), padding="same", strides=(2, 1, 2))),
    (VOLUME, lambda: L.Conv3D(4, 2, activation="sigmoid")),
    (IMAGE, lambda: L.DepthwiseConv2D(3)),
    (IMAGE, lambda: L.DepthwiseConv2D((3, 2), strides=2, padding="same", depth_multiplier=3, activation="relu")),
    (IMAGE, lambda: L.DepthwiseConv2D(3, dilation_rate=2, use_bias=False)),
    (SEQUENCE, lambda: L.DepthwiseConv1D(3, depth_multiplier=2)),
    *[
        (shape, lambda layer=layer, options=options: layer(**options))
        for shape, layer in ((SEQUENCE, L.MaxPooling1D), (IMAGE, L.MaxPooling2D), (VOLUME, L.MaxPooling3D),
                             (SEQUENCE, L.AveragePooling1D), (IMAGE, L.AveragePooling2D), (VOLUME, L.AveragePooling3D))
        for options in ({"pool_size": 2}, {"pool_size": 3, "strides": 2, "padding": "same"}, {"pool_size": 2, "strides": 1})
    ],
    (FIRST, lambda: L.MaxPooling2D((2, 3), padding="same", data_format="channels_first")),
    *[
        (shape, lambda layer=layer, keep=keep: layer(keepdims=keep))
        for shape, layer in ((SEQUENCE, L.GlobalMaxPooling1D), (IMAGE, L.GlobalMaxPooling2D), (VOLUME, L.GlobalMaxPooling3D),
                             (SEQUENCE, L.GlobalAveragePooling1D), (IMAGE, L.GlobalAveragePooling2D), (VOLUME, L.GlobalAveragePooling3D))
        for keep in (False, True)
    ],
    (FIRST, lambda: L.GlobalAveragePooling2D(data_format="channels_first")),
    (IMAGE, lambda: L.BatchNormalization()),
    (IMAGE, lambda: L.BatchNormalization(axis=1, epsilon=0.1)),
    (VECTOR, lambda: L.BatchNormalization(scale=False)),
    (SEQUENCE, lambda: L.BatchNormalization(center=False, scale=False)),
    (VECTOR, lambda: L.ReLU()),
    (VECTOR, lambda: L.ReLU(max_value=1.0)),
    (VECTOR, lambda: L.ReLU(negative_slope=0.2, max_value=0.5)),
    (VECTOR, lambda: L.ReLU(threshold=0.4)),
    (VECTOR, lambda: L.ReLU(threshold=0.4, negative_slope=0.1, max_value=1.0)),
    (VECTOR, lambda: L.LeakyReLU(negative_slope=0.1)),
    (VECTOR, lambda: L.ELU(alpha=0.7)),
    (IMAGE, lambda: L.Softmax()),
    (IMAGE, lambda: L.Softmax(axis=1)),
    (IMAGE, lambda: L.Softmax(axis=(1, 2))),
    (IMAGE, lambda: L.Flatten()),
    (FIRST, lambda: L.Flatten(data_format="channels_first")),
    (IMAGE, lambda: L.Reshape((6, -1))),
    (IMAGE, lambda: L.Permute((3, 1, 2))),
    (SEQUENCE, lambda: L.ZeroPadding1D((1, 2))),
    (IMAGE, lambda: L.ZeroPadding2D(((1, 0), (2, 3)))),
    (FIRST, lambda: L.ZeroPadding2D(1, data_format="channels_first")),
    (VOLUME, lambda: L.ZeroPadding3D((1, 0, 2))),
    *[(VECTOR, lambda layer=layer: layer) for layer in (L.Dropout(0.5), L.AlphaDropout(0.5), L.GaussianDropout(0.5), L.GaussianNoise(1.0),
                                                        L.ActivityRegularization(0.1), L.Identity())],
    (SEQUENCE, lambda: L.SpatialDropout1D(0.5)),
    (IMAGE, lambda: L.SpatialDropout2D(0.5)),
    (VOLUME, lambda: L.SpatialDropout3D(0.5)),
]  # fmt: skip

MERGES = [
    lambda: L.Add(),
    lambda: L.Subtract(),
    lambda: L.Multiply(),
    lambda: L.Average(),
    lambda: L.Maximum(),
    lambda: L.Minimum(),
    lambda: L.Concatenate(),
    lambda: L.Concatenate(axis=1),
]


def single(shape, layer):
    x = keras.Input(shape, name="x")
    return keras.Model(x, layer(x))


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda index: f"{index}")
def test_layer(compare, case, tmp_path):
    shape, make = CASES[case]
    model = single(shape, make())
    in_memory = compare(model)
    model.save(tmp_path / "m.keras")
    assert KerasConverter(batch_size=2).convert(tmp_path / "m.keras") == in_memory


@pytest.mark.parametrize("make", MERGES, ids=lambda make: type(make()).__name__)
def test_merge(compare, make):
    inputs = [keras.Input((3, 4), name=name) for name in "ab"]
    compare(keras.Model(inputs, make()(inputs)))


def test_merge_broadcasts_lower_ranks_after_the_batch(compare):
    inputs = [keras.Input((3, 4), name="a"), keras.Input((4,), name="b"), keras.Input((3, 1), name="c")]
    compare(keras.Model(inputs, L.Add()(inputs)))


@pytest.mark.parametrize("name", sorted(name for name in ACTIVATIONS if name[0].islower() and name != "hard_sigmoid_2"))
def test_activation(compare, name):
    compare(single((12,), L.Activation(name)))


def test_every_built_in_layer_has_a_case():
    tested = {type(make()).__name__ for _, make in CASES} | {type(make()).__name__ for make in MERGES} | {"Activation"}
    assert set(LAYERS) <= tested


def test_channels_that_do_not_fit_name_what_would():
    model = single((8, 8, 6), L.Conv2D(4, 3, groups=1, name="conv"))
    kernel = model.get_layer("conv").kernel
    kernel._value = kernel._value[:, :, :3]
    with pytest.raises(ShapeError, match=r"conv \(Conv2D\): the kernel has 3 input channels, x has 6; .*groups=2 would fit"):
        KerasConverter().convert(model)


def test_unsupported_activation_is_listed_with_the_others():
    @keras.saving.register_keras_serializable(package="tests")
    def odd(x):
        return x

    x = keras.Input((4,))
    y = L.Dense(2, activation=odd, name="first")(x)
    model = keras.Model(x, L.Dense(2, activation=odd, name="second")(y))
    with pytest.raises(UnsupportedError) as error:
        KerasConverter().convert(model)
    assert [where for where, _, _ in error.value.items] == ["first (Dense)", "second (Dense)"]
