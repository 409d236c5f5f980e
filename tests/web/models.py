"""Models of the size of digits, and an input for them."""

from typing import Any

import numpy as np

PIXELS = (np.arange(64, dtype=np.float32) % 29 / np.float32(29)).reshape(1, 8, 8, 1)
NAME = "ziffern ä.keras"


def wider(classes: int, filters: int) -> Any:
    import keras

    image = keras.Input((8, 8, 1), name="image")
    hidden = keras.layers.Conv2D(filters, 3, activation="tanh", name="conv")(image)
    scores = keras.layers.Dense(classes, activation="softmax", name="scores")(
        keras.layers.Flatten(name="flat")(hidden)
    )
    return keras.Model(image, scores, name="digits")
