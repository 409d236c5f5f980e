"""Spectrogram layers."""

from collections.abc import Mapping
from math import pi
from typing import Any

import numpy as np

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.conv import padding
from webkiln.ir.dim import known
from webkiln.ir.types import Array
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.windows import pads

EPSILON = 1e-7
BREAK_HERTZ, HIGH_Q = 700.0, 1127.0
"""Constants of HTK's mel scale."""
WINDOWS = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46)}


def stft_spectrogram(converter: Converter, layer: Layer) -> None:
    """The products of frames of each channel of [N, T, C] with waves, which are weights, in one of
    several modes.
    """
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    b, config, mode = converter.builder, layer.config, layer.config.get("mode", "log")
    first = config.get("data_format") == "channels_first"
    signal = x if first else b.op("Transpose", [x], {"perm": (0, 2, 1)})
    n, channels, steps = signal.shape
    signal = b.op("Reshape", [signal], {"shape": (n * channels, steps, 1)})

    def against(name: str) -> Tensor:
        """[N, C, frequencies, frames]"""
        weight = layer.weight(name)
        stride = config.get("frame_step") or config["frame_length"] // 2
        order = {"x_dims": (0, 2, 1), "w_dims": (2, 1, 0), "out_dims": (0, 2, 1), "groups": 1}
        around = pads(padding(layer, [steps], weight.shape[:1], (stride,), (1,)))
        y = b.op(
            "Conv",
            [signal, converter.convert_to_constant_variable(weight)],
            order | {"strides": (stride,), "dilation": (1,)} | around,
        )
        return b.op(
            "Transpose",
            [b.op("Reshape", [y], {"shape": (n, channels, *y.shape[1:])})],
            {"perm": (0, 1, 3, 2)},
        )

    real = against("real_kernel") if mode != "imag" else None
    imaginary = against("imag_kernel") if mode != "real" else None
    y = _form(b, layer, mode, real, imaginary)
    count, frames = y.shape[2:]
    if config.get("expand_dims"):
        y = b.op("Transpose", [y], {"perm": (0, 1, 3, 2) if first else (0, 3, 2, 1)})
    else:
        y = b.op("Reshape", [y], {"shape": (n, channels * count, frames)})
        y = y if first else b.op("Transpose", [y], {"perm": (0, 2, 1)})
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def _form(
    b: GraphBuilder, layer: Layer, mode: str, real: Tensor | None, imaginary: Tensor | None
) -> Tensor:
    if real is None or imaginary is None:
        only = imaginary if real is None else real
        assert only is not None
        return only
    if mode == "angle":
        return _angle(b, imaginary, real)
    if mode == "stft":
        return b.op("Concat", [real, imaginary], {"axis": 2})
    power = b.op("Add", [b.op("Square", [real]), b.op("Square", [imaginary])])
    if mode == "psd":
        inner = np.ones(known(power.shape[2], "the number of frequencies"), "float32")
        inner[1:-1] = 2
        return b.op(
            "Mul", [power, b.op("Cast", [b.constant(inner.reshape(-1, 1))], {"dtype": power.dtype})]
        )
    size = b.op("Sqrt", [b.binary("Max", power, EPSILON)])
    if mode == "magnitude":
        return size
    if mode != "log":
        raise layer.unsupported(
            f"mode {mode!r}", "There are log, magnitude, psd, real, imag, angle and stft"
        )
    return b.op("Log", [b.binary("Max", size, EPSILON)])


def _angle(b: GraphBuilder, y: Tensor, x: Tensor) -> Tensor:
    """The angle of the point (x, y), from -pi to pi; 0 at the origin."""

    def number(value: float) -> Tensor:
        return b.constant(value, x.dtype)

    level = b.binary("Equal", x, 0.0)
    angle = b.op("Atan", [b.op("Div", [y, b.op("Where", [level, number(1.0), x])])])
    below = b.binary("Less", y, 0.0)
    back = b.op("Add", [angle, b.op("Where", [below, number(-pi), number(pi)])])
    upright = b.op("Mul", [b.op("Sign", [y]), number(pi / 2)])
    return b.op("Where", [level, upright, b.op("Where", [b.binary("Less", x, 0.0), back, angle])])


def mel_spectrogram(converter: Converter, layer: Layer) -> None:
    """Mel spectrogram: magnitudes of the Fourier transform of frames of [..., T], summed over
    triangular filters: [..., bins, frames].
    """
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    b, config = converter.builder, layer.config
    x = x if x.dtype == "float64" else converter.cast(x, "float32")
    length, stride = config["fft_length"], config["sequence_stride"]
    window_size = config.get("sequence_length") or length
    padded = b.op("PadFrom", [x], _reflected(x.type.rank, length // 2))
    count = (padded.shape[-1] - length) // stride + 1
    starts = b.binary("Mul", b.op("Iota", [], {"size": count, "dtype": "int32"}), stride)
    starts = b.op("Reshape", [starts], {"shape": (count, 1)})
    indices = b.op("Add", [starts, b.op("Iota", [], {"size": length, "dtype": "int32"})])
    frames = b.op("Gather", [padded, indices], {"axis": x.type.rank - 1})
    if config.get("window") is not None:
        frames = b.op(
            "Mul",
            [
                frames,
                b.constant(_window(layer, config["window"], window_size, length).astype(x.dtype)),
            ],
        )
    real, imaginary = (b.op("MatMul", [frames, wave]) for wave in _waves(b, length, x.dtype))
    size = b.op("Sqrt", [b.op("Add", [b.op("Square", [real]), b.op("Square", [imaginary])])])
    power = config.get("mag_exp", 2.0)
    size = (
        size
        if power == 1
        else b.op("Square", [size])
        if power == 2
        else b.binary("Pow", size, float(power))
    )
    y = b.op("MatMul", [size, b.constant(mel_triangles(config, length // 2 + 1).astype(x.dtype))])
    if config.get("power_to_db", True):
        y = _decibels(b, y, config["min_power"], config["ref_power"], config["top_db"])
    perm = (*range(y.type.rank - 2), y.type.rank - 1, y.type.rank - 2)
    converter.set_variable(
        converter.get_output_tensor(layer)[0], b.op("Transpose", [y], {"perm": perm})
    )


def _reflected(rank: int, count: int) -> dict[str, object]:
    around = (*(0,) * (rank - 1), count)
    return {"low": around, "high": around, "mode": "reflect"}


def _window(layer: Layer, window: object, size: int, length: int) -> Array:
    """The window of a frame; a shorter window is centred."""
    if isinstance(window, str):
        if window not in WINDOWS:
            raise layer.unsupported(
                f"window {window!r}", f"There are {', '.join(WINDOWS)}, and numbers"
            )
        level, swing = WINDOWS[window]
        values = level - swing * np.cos(2 * pi * np.arange(size) / size)
    else:
        values = np.asarray(window, "float64")
    before = (length - size) // 2
    return np.pad(values, (before, length - size - before))


def _waves(b: GraphBuilder, length: int, dtype: str) -> list[Tensor]:
    """cos and sin of 2 pi r c / length, [length, length // 2 + 1]; integers reduce the angles."""
    rows = b.op(
        "Reshape", [b.op("Iota", [], {"size": length, "dtype": "int32"})], {"shape": (length, 1)}
    )
    product = b.op("Mul", [rows, b.op("Iota", [], {"size": length // 2 + 1, "dtype": "int32"})])
    angle = b.binary(
        "Mul", b.op("Cast", [b.binary("Mod", product, length)], {"dtype": dtype}), 2 * pi / length
    )
    return [b.op("Cos", [angle]), b.op("Sin", [angle])]


def mel_triangles(config: Mapping[str, Any], count: int) -> Array:
    """[frequencies, mel bins]"""

    def mel(hertz: Array) -> Array:
        return (HIGH_Q * np.log(1 + hertz / BREAK_HERTZ)).astype("float32")

    half = np.float32(config["sampling_rate"]) / np.float32(2)
    highest = config.get("max_freq") or int(config["sampling_rate"] / 2)
    bins = mel(np.linspace(0, half, count, dtype="float32")[1:])[:, None]
    ends = mel(np.array([config["min_freq"], highest], "float32"))
    edges = np.linspace(ends[0], ends[1], int(config["num_mel_bins"]) + 2, dtype="float32")
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    weights = np.maximum(
        0, np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle))
    )
    return np.pad(weights, ((1, 0), (0, 0)))


def _decibels(b: GraphBuilder, x: Tensor, least: float, reference: float, top: float) -> Tensor:
    y = b.binary("Mul", b.op("Log", [b.binary("Max", x, least)]), 10 / np.log(10))
    y = b.binary("Sub", y, float(10 * np.log10(max(abs(reference), least))))
    loudest = b.op("ReduceMax", [y], {"axes": tuple(range(y.type.rank)), "keepdims": True})
    return b.op("Max", [y, b.binary("Sub", loudest, top)])
