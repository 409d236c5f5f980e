"""A low-pass filter as a recurrent network with fixed weights."""

import math
from typing import Any


def lowpass(cutoff: float = 1000.0, rate: float = 48000.0, block: int = 128) -> Any:
    """A Butterworth filter of second order, as a stateful Keras model.

    In and out: a block of samples, float32[1, block, 1]. Frequencies are in Hz. The units of the
    recurrent layer are w[t] = x[t] - a1 w[t-1] - a2 w[t-2] and the two before it; the output is
    b0 w[t] + b1 w[t-1] + b2 w[t-2].
    """
    import keras
    import numpy as np

    k = math.tan(math.pi * cutoff / rate)
    norm = 1 / (1 + math.sqrt(2) * k + k * k)
    a1, a2 = 2 * (k * k - 1) * norm, (1 - math.sqrt(2) * k + k * k) * norm
    gain = k * k * norm
    samples = keras.Input(batch_shape=(1, block, 1), name="samples")
    delays = keras.layers.SimpleRNN(
        3, activation=None, use_bias=False, return_sequences=True, stateful=True, name="delays"
    )
    mix = keras.layers.Dense(1, use_bias=False, name="filtered")
    model = keras.Model(samples, mix(delays(samples)), name="lowpass")
    delays.set_weights([np.array([[1.0, 0, 0]]), np.array([[-a1, 1, 0], [-a2, 0, 1], [0, 0, 0]])])
    mix.set_weights([gain * np.array([[1.0], [2], [1]])])
    return model
