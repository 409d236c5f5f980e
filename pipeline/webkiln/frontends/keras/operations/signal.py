"""keras.ops.math operations on signals. Complex numbers are pairs of real and imaginary parts."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.types import Array
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.fourier import transformed
from webkiln.ops.functional.operands import Argument, floating, operands, tensor
from webkiln.ops.overlap import overlapped, unfolded
from webkiln.ops.pieces import part, reshaped, transposed

WINDOWS = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46)}


def _pair(b: GraphBuilder, x: Sequence[Argument]) -> tuple[Tensor, Tensor]:
    real, imaginary = operands(b, *x, floating=True)
    return real, imaginary


def _mirrored(b: GraphBuilder, x: tuple[Tensor, Tensor], *, inverse: bool) -> tuple[Tensor, Tensor]:
    """All frequencies along the last axis."""
    real, imaginary = transformed(b, x, x[0].shape[-1], inverse=inverse, onesided=False)
    assert imaginary is not None
    return real, imaginary


def _plane(b: GraphBuilder, x: Sequence[Argument], *, inverse: bool) -> list[Tensor]:
    """Along the last axis, then along the one before it."""
    pair = _mirrored(b, _pair(b, x), inverse=inverse)
    rank = pair[0].type.rank
    perm = (*range(rank - 2), rank - 1, rank - 2)
    real, imaginary = (transposed(b, item, perm) for item in pair)
    return [transposed(b, item, perm) for item in _mirrored(b, (real, imaginary), inverse=inverse)]


def fft(b: GraphBuilder, x: Sequence[Argument]) -> list[Tensor]:
    return list(_mirrored(b, _pair(b, x), inverse=False))


def fft2(b: GraphBuilder, x: Sequence[Argument]) -> list[Tensor]:
    return _plane(b, x, inverse=False)


def ifft2(b: GraphBuilder, x: Sequence[Argument]) -> list[Tensor]:
    return _plane(b, x, inverse=True)


def rfft(b: GraphBuilder, x: Argument, fft_length: int | None = None) -> list[Tensor]:
    x = floating(b, x)
    pair = transformed(
        b,
        (x, None),
        x.shape[-1] if fft_length is None else fft_length,
        inverse=False,
        onesided=True,
    )
    return [item for item in pair if item is not None]


def irfft(b: GraphBuilder, x: Sequence[Argument], fft_length: int | None = None) -> Tensor:
    pair = _pair(b, x)
    length = 2 * (pair[0].shape[-1] - 1) if fft_length is None else fft_length
    return transformed(b, pair, length, inverse=True, onesided=True)[0]


def _window(b: GraphBuilder, window: Any, length: int, fft_length: int) -> Array | None:
    """The window of a frame, centred in `fft_length`."""
    if window is None:
        return None
    if isinstance(window, str):
        constant, wave = WINDOWS[window]
        weights = constant - wave * np.cos(2 * np.pi * np.arange(length) / length)
    else:
        weights = np.asarray(
            window["config"]["value"] if isinstance(window, dict) else window, np.float64
        )
    if weights.shape != (length,):
        raise ShapeError(
            f"{b.layer}: the window is {list(weights.shape)}, a frame has {length} elements"
        )
    before = (fft_length - length) // 2
    return np.pad(weights, (before, fft_length - length - before))


def stft(
    b: GraphBuilder,
    x: Argument,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: Any = "hann",
    center: bool = True,
) -> list[Tensor]:
    x = floating(b, x)
    around = (0,) * (x.type.rank - 1) + (fft_length // 2,)
    if center and fft_length > 1:
        x = b.op("PadFrom", [x], {"low": around, "high": around, "mode": "reflect"})
    frames = unfolded(b, x, (x.type.rank - 1,), (fft_length,), (sequence_stride,), (1,))
    weights = _window(b, window, sequence_length, fft_length)
    if weights is not None:
        frames = b.op("Mul", [frames, b.constant(weights, x.dtype)])
    return [
        item
        for item in transformed(b, (frames, None), fft_length, inverse=False, onesided=True)
        if item is not None
    ]


def istft(
    b: GraphBuilder,
    x: Sequence[Argument],
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> Tensor:
    """Overlap-add of frames [..., frames, frequencies], with the window that inverts that of
    `stft`.
    """
    pair = _pair(b, x)
    *lead, count, _ = pair[0].shape
    frames = transformed(b, pair, fft_length, inverse=True, onesided=True)[0]
    weights = _window(b, window, sequence_length, fft_length)
    if weights is not None:
        rounds = -(-fft_length // sequence_stride)
        squares = (
            np.pad(weights**2, (0, rounds * sequence_stride - fft_length))
            .reshape(rounds, sequence_stride)
            .sum(axis=0)
        )
        whole = np.tile(squares, rounds)[:fft_length]
        frames = b.op(
            "Mul",
            [
                frames,
                b.constant(
                    np.divide(weights, whole, where=whole != 0, out=np.zeros(fft_length)),
                    frames.dtype,
                ),
            ],
        )
    size = fft_length + sequence_stride * (count - 1)
    blocks = transposed(b, reshaped(b, frames, (prod(lead), count, fft_length)), (0, 2, 1))
    y = reshaped(
        b,
        overlapped(b, blocks, (size,), (fft_length,), (sequence_stride,), (1,), (0,), (0,)),
        (*lead, size),
    )
    start = fft_length // 2 if center else 0
    end = start + length if length is not None else size - fft_length // 2 if center else size
    return part(b, y, y.type.rank - 1, start, min(end, size) - start)


def extract_sequences(
    b: GraphBuilder, x: Argument, sequence_length: int, sequence_stride: int
) -> Tensor:
    x = tensor(b, x)
    return unfolded(b, x, (x.type.rank - 1,), (sequence_length,), (sequence_stride,), (1,))
