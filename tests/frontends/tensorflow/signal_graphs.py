"""Graphs over Fourier transforms and complex numbers."""

from collections.abc import Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import Graph, images
from tests.frontends.tensorflow.layers import Tensors


def real_and_imaginary(z: tf.Tensor) -> tf.Tensor:
    return tf.stack([tf.math.real(z), tf.math.imag(z)], -1)


def spectrogram(x: tf.Tensor) -> Tensors:
    power = tf.abs(tf.signal.stft(x, 40, 16, 64))
    mel = tf.tensordot(
        tf.square(power), tf.signal.linear_to_mel_weight_matrix(8, 33, 8000, 50.0, 3500.0), 1
    )
    logs = tf.math.log(mel + 1e-3)
    return {
        "power": power,
        "log_mel": logs,
        "mfcc": tf.signal.mfccs_from_log_mel_spectrograms(logs),
    }


def restored(x: tf.Tensor) -> Tensors:
    window = tf.signal.inverse_stft_window_fn(16)
    bands = tf.signal.stft(x, 64, 16, 64)
    return {
        "again": tf.signal.inverse_stft(bands, 64, 16, 64, window),
        "filtered": tf.signal.inverse_stft(
            bands * tf.cast(tf.linspace(1.0, 0.0, 33), tf.complex64), 64, 16
        ),
    }


def transforms(x: tf.Tensor) -> Tensors:
    z = tf.complex(x, x * 2.0 + 1.0)
    return {
        "fft": real_and_imaginary(tf.signal.fft(z)),
        "ifft": real_and_imaginary(tf.signal.ifft(z)),
        "fft2": real_and_imaginary(tf.signal.fft2d(z)),
        "ifft3": real_and_imaginary(tf.signal.ifft3d(z)),
        "rfft": real_and_imaginary(tf.signal.rfft(x)),
        "longer": real_and_imaginary(tf.signal.rfft2d(x, [8, 6])),
        "irfft": tf.signal.irfft(z),
        "odd": tf.signal.irfft(z, [9]),
        "irfft2": tf.signal.irfft2d(tf.signal.rfft2d(x)),
        "rfft3": real_and_imaginary(tf.signal.rfft3d(x)),
        "dct": tf.signal.dct(x),
        "idct": tf.signal.idct(x, norm="ortho"),
        "shifted": real_and_imaginary(tf.signal.fftshift(z)),
    }


def complexes(x: tf.Tensor, y: tf.Tensor) -> Tensors:
    a, b = tf.complex(x, y), tf.complex(y, x * 0.5)
    factors = tf.constant([1 + 2j, 3 - 1j, 0.5j, -1, 2], tf.complex64)
    return {
        "product": real_and_imaginary(a * b * factors),
        "quotient": real_and_imaginary(a / (b + 3.0)),
        "exp": real_and_imaginary(tf.exp(a)),
        "square": real_and_imaginary(tf.square(a)),
        "matmul": real_and_imaginary(tf.matmul(a, b, adjoint_b=True)),
        "moved": real_and_imaginary(tf.transpose(a)[1:]),
        "less": real_and_imaginary(tf.math.conj(a) - b),
        "joined": real_and_imaginary(tf.reshape(tf.concat([a, b], 0), [-1])),
        "sum": real_and_imaginary(tf.reduce_sum(a, -1)),
        "mean": real_and_imaginary(tf.reduce_mean(a)),
        "chosen": real_and_imaginary(tf.where(x > 0.0, a, b)),
        "padded": real_and_imaginary(tf.pad(a, [[1, 1], [0, 2]])),
        "size": tf.abs(a),
        "angle": tf.math.angle(a),
        "cast": tf.cast(a, tf.float32),
        "real": tf.cast(tf.cast(x, tf.complex64) * a, tf.float32),
        "negative": real_and_imaginary(-a),
    }


SIGNAL_GRAPHS: Mapping[str, Graph] = {
    "spectrogram": (spectrogram, images(2, 160)),
    "restored": (restored, images(2, 160)),
    "transforms": (transforms, images(None, 6, 5)),
    "complexes": (complexes, [((None, 5), "float32"), ((None, 5), "float32")]),
}
