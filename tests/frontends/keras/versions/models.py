"""Write `written/`: models that Keras 2 built, saved and computed. Run it twice:

    pip install tensorflow-cpu==2.12.1 && python models.py
    pip install tensorflow-cpu tf_keras && python models.py

The first run writes each model as `.h5`, its inputs (x0, ...) and outputs (y0, ...), and some
models as `.keras`; the second run writes the latter again.
"""

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

try:
    import tf_keras as keras
except ImportError:
    from tensorflow import keras

L = keras.layers
WRITTEN = Path(__file__).with_name("written")
FORMAT = "keras_v3" if keras.__version__.startswith("2.12") else "keras"
GATED = {"recurrent_activation": "hard_sigmoid"}


def chain(*layers):
    return keras.Sequential(layers)


def dense():
    return chain(
        L.Dense(6, activation="relu", input_shape=(5,)),
        L.BatchNormalization(epsilon=0.01),
        L.Dropout(0.5),
        L.LeakyReLU(0.2),
        L.PReLU(),
        L.GaussianNoise(0.1),
        L.Dense(4, use_bias=False),
        L.ELU(0.7),
        L.Activation("tanh"),
        L.Dense(3, activation="softmax"),
    )


def conv_2d():
    return chain(
        L.ZeroPadding2D((1, 2), input_shape=(7, 6, 3)),
        L.Conv2D(4, (3, 2), activation="relu"),
        L.BatchNormalization(),
        L.MaxPooling2D((2, 1)),
        L.Conv2D(3, (2, 3), padding="same", strides=(1, 2), use_bias=False),
        L.AveragePooling2D((2, 2), padding="same"),
        L.UpSampling2D((2, 3)),
        L.Cropping2D(((0, 1), (1, 0))),
        L.GlobalMaxPooling2D(),
        L.Dense(2),
    )


def flat():
    return chain(
        L.Conv2D(2, (3, 3), input_shape=(5, 6, 2)),
        L.Flatten(),
        L.Dense(4),
        L.Reshape((2, 2)),
        L.Permute((2, 1)),
    )


def conv_1d():
    return chain(
        L.Conv1D(4, 3, activation="tanh", input_shape=(9, 3)),
        L.MaxPooling1D(2),
        L.ZeroPadding1D(1),
        L.Conv1D(3, 2, strides=2, padding="same"),
        L.UpSampling1D(2),
        L.GlobalAveragePooling1D(),
        L.RepeatVector(2),
    )


def atrous():
    return chain(
        L.Conv2D(3, (2, 3), dilation_rate=(2, 1), input_shape=(7, 6, 2)), L.GlobalAveragePooling2D()
    )


def atrous_1d():
    return chain(L.Conv1D(3, 3, dilation_rate=2, input_shape=(9, 2)), L.GlobalMaxPooling1D())


def conv_3d():
    return chain(
        L.Conv3D(3, (2, 2, 3), activation="relu", input_shape=(5, 4, 5, 2)),
        L.MaxPooling3D((2, 1, 1)),
        L.Conv3D(2, (1, 2, 2), padding="same"),
        L.GlobalAveragePooling3D(),
        L.Dense(2),
    )


def transposed():
    return chain(
        L.Conv2DTranspose(4, (3, 2), strides=(2, 1), padding="same", input_shape=(4, 5, 3)),
        L.Conv2DTranspose(2, (2, 3), activation="relu"),
        L.GlobalAveragePooling2D(),
    )


def separable():
    return chain(
        L.SeparableConv2D(4, (3, 2), depth_multiplier=2, input_shape=(6, 5, 3), activation="relu"),
        L.GlobalAveragePooling2D(),
    )


def lstm():
    return chain(
        L.LSTM(4, return_sequences=True, input_shape=(6, 3), **GATED),
        L.LSTM(3, go_backwards=True, **GATED),
        L.Dense(2),
    )


def gru():
    return chain(
        L.GRU(4, return_sequences=True, reset_after=False, input_shape=(6, 3), **GATED),
        L.GRU(3, reset_after=False, **GATED),
    )


def gru_after():
    return chain(
        L.GRU(4, return_sequences=True, reset_after=True, input_shape=(6, 3)),
        L.GRU(3, reset_after=True),
    )


def lstm_sigmoid():
    return chain(L.LSTM(4, return_sequences=True, input_shape=(6, 3)), L.LSTM(3))


def simple():
    return chain(
        L.SimpleRNN(4, return_sequences=True, input_shape=(6, 3)),
        L.SimpleRNN(3, activation="relu", unroll=True),
    )


def both_ways():
    return chain(
        L.Bidirectional(L.LSTM(3, return_sequences=True, **GATED), input_shape=(5, 4)),
        L.Bidirectional(L.GRU(2, reset_after=False, **GATED), merge_mode="sum"),
    )  # fmt: skip


def over_time():
    return chain(
        L.TimeDistributed(L.Conv2D(3, (2, 2), activation="relu"), input_shape=(4, 5, 4, 2)),
        L.TimeDistributed(L.BatchNormalization()),
        L.TimeDistributed(L.Flatten()),
        L.TimeDistributed(L.Dense(3)),
        L.LSTM(2, **GATED),
    )


def words():
    return chain(
        L.Embedding(9, 4, mask_zero=True, input_length=6),
        L.LSTM(3, return_sequences=True, **GATED),
        L.GRU(2, reset_after=False, **GATED),
    )


def masked():
    return chain(
        L.Masking(0.0, input_shape=(6, 3)),
        L.LSTM(3, **GATED),
        L.Dense(2, activation="hard_sigmoid"),
    )


def images_over_time():
    return chain(
        L.ConvLSTM2D(
            2, (2, 2), return_sequences=True, input_shape=(3, 5, 4, 2), padding="same", **GATED
        ),
        L.ConvLSTM2D(2, (2, 3), **GATED),
        L.GlobalAveragePooling2D(),
    )


def local():
    return chain(
        L.LocallyConnected1D(3, 2, strides=2, activation="relu", input_shape=(7, 2)),
        L.GlobalMaxPooling1D(),
    )


def local_2d():
    return chain(
        L.LocallyConnected2D(2, (2, 3), input_shape=(5, 6, 2)), L.GlobalMaxPooling2D(), L.Dense(2)
    )


def local_2():
    return chain(
        L.LocallyConnected2D(2, (2, 3), padding="same", implementation=2, input_shape=(5, 4, 2)),
        L.LocallyConnected2D(2, (2, 2), implementation=3),
    )


def thresholds():
    return chain(
        L.Dense(6, input_shape=(4,)),
        L.ThresholdedReLU(0.3),
        L.Dense(3),
        L.LeakyReLU(0.3),
        L.Dense(2, activation="softplus"),
    )


def merged():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    c, d = L.Dense(3, name="left")(a), L.Dense(3, name="right")(b)
    parts = [
        L.Add()([c, d]),
        L.Multiply()([c, d]),
        L.Average()([c, d]),
        L.Maximum()([c, d]),
        L.Dot(axes=1)([c, d]),
    ]
    return keras.Model([a, b], [L.Dense(2, name="top")(L.Concatenate()(parts)), c])


def nested():
    inner = keras.Sequential(
        [
            L.Dense(4, activation="relu", input_shape=(5,), name="inside"),
            L.BatchNormalization(name="norm"),
        ],
        name="inner",
    )
    x = keras.Input((5,), name="given")
    y = L.Dense(3, name="last")(inner(x))
    middle = keras.Model(x, L.BatchNormalization(name="outer_norm")(y), name="middle")
    z = keras.Input((5,), name="start")
    return keras.Model(z, L.Dense(2, name="end")(middle(z)), name="whole")


def shared():
    tower = keras.Sequential(
        [L.Dense(4, activation="tanh", input_shape=(5,), name="first"), L.Dense(3, name="second")],
        name="tower",
    )
    a, b = keras.Input((5,), name="a"), keras.Input((5,), name="b")
    dense = L.Dense(2, name="again")
    return keras.Model([a, b], L.Concatenate(name="pair")([dense(tower(a)), dense(tower(b))]))


def frozen():
    inner = keras.Sequential(
        [
            L.Dense(4, input_shape=(5,), name="still"),
            L.BatchNormalization(name="norm"),
            L.Dense(3, name="moving"),
        ],
        name="inner",
    )
    inner.layers[0].trainable = False
    return chain(inner, L.Dense(2))


def attention():
    x = keras.Input((5, 4), name="x")
    y = L.MultiHeadAttention(2, 3, name="heads")(x, x)
    y = L.LayerNormalization(name="norm")(L.Add(name="sum")([x, y]))
    return keras.Model(x, L.Attention(name="scores")([y, x]))


def stacked():
    return chain(L.RNN([L.LSTMCell(3), L.GRUCell(2)], input_shape=(5, 4)), L.Dense(2))


def main():
    WRITTEN.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        keras.backend.clear_session()
        model = make()
        if not model.built:
            model.build((None, *model.input_shape[1:]))
        generator = np.random.default_rng(len(name))
        model.set_weights(
            [
                generator.uniform(
                    0.5 if "variance" in variable.name else -0.8, 0.9, variable.shape
                ).astype("float32")
                for variable in model.weights
            ]
        )
        given = []
        for tensor in model.inputs:
            shape = (2, *tensor.shape[1:])
            value = (
                generator.integers(0, 9, shape) if name == "words" else generator.normal(size=shape)
            )
            given.append(value.astype("float32"))
        if name == "masked":
            given[0][:, [1, 4]] = 0
        results = model(given if len(given) > 1 else given[0], training=False)
        results = [
            np.asarray(result) for result in (results if isinstance(results, list) else [results])
        ]
        if name in ARCHIVED:
            model.save(WRITTEN / f"{name}.{keras.__version__}.keras", save_format=FORMAT)
        if keras.__version__.startswith("2.12"):
            model.save(WRITTEN / f"{name}.h5", include_optimizer=False)
            arrays = {f"x{n}": value for n, value in enumerate(given)} | {
                f"y{n}": value for n, value in enumerate(results)
            }
            np.savez_compressed(WRITTEN / f"{name}.npz", **arrays)


MODELS = {
    make.__name__: make
    for make in (
        dense,
        conv_2d,
        flat,
        conv_1d,
        atrous,
        atrous_1d,
        conv_3d,
        transposed,
        separable,
        lstm,
        gru,
        gru_after,
        lstm_sigmoid,
        simple,
        both_ways,
        over_time,
        words,
        masked,
        images_over_time,
        local,
        local_2d,
        local_2,
        thresholds,
        merged,
        nested,
        shared,
        frozen,
        attention,
        stacked,
    )
}

ARCHIVED = frozenset({"both_ways", "merged", "nested"})
"""Models that are also saved as `.keras`."""

if __name__ == "__main__":
    main()
