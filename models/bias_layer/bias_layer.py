"""The tutorial's model, Input((10,)) -> BiasLayer with bias 100, and the handler that converts its
layer.

The recipe uses this file twice: as the script that exports the model, and as the plugin that
defines the class and its handler.
"""

from pathlib import Path

import keras
import numpy as np

from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.layer import Layer
from webkiln.ir.axis import OrderC


@keras.saving.register_keras_serializable(package="tutorial")
class BiasLayer(keras.layers.Layer):
    """x [N,C] -> x + bias [C]."""

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        self.bias = self.add_weight(name="bias", shape=(input_shape[1],), initializer="uniform")
        super().build(input_shape)

    def call(self, x: keras.KerasTensor) -> keras.KerasTensor:
        return x + self.bias


@KerasConverter.register_handler("BiasLayer")
def bias_handler(converter: KerasConverter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    b = converter.convert_to_constant_variable(layer.bias, OrderC)
    converter.set_variable(converter.get_output_tensor(layer)[0], x + b)


def export(path: Path) -> None:
    x = keras.Input((10,), name="x")
    model = keras.Model(x, BiasLayer(name="y")(x), name="bias_layer")
    model.get_layer("y").set_weights([np.full(10, 100.0, np.float32)])
    model.save(path)
