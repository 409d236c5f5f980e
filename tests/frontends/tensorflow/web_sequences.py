"""Networks over texts, series and sound."""

import keras
import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.web_layers import Called, Tensors, constant, draw, separated, spec

layers = keras.layers


def sentiment() -> keras.Model:
    """A classifier of texts of any length; 0 is padding."""
    words = layers.Input((None,), dtype="int32", name="words")
    x = layers.Embedding(50, 8, mask_zero=True)(words)
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True))(x)
    return draw(keras.Model(words, layers.Dense(3, "softmax")(layers.GRU(6)(x))), 11)


def series() -> keras.Model:
    """A forecast from a series of any length, with convolutions before the recurrence."""
    values = layers.Input((None, 2), name="values")
    x = layers.Conv1D(8, 3, padding="causal", activation="relu")(values)
    x = layers.LSTM(8, return_sequences=True)(x)
    x = layers.RNN([layers.GRUCell(6, reset_after=False), layers.LSTMCell(6)])(x)
    return draw(keras.Model(values, [layers.Dense(4)(x), layers.Dense(2, "softplus")(x)]), 12)


def captcha() -> keras.Model:
    """CRNN (Shi et al. 2015): convolutions, recurrences over columns, logits for CTC. The width is
    open.
    """
    image = layers.Input((None, 32, 1), name="image")
    x = image
    for filters in (8, 16):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Reshape((-1, 8 * 16))(x)
    x = layers.Dropout(0.2)(layers.Dense(16, "relu")(x))
    for _ in range(2):
        x = layers.Bidirectional(layers.LSTM(8, return_sequences=True))(x)
    return draw(keras.Model(image, layers.Dense(12, "softmax")(x)), 13)


class Attention(layers.Layer):
    """Attention of several heads with an additive mask (Vaswani et al. 2017)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.query, self.key, self.value, self.out = (layers.Dense(width) for _ in range(4))

    def build(self, *shapes: object) -> None:
        for part in (self.query, self.key, self.value, self.out):
            part.build((None, None, self.width))

    def split(self, x: tf.Tensor) -> tf.Tensor:
        shape = tf.shape(x)
        size = self.width // self.heads
        return tf.transpose(tf.reshape(x, [shape[0], shape[1], self.heads, size]), [0, 2, 1, 3])

    def call(self, x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(self.width / self.heads)
        read = tf.matmul(tf.nn.softmax(scores + mask), value)
        shape = tf.shape(x)
        return self.out(tf.reshape(tf.transpose(read, [0, 2, 1, 3]), [shape[0], shape[1], -1]))


def bert() -> Called:
    """The encoder of BERT (Devlin et al. 2018), and its heads for words and for the pooled text."""
    width = 32
    states, mask = layers.Input((None, width)), layers.Input((1, 1, None))
    x = layers.LayerNormalization(epsilon=1e-12)(states)
    for _ in range(2):
        x = layers.LayerNormalization(epsilon=1e-12)(x + Attention(width, 4)(x, mask))
        y = layers.Dense(width)(layers.Dense(4 * width, "gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-12)(x + y)
    pooled = layers.Dense(width, "tanh")(x[:, 0])
    model = draw(keras.Model([states, mask], [x, pooled]), 14)
    words = tf.Variable(constant(60, width))

    def encode(
        input_ids: tf.Tensor, attention_mask: tf.Tensor, token_type_ids: tf.Tensor
    ) -> Tensors:
        embedded = tf.gather(words, input_ids)
        length = tf.shape(input_ids)[1]
        embedded += constant(32, width)[:length] + tf.one_hot(token_type_ids, 2) @ constant(
            2, width
        )
        mask = (1.0 - tf.cast(attention_mask, tf.float32)[:, None, None, :]) * -10000.0
        x, pooled = model([embedded, mask])
        return {
            "last_hidden_state": x,
            "pooler_output": pooled,
            "logits": tf.einsum("bsh,vh->bsv", x, words),
        }

    names = ("input_ids", "attention_mask", "token_type_ids")
    specs = {name: spec(name, None, None, dtype="int32") for name in names}
    called = Called(encode, specs, model)
    called.words = words
    return called


def yamnet() -> Called:
    """YAMNet (Plakal, Ellis 2019): a waveform of any length, a log mel spectrogram, patches of it,
    and a MobileNet for each patch.
    """
    bands, patch = 16, 24
    picture = layers.Input((patch, bands, 1))
    x = layers.Conv2D(8, 3, 2, "same", use_bias=False)(picture)
    x = layers.ReLU()(layers.BatchNormalization(epsilon=1e-4)(x))
    for filters, strides in ((12, 1), (16, 2), (16, 1)):
        x = separated(x, filters, strides)
    x = layers.GlobalAveragePooling2D()(x)
    model = draw(keras.Model(picture, [layers.Dense(10, "sigmoid")(x), x]), 15)

    def listen(waveform: tf.Tensor) -> Tensors:
        least = 200 + 80 * (patch - 1)
        count = tf.shape(waveform)[0]
        waveform = tf.pad(waveform, [[0, tf.maximum(least - count, 0)]])
        power = tf.abs(tf.signal.stft(waveform, 200, 80, 256))
        mel = tf.signal.linear_to_mel_weight_matrix(bands, 129, 8000, 125.0, 3800.0)
        spectrogram = tf.math.log(tf.matmul(power, mel) + 0.001)
        patches = tf.signal.frame(spectrogram, patch, patch // 2, axis=0)
        scores, embeddings = model(patches[..., None])
        return {
            "scores": scores,
            "embeddings": embeddings,
            "log_mel_spectrogram": spectrogram,
            "class": tf.argmax(tf.reduce_mean(scores, 0)),
        }

    return Called(listen, {"waveform": spec("waveform", None)}, model)


def commands() -> keras.Model:
    """Speech commands (Sainath, Parada 2015) over a spectrogram."""
    sound = layers.Input((43, 64, 1), name="spectrogram")
    x = layers.BatchNormalization()(sound)
    for filters in (8, 16):
        x = layers.Conv2D(filters, (2, 8), activation="relu")(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Flatten()(layers.MaxPooling2D((2, 4))(x))
    return draw(keras.Model(sound, layers.Dense(8, "softmax")(layers.Dense(32, "relu")(x))), 16)
