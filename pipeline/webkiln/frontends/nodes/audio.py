"""Spectrograms and MFCCs as the operators AudioSpectrogram and Mfcc of TensorFlow and TensorFlow
Lite compute them.
"""

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, known
from webkiln.ir.types import Array
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.fourier import transformed
from webkiln.ops.overlap import unfolded
from webkiln.ops.pieces import transposed

FLOOR = 1e-12
"""The least energy of a channel."""


def spectrogram(
    b: GraphBuilder, samples: Tensor, window: int, stride: int, *, squared: bool
) -> Tensor:
    """Magnitudes, or their squares, [channels, frames, bins], of samples [time, channels]. Frames
    have a periodic Hann window, and are padded to a power of two.
    """
    if window < 2 or stride < 1:
        raise ShapeError(
            f"the window has {window} samples and the stride is {stride}; expected at least 2 and 1"
        )
    x = transposed(b, samples, (1, 0))
    frames = unfolded(b, x, (1,), (window,), (stride,), (1,))
    hann = 0.5 - 0.5 * np.cos(2 * np.pi / window * np.arange(window))
    length = 1 << (window - 1).bit_length()
    real, imaginary = transformed(
        b, (frames * b.constant(hann, "float32"), None), length, inverse=False, onesided=True
    )
    assert imaginary is not None
    energy = real * real + imaginary * imaginary
    return energy if squared else b.op("Sqrt", [energy])


def mfcc(
    b: GraphBuilder,
    squares: Tensor,
    rate: float,
    limits: tuple[float, float],
    channels: int,
    coefficients: int,
) -> Tensor:
    """MFCCs [..., coefficients] of squared magnitudes [..., bins] at a sampling rate in Hz.
    `limits` are the lowest and the highest frequency in Hz.
    """
    weights = mel_weights(squares.shape[-1], rate, limits, channels)
    energy = b.op("MatMul", [b.op("Sqrt", [squares]), b.constant(weights, "float32")])
    logarithms = b.op("Log", [b.op("Max", [energy, b.constant(FLOOR, "float32")])])
    number, channel = np.arange(coefficients), np.arange(channels)[:, None]
    cosines = np.sqrt(2 / channels) * np.cos(number * np.pi / channels * (channel + 0.5))
    return b.op("MatMul", [logarithms, b.constant(cosines, "float32")])


def mel_weights(bins: Size, rate: float, limits: tuple[float, float], channels: int) -> Array:
    """[bins, channels]: triangles with equal distances in mel. Raise ShapeError if the limits are
    not in order.
    """
    low, high = limits
    bins = known(bins, "the number of frequencies")
    if not (bins > 1 and rate > 0 and channels > 0 and 0 <= low < high):
        raise ShapeError(
            f"there are {bins} bins, {channels} channels, a rate of {rate} Hz and limits of {low}"
            f" and {high} Hz; expected positive numbers, and limits in order"
        )
    step = 0.5 * rate / (bins - 1)
    first, last = int(1.5 + low / step), int(high / step)
    if last >= bins:
        raise ShapeError(f"the limit {high} Hz is above {rate / 2} Hz, half of the sampling rate")
    lowest = _mel(low)
    distance = (_mel(high) - lowest) / (channels + 1)
    centres = lowest + distance * np.arange(channels + 2)
    weights = np.zeros((bins, channels))
    for number in range(first, last + 1):
        mel = _mel(number * step)
        channel = int(np.searchsorted(centres[1:], mel)) - 1
        channel = min(channel, channels - 1)
        share = (centres[channel + 2] - mel) / (centres[channel + 2] - centres[channel + 1])
        if channel >= 0:
            weights[number, channel] += share
        if channel + 1 < channels:
            weights[number, channel + 1] += 1 - share
    return weights


def _mel(frequency: float) -> float:
    return float(1127.0 * np.log1p(frequency / 700.0))
