"""What is refused of a layer, in words, before anything is converted; and what only its weights tell."""

import keras
import pytest
from keras import layers as L

from tests.frontends.keras.layer_cases import NOT_CONVERTED, REFUSED
from webkiln.errors import ShapeError, UnsupportedError, UserError
from webkiln.frontends.keras.converter import KerasConverter


def single(shape, layer):
    x = keras.Input(shape, name="x")
    return keras.Model(x, layer(x))


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.what)
def test_refused(case, tmp_path):
    single(case.shape, case.call).save(tmp_path / "m.keras")
    with pytest.raises(UserError) as error:
        KerasConverter().convert(tmp_path / "m.keras")
    assert case.message in str(error.value)


def test_layers_without_a_handler_are_named_together(tmp_path):
    x = keras.Input((5, 4), name="x")
    y = L.MultiHeadAttention(2, 3, name="first")(x, x)
    keras.Model(x, L.Attention(name="second")([y, y])).save(tmp_path / "m.keras")
    with pytest.raises(UnsupportedError) as error:
        KerasConverter().convert(tmp_path / "m.keras")
    found = [(where, what) for where, what, _ in error.value.items]
    assert found == [("first (MultiHeadAttention)", "no handler"), ("second (Attention)", "no handler")]
    assert {"MultiHeadAttention", "Attention"} <= set(NOT_CONVERTED)


def test_channels_that_do_not_fit_name_what_would():
    model = single((8, 8, 6), L.Conv2D(4, 3, groups=1, name="conv"))
    kernel = model.get_layer("conv").kernel
    kernel._value = kernel._value[:, :, :3]
    with pytest.raises(ShapeError, match=r"conv \(Conv2D\): the kernel has 3 input channels, x has 6; .*groups=2 would fit"):
        KerasConverter().convert(model)


@pytest.mark.parametrize(
    ("shape", "layer", "weight", "message"),
    [
        ((6,), L.LayerNormalization(name="norm"), "gamma", r"norm \(LayerNormalization\): gamma is \[5\], x needs \[6\]"),
        ((6,), L.GroupNormalization(3, name="norm"), "beta", r"norm \(GroupNormalization\): beta is \[5\], x needs \[6\]"),
        ((6,), L.PReLU(name="prelu"), "alpha", r"prelu \(PReLU\): alpha is \[5\], x is \[1, 6\]; each size of alpha"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit(shape, layer, weight, message):
    model = single(shape, layer)
    variable = getattr(layer, weight)
    variable._value = variable._value[:5]
    with pytest.raises(ShapeError, match=message):
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
