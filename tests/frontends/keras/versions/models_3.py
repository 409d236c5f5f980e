"""Models of Keras 3. The files of Keras 3.0 are in `written/`:

    pip install keras==3.0.5 && KERAS_BACKEND=jax python models_3.py

Tests save the same models, with the same weights, with the installed Keras.
"""

from pathlib import Path

import keras
import numpy as np
from keras import layers as L

WRITTEN = Path(__file__).with_name("written")


def dense():
    return keras.Sequential(
        [
            keras.Input((5,)),
            L.Dense(6, activation="relu"),
            L.BatchNormalization(),
            L.Dropout(0.5),
            L.LeakyReLU(),
            L.PReLU(),
            L.Dense(3, activation="hard_sigmoid"),
        ]
    )


def conv_2d():
    return keras.Sequential(
        [
            keras.Input((7, 6, 3)),
            L.Conv2D(4, (3, 2), activation="relu"),
            L.MaxPooling2D((2, 1)),
            L.DepthwiseConv2D((2, 2)),
            L.SeparableConv2D(3, (1, 2)),
            L.Flatten(),
            L.Dense(2),
        ]
    )


def both_ways():
    return keras.Sequential(
        [
            keras.Input((5, 4)),
            L.Bidirectional(L.LSTM(3, return_sequences=True)),
            L.GRU(3, return_sequences=True),
            L.TimeDistributed(L.Dense(2)),
        ]
    )


def words():
    return keras.Sequential(
        [keras.Input((6,)), L.Embedding(9, 4, mask_zero=True), L.LSTM(3), L.Dense(2)]
    )


def nested():
    inner = keras.Sequential(
        [keras.Input((5,)), L.Dense(4, activation="relu"), L.BatchNormalization()], name="inner"
    )
    x = keras.Input((5,), name="given")
    middle = keras.Model(x, L.Dense(5)(inner(x)), name="middle")
    z = keras.Input((5,), name="start")
    return keras.Model(z, L.Dense(2, name="end")(middle(middle(z))), name="whole")


def merged():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    c, d = L.Dense(3)(a), L.Dense(3)(b)
    return keras.Model(
        [a, b], [L.Dense(2)(L.Concatenate()([c, L.Multiply()([c, d]), L.Dot(axes=1)([c, d])])), c]
    )


def attention():
    x = keras.Input((5, 4), name="x")
    y = L.MultiHeadAttention(2, 3)(x, x)
    return keras.Model(x, L.LayerNormalization()(L.Add()([x, y])))


def stacked():
    return keras.Sequential([keras.Input((5, 4)), L.RNN([L.LSTMCell(3), L.GRUCell(2)]), L.Dense(2)])


MODELS = {
    make.__name__: make
    for make in (dense, conv_2d, both_ways, words, nested, merged, attention, stacked)
}


def build(name):
    """A model with random weights, the same in every version."""
    keras.utils.clear_session()
    model = MODELS[name]()
    generator = np.random.default_rng(len(name))
    for variable in model.weights:
        variable.assign(
            generator.uniform(
                0.5 if "variance" in variable.name else -0.8, 0.9, variable.shape
            ).astype("float32")
        )
    return model


def main():
    for name in MODELS:
        model = build(name)
        generator = np.random.default_rng(len(name))
        shapes = [(2, *tensor.shape[1:]) for tensor in model.inputs]
        given = [
            (
                generator.integers(0, 9, shape) if name == "words" else generator.normal(size=shape)
            ).astype("float32")
            for shape in shapes
        ]
        results = model(given if len(given) > 1 else given[0], training=False)
        model.save(WRITTEN / f"{name}.{keras.__version__}.keras")
        arrays = {f"x{n}": value for n, value in enumerate(given)}
        arrays |= {
            f"y{n}": np.asarray(result)
            for n, result in enumerate(results if isinstance(results, list) else [results])
        }
        np.savez_compressed(WRITTEN / f"{name}.3.0.npz", **arrays)


if __name__ == "__main__":
    main()
