"""Small networks that TensorFlow's converter writes to model files, each in one or more kinds."""

from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

FLOAT, HALF, DYNAMIC, INT8, UINT8, INT16 = "float", "float16", "dynamic", "int8", "uint8", "int16x8"


@dataclass(frozen=True)
class Network:
    """`make` returns a Keras model, or a function of tensors with the shapes `shapes`. None in a
    shape is dynamic; `sizes` are the values for the test.
    """

    name: str
    make: Callable[[], object]
    kinds: tuple[str, ...] = (FLOAT,)
    shapes: tuple[tuple[int | None, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    spread: float = 1.0


def layers(
    shape: tuple[int | None, ...], *constructors: Callable[[], keras.layers.Layer]
) -> Callable[[], keras.Model]:
    return lambda: keras.Sequential(
        [keras.Input(shape, batch_size=1), *(construct() for construct in constructors)]
    )


L = keras.layers
ALL = (FLOAT, HALF, DYNAMIC, INT8, INT16)
INTEGERS = (FLOAT, INT8, INT16)


def weights(*shape: int, seed: int = 0) -> tf.Tensor:
    return tf.constant(np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32))


def branches() -> keras.Model:
    x = keras.Input((8, 8, 4), batch_size=1)
    a = L.Conv2D(6, 3, padding="same", activation="relu")(x)
    b = L.Conv2D(6, 1, padding="same")(x)
    y = L.Add()([a, b])
    z = L.Concatenate()([y, L.AveragePooling2D(2, strides=1, padding="same")(a)])
    z = L.Multiply()([z, L.Conv2D(12, 1, activation="sigmoid")(z)])
    return keras.Model(x, L.Dense(5, activation="softmax")(L.GlobalAveragePooling2D()(z)))


def subtracted() -> keras.Model:
    x = keras.Input((6, 6, 4), batch_size=1)
    a, b = L.Conv2D(4, 3, padding="same")(x), L.DepthwiseConv2D(3, padding="same")(x)
    return keras.Model(x, L.Subtract()([a, b]))


def residual() -> keras.Model:
    x = keras.Input((12, 12, 3), batch_size=1)
    y = L.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(x)
    y = L.ReLU(6.0)(L.BatchNormalization()(y))
    z = L.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
    z = L.ReLU(6.0)(L.BatchNormalization()(z))
    z = L.Conv2D(8, 1)(z)
    return keras.Model(x, L.Dense(4)(L.Flatten()(L.Add()([y, z]))))


def fused_lstm(*, last: bool) -> Callable[[], object]:
    """An LSTM with the name of the layer of tf.keras, which the converter fuses."""
    units, steps = 6, 7
    attributes = {
        "api_implements": "lstm_0",
        "api_preferred_device": "CPU",
        "go_backwards": False,
        "time_major": False,
    }

    @tf.function(experimental_attributes=attributes, autograph=False)
    def standard_lstm(
        x: tf.Tensor,
        h: tf.Tensor,
        c: tf.Tensor,
        kernel: tf.Tensor,
        recurrent: tf.Tensor,
        bias: tf.Tensor,
    ) -> tuple[tf.Tensor, ...]:
        outputs = []
        for step in range(steps):
            input_, forget, fresh, shown = tf.split(
                x[:, step] @ kernel + h @ recurrent + bias, 4, 1
            )
            c = tf.sigmoid(forget) * c + tf.sigmoid(input_) * tf.tanh(fresh)
            h = tf.sigmoid(shown) * tf.tanh(c)
            outputs.append(h)
        return h, tf.stack(outputs, 1), h, c, tf.constant(1.0)

    def layer(x: tf.Tensor) -> tf.Tensor:
        zeros = tf.zeros((x.shape[0], units))
        parameters = (
            weights(x.shape[2], 4 * units, seed=1),
            weights(units, 4 * units, seed=2),
            weights(4 * units, seed=3),
        )
        y = standard_lstm(x, zeros, zeros, *parameters)
        return y[0] @ weights(units, 3, seed=4) if last else y[1]

    return lambda: layer


def fn(function: Callable[..., object]) -> Callable[[], object]:
    return lambda: function


NETWORKS: list[Network] = [
    Network(
        "conv_same",
        layers((9, 7, 3), lambda: L.Conv2D(5, 3, strides=2, padding="same", activation="relu")),
        ALL,
    ),
    Network("conv_valid", layers((9, 8, 3), lambda: L.Conv2D(4, (3, 2), activation="relu")), ALL),
    Network(
        "conv_dilated",
        layers((10, 9, 2), lambda: L.Conv2D(4, 3, dilation_rate=2, padding="same")),
        ALL,
    ),
    Network(
        "conv_relu6",
        layers((7, 7, 3), lambda: L.Conv2D(4, 3), lambda: L.ReLU(6.0)),
        INTEGERS,
        spread=6.0,
    ),
    Network("conv_deep", layers((5, 5, 64), lambda: L.Conv2D(3, 3)), (FLOAT, INT8, INT16)),
    Network(
        "depthwise",
        layers(
            (9, 9, 4), lambda: L.DepthwiseConv2D(3, strides=2, padding="same", depth_multiplier=2)
        ),
        ALL,
    ),
    Network(
        "separable",
        layers((8, 8, 3), lambda: L.SeparableConv2D(6, 3, padding="same", activation="relu")),
        (FLOAT, DYNAMIC, INT8),
    ),
    Network(
        "transposed",
        layers((5, 6, 3), lambda: L.Conv2DTranspose(4, 3, strides=2, padding="same")),
        INTEGERS,
    ),
    Network(
        "transposed_valid",
        layers((4, 5, 3), lambda: L.Conv2DTranspose(2, 4, strides=3)),
        (FLOAT, INT8),
    ),
    Network(
        "conv_1d",
        layers((12, 4), lambda: L.Conv1D(5, 3, padding="same", activation="relu")),
        (FLOAT, DYNAMIC, INT8),
    ),
    Network("conv_3d", layers((5, 6, 4, 2), lambda: L.Conv3D(3, 3, padding="same"))),
    Network(
        "dense",
        layers(
            (12,), lambda: L.Dense(8, activation="relu"), lambda: L.Dense(5, activation="softmax")
        ),
        ALL,
    ),
    Network(
        "dense_rows", layers((6, 10), lambda: L.Dense(7, activation="tanh")), (FLOAT, DYNAMIC, INT8)
    ),
    Network(
        "wide",
        layers(
            (5, 5, 24),
            lambda: L.Conv2D(64, 3, activation="relu"),
            L.GlobalAveragePooling2D,
            lambda: L.Dense(128),
        ),
        (HALF, DYNAMIC, INT8, INT16),
    ),
    Network("branches", branches, (FLOAT, HALF, DYNAMIC, INT8, INT16)),
    Network("subtracted", subtracted, INTEGERS),
    Network("residual", residual, (FLOAT, DYNAMIC, INT8, INT16)),
    Network(
        "max_pool",
        layers(
            (9, 9, 3), lambda: L.MaxPooling2D(3, strides=2, padding="same"), lambda: L.Conv2D(3, 1)
        ),
        INTEGERS,
    ),
    Network(
        "average_pool",
        layers(
            (9, 9, 3),
            lambda: L.AveragePooling2D(3, strides=2, padding="same"),
            lambda: L.Conv2D(3, 1),
        ),
        INTEGERS,
    ),
    Network(
        "sigmoid", layers((20,), lambda: L.Dense(16, activation="sigmoid")), INTEGERS, spread=3.0
    ),
    Network("tanh", layers((20,), lambda: L.Dense(16, activation="tanh")), INTEGERS, spread=3.0),
    Network("softmax_rows", layers((7, 9), lambda: L.Dense(9), L.Softmax), INTEGERS, spread=3.0),
    Network(
        "leaky",
        layers((8, 8, 3), lambda: L.Conv2D(4, 3), lambda: L.LeakyReLU(negative_slope=0.2)),
        INTEGERS,
    ),
    Network(
        "prelu",
        layers((8, 8, 3), lambda: L.Conv2D(4, 3), lambda: L.PReLU("normal", shared_axes=[1, 2])),
        (FLOAT, INT8),
    ),
    Network(
        "hard_swish",
        layers((8, 8, 3), lambda: L.Conv2D(4, 3), lambda: L.Activation("hard_swish")),
        (FLOAT, INT8),
        spread=3.0,
    ),
    Network("elu", layers((20,), lambda: L.Dense(12, activation="elu")), (FLOAT, INT8), spread=2.0),
    Network("gelu", layers((20,), lambda: L.Dense(12, activation="gelu")), (FLOAT,), spread=2.0),
    Network(
        "upsample",
        layers((5, 4, 3), lambda: L.UpSampling2D(2), lambda: L.Conv2D(3, 3, padding="same")),
        (FLOAT, INT8),
    ),
    Network(
        "upsample_bilinear",
        layers(
            (5, 4, 3), lambda: L.UpSampling2D(2, interpolation="bilinear"), lambda: L.Conv2D(3, 1)
        ),
        (FLOAT, INT8),
    ),
    Network(
        "padded",
        layers((5, 4, 3), lambda: L.ZeroPadding2D(((1, 2), (0, 3))), lambda: L.Conv2D(3, 2)),
        INTEGERS,
    ),
    Network(
        "mean",
        layers((5, 4, 3), lambda: L.Conv2D(4, 2), lambda: L.GlobalAveragePooling2D(keepdims=True)),
        INTEGERS,
    ),
    Network(
        "permuted",
        layers(
            (5, 4, 3), lambda: L.Permute((3, 1, 2)), lambda: L.Reshape((12, 5)), lambda: L.Dense(4)
        ),
        (FLOAT, INT8),
    ),
    Network("lstm", layers((7, 5), lambda: L.LSTM(6, return_sequences=True)), (FLOAT, DYNAMIC)),
    Network("lstm_last", layers((7, 5), lambda: L.LSTM(6))),
    Network("lstm_fused", fused_lstm(last=False), (FLOAT, INT8), ((3, 7, 5),)),
    Network("lstm_fused_last", fused_lstm(last=True), (FLOAT, INT8), ((1, 7, 5),)),
    Network("gru", layers((5, 4), lambda: L.GRU(4, unroll=True)), INTEGERS),
    Network(
        "bidirectional", layers((5, 4), lambda: L.Bidirectional(L.LSTM(3, return_sequences=True)))
    ),
    Network("embedding", layers((9,), lambda: L.Embedding(20, 6)), (FLOAT, DYNAMIC), spread=19.0),
    Network("group_norm", layers((6, 6, 8), lambda: L.GroupNormalization(4))),
    Network("layer_norm", layers((6, 8), L.LayerNormalization)),
    Network(
        "attention",
        lambda: keras.Model(
            x := keras.Input((6, 8), batch_size=1), L.MultiHeadAttention(2, 4)(x, x)
        ),
        (FLOAT, DYNAMIC),
    ),
    Network(
        "open_batch",
        lambda: keras.Sequential([keras.Input((6, 6, 3)), L.Conv2D(4, 3), L.Flatten(), L.Dense(3)]),
        (FLOAT, INT8),
        sizes=(3,),
    ),
]
