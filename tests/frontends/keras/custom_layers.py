"""User-defined layers, and models of one layer."""

import keras
import pytest
from keras import layers as L
from keras import ops

from webkiln.errors import UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter


def model_of(layer, shape=(6,)):
    x = keras.Input(shape, name="x")
    return keras.Model(x, layer(x))


def layer_of(call, build=None, **attributes):
    """A layer named `custom`; its call is a function of (layer, x)."""

    class Custom(L.Layer):
        def build(self, shape):
            if build is not None:
                build(self, shape)
            self.built = True

        def call(self, x):
            return call(self, x)

    layer = Custom(name="custom")
    for name, value in attributes.items():
        setattr(layer, name, value)
    return layer


def refusal(model, *, batch=1):
    with pytest.raises(UnsupportedError) as error:
        KerasConverter(batch_size=batch).convert(model)
    ((where, what, _),) = error.value.items
    assert where == "custom (Custom)"
    return what


class Block(L.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.parts = [L.Dense(6, activation="relu") for _ in range(3)]
        self.norm = L.LayerNormalization()
        self.drop = L.Dropout(0.5)

    def build(self, shape):
        self.gain = [self.add_weight(name=f"gain{index}", shape=(6,)) for index in range(2)]
        for part in (*self.parts, self.norm):
            part.build(shape)
        self.built = True

    def call(self, x, training=None):
        for part in self.parts:
            x = x + self.drop(self.norm(part(x)), training=training)
        if training:
            x = x * 0
        width = ops.shape(x)[-1]
        x = ops.reshape(ops.reshape(x, (-1, width // 2, 2)), (-1, width))
        return ops.sqrt(ops.abs(self.gain[0])) * x + ops.matmul(x, self.parts[0].kernel) * (
            self.gain[1] * 2
        )
