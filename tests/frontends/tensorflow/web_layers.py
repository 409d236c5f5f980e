"""Layers of the networks of `web_networks.zip`, and their weights."""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

Tensors = dict[str, tf.Tensor]


def draw(model: keras.Model, seed: int) -> keras.Model:
    """Give each weight one of three values, so that the archive stays small. Activations keep their
    scale from layer to layer.
    """
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        shape = tuple(weight.shape)
        if not weight.dtype.startswith("float"):
            continue
        steps = rng.integers(-1, 2, shape).astype(np.float32)
        if weight.name in ("gamma", "moving_variance", "variance"):
            values = 1 + steps / 4
        elif weight.name in ("beta", "bias", "moving_mean", "mean", "alpha"):
            values = steps / 8
        else:
            fan_in = np.prod(shape[:2] if weight.name == "depthwise_kernel" else shape[:-1])
            values = steps * np.sqrt(2.5 / max(fan_in, 1))
        weight.assign(values.astype(np.float32))
    return model


def constant(*shape: int, scale: float = 0.5) -> tf.Tensor:
    """One of three values for each element. The shape is the seed."""
    steps = np.random.default_rng(list(shape)).integers(-1, 2, shape)
    return tf.constant((steps * scale).astype(np.float32))


def convolved(
    x: keras.KerasTensor, filters: int, size: int = 3, strides: int = 1, activation: str = "relu"
) -> keras.KerasTensor:
    """A convolution without bias, a batch normalisation and an activation."""
    x = keras.layers.Conv2D(filters, size, strides, "same", use_bias=False)(x)
    return keras.layers.Activation(activation)(keras.layers.BatchNormalization()(x))


def separated(
    x: keras.KerasTensor, filters: int, strides: int = 1, dilation: int = 1
) -> keras.KerasTensor:
    """The block of MobileNet (Howard et al. 2017)."""
    x = keras.layers.DepthwiseConv2D(3, strides, "same", dilation_rate=dilation, use_bias=False)(x)
    x = keras.layers.ReLU(6.0)(keras.layers.BatchNormalization()(x))
    return convolved(x, filters, 1, activation="relu6")


def resized(x: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    return tf.image.resize(x, tf.shape(like)[1:3])


class Called(tf.Module):
    """A function that calls models, as its one signature."""

    def __init__(
        self,
        function: Callable[..., Tensors],
        specs: dict[str, tf.TensorSpec],
        *models: keras.Model,
    ) -> None:
        super().__init__()
        self.models = models
        self.function = tf.function(function, input_signature=list(specs.values()))

    def save(self, folder: str) -> None:
        tf.saved_model.save(self, folder, signatures=self.function.get_concrete_function())


def spec(name: str, *shape: int | None, dtype: str = "float32") -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype, name)
