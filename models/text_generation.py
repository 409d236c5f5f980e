"""Two small networks that generate text, one character at a time, in the style of the Python
reference. train_text.py trains them.

The recipes text_decoder and text_lstm use this file as the script that exports the models, and as
the plugin that defines their layers. The models read any number of characters per run, and return
the probabilities of the next one. Earlier characters are kept in states, which `model.reset()`
clears.
"""

from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers, ops

CHARACTERS = ("\n", *map(chr, range(32, 127)))
MEMORY = 128
"""The decoder's context length, in characters."""
WIDTH, HEADS, BLOCKS = 96, 4, 2
UNITS = 176
FOLDER = Path(__file__).parent


def encode(text: str) -> np.ndarray:
    """The indices of a text's characters. Unknown characters are skipped."""
    numbers = {character: number for number, character in enumerate(CHARACTERS)}
    return np.array([numbers[character] for character in text if character in numbers], np.int32)


@keras.saving.register_keras_serializable(package="text")
class Places(layers.Layer):
    """characters [N,T] -> positions [T]; with a state, counted from the last reset."""

    def __init__(self, *, stateful: bool, **options: Any) -> None:
        super().__init__(**options)
        self.stateful = stateful

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "stateful": self.stateful}

    def build(self, _: Any) -> None:
        if self.stateful:
            self.count = self.add_weight(
                name="count", shape=(), dtype="int32", initializer="zeros", trainable=False
            )

    def call(self, characters: Any) -> Any:
        places = ops.cumsum(ops.ones_like(characters[0])) - 1
        if self.stateful:
            places = places + self.count
            self.count.assign(places[-1] + 1)
        return places


@keras.saving.register_keras_serializable(package="text")
class Attention(layers.Layer):
    """x [N,T,C], positions [T] -> [N,T,C]: causal self-attention with linear biases instead of
    position embeddings (ALiBi; Press et al., 2022).

    With a state, the keys and values of the last `MEMORY` characters are kept between runs, those
    of position p in slot p mod `MEMORY`.
    """

    def __init__(self, *, stateful: bool, **options: Any) -> None:
        super().__init__(**options)
        self.stateful = stateful
        self.query, self.key, self.value = (
            layers.EinsumDense("ntc,chd->nthd", (None, HEADS, WIDTH // HEADS)) for _ in range(3)
        )
        self.out = layers.EinsumDense("nthd,hdc->ntc", (None, WIDTH))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "stateful": self.stateful}

    def build(self, x_shape: Any, places_shape: Any) -> None:
        for projection in (self.query, self.key, self.value):
            projection.build(x_shape)
        self.out.build((*x_shape[:2], HEADS, WIDTH // HEADS))
        if self.stateful:
            memory = (1, MEMORY, HEADS, WIDTH // HEADS)
            self.keys = self.add_weight(
                name="keys", shape=memory, initializer="zeros", trainable=False
            )
            self.values = self.add_weight(
                name="values", shape=memory, initializer="zeros", trainable=False
            )

    def call(self, x: Any, places: Any) -> Any:
        keys, values, filled = self.key(x), self.value(x), places
        if self.stateful:
            filled = places[-1] - ops.mod(places[-1] - np.arange(MEMORY, dtype="int32"), MEMORY)
            new = filled - places[0]
            keys = _remembered(self.keys, keys, new)
            values = _remembered(self.values, values, new)
        distance = ops.expand_dims(places, 1) - filled
        seen = ops.logical_and(distance >= 0, ops.logical_and(distance < MEMORY, filled >= 0))
        slopes = np.reshape(2.0 ** -np.arange(2, 2 + HEADS), (HEADS, 1, 1)).astype("float32")
        scores = ops.einsum("nthd,nshd->nhts", self.query(x), keys) / (WIDTH // HEADS) ** 0.5
        scores = scores - ops.cast(distance, "float32") * slopes
        weights = ops.softmax(ops.where(seen, scores, -1e9))
        return self.out(ops.einsum("nhts,nshd->nthd", weights, values))


def _remembered(state: Any, values: Any, new: Any) -> Any:
    """The content of each slot after a run: the new value if `new` names one, else the old one."""
    taken = ops.take(values, ops.maximum(new, 0), axis=1)
    state.assign(ops.where(ops.reshape(new >= 0, (1, MEMORY, 1, 1)), taken, state))
    return state


def make_decoder(*, stateful: bool) -> keras.Model:
    """characters [N,T] -> logits of the next characters, [N,T,characters], for training; with a
    state, only the last, [1,characters].
    """
    characters = keras.Input(
        (None,), batch_size=1 if stateful else None, dtype="int32", name="characters"
    )
    x = layers.Embedding(len(CHARACTERS), WIDTH)(characters)
    places = Places(stateful=stateful)(characters)
    for _ in range(BLOCKS):
        x = x + Attention(stateful=stateful)(layers.LayerNormalization()(x), places)
        x = x + layers.Dense(WIDTH)(
            layers.Dense(3 * WIDTH, activation="gelu")(layers.LayerNormalization()(x))
        )
    x = layers.LayerNormalization()(x[:, -1] if stateful else x)
    return keras.Model(characters, layers.Dense(len(CHARACTERS))(x), name="text_decoder")


def make_lstm(*, stateful: bool) -> keras.Model:
    """Like `make_decoder`, with a recurrent network."""
    characters = keras.Input(
        (None,), batch_size=1 if stateful else None, dtype="int32", name="characters"
    )
    x = layers.Embedding(len(CHARACTERS), 48)(characters)
    x = layers.LSTM(UNITS, stateful=stateful, return_sequences=not stateful)(x)
    return keras.Model(characters, layers.Dense(len(CHARACTERS))(x), name="text_lstm")


NETWORKS = {"text_decoder": make_decoder, "text_lstm": make_lstm}


def trained(name: str) -> keras.Model:
    """A network with a state and the trained weights, which returns probabilities."""
    model = NETWORKS[name](stateful=True)
    with np.load(FOLDER / name / "weights.npz") as weights:
        for variable, value in zip(model.trainable_variables, weights.values(), strict=True):
            variable.assign(value.astype(np.float32))
    return keras.Model(model.input, layers.Softmax(name="scores")(model.output), name=name)


def export(path: Path, network: str) -> None:
    trained(network).save(path)
