"""Windows, Fourier transforms and mel filters."""

from math import pi

import numpy as np

from webkiln.frontends.nodes.call import GraphValue, NodeCall, NodeHandler, known
from webkiln.frontends.onnx.operators.elementwise import DTYPES, cast, part
from webkiln.frontends.onnx.operators.shape import iota, reshaped, transposed
from webkiln.ir import dim
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.fourier import transformed


def window(*weights: float) -> NodeHandler:
    """A sum of cosines of multiples of 2 pi n / N, or of 2 pi n / (N - 1) if it is not periodic."""

    def handler(call: NodeCall) -> Tensor:
        (size,) = call.integers(0)
        dtype = DTYPES[call.attr("output_datatype", 1)]
        angle = iota(call, size, "float32") * (
            2 * pi / (size if call.attr("periodic", 1) else max(size - 1, 1))
        )
        total = call.op("Cos", [angle * 0.0]) * weights[0]
        for multiple, weight in enumerate(weights[1:], 1):
            total = total + call.op("Cos", [angle * float(multiple)]) * weight
        return cast(call, total, dtype)

    return handler


def complex_dft(
    call: NodeCall, x: Tensor, length: Size, *, inverse: bool, onesided: bool
) -> Tensor:
    """The DFT of [..., n, 1 or 2], real or complex, along the axis before the last, cropped or
    padded to `length`.
    """
    real, *others = (
        reshaped(call, part(call, x, x.type.rank - 1, index, 1), x.shape[:-1])
        for index in range(dim.known(x.shape[-1], "the last axis"))
    )
    parts = transformed(
        call.builder,
        (real, others[0] if others else None),
        length,
        inverse=inverse,
        onesided=onesided,
    )
    wide = [reshaped(call, item, (*item.shape, 1)) for item in parts if item is not None]
    return wide[0] if len(wide) == 1 else call.op("Concat", wide, {"axis": wide[0].type.rank - 1})


def dft(call: NodeCall) -> Tensor:
    """Since opset 20, the axis is an operand."""
    x = call.tensor(0)
    axis = (
        (call.integers(2)[0] if call.has(2) else -2) if call.version >= 20 else call.attr("axis", 1)
    )
    axis = call.axis(axis, x.type.rank)
    inverse, onesided = bool(call.attr("inverse", 0)), bool(call.attr("onesided", 0))
    size = 2 * (x.shape[axis] - 1) if inverse and onesided else x.shape[axis]
    length = call.sizes(1)[0] if call.has(1) else size
    perm = [d for d in range(x.type.rank) if d != axis]
    perm.insert(x.type.rank - 2, axis)
    y = complex_dft(call, transposed(call, x, perm), length, inverse=inverse, onesided=onesided)
    return transposed(call, y, [perm.index(d) for d in range(x.type.rank)])


def stft(call: NodeCall) -> Tensor:
    """Windowed and transformed frames of the signal [N, n, 1 or 2]."""
    signal, (step,) = call.tensor(0), call.sizes(1)
    length = call.sizes(3)[0] if call.has(3) else call.type(2).shape[0]
    count = 1 + (signal.shape[1] - length) // step
    starts = reshaped(call, iota(call, count, "int32") * step, (count, 1))
    frames = call.op(
        "Gather", [signal, call.op("Add", [starts, iota(call, length, "int32")])], {"axis": 1}
    )
    if call.has(2):
        frames = call.op("Mul", [frames, reshaped(call, call.tensor(2), (length, 1))])
    return complex_dft(call, frames, length, inverse=False, onesided=bool(call.attr("onesided", 1)))


def mel_weight_matrix(call: NodeCall) -> GraphValue:
    """Triangular filters between neighbouring mel frequencies, [length // 2 + 1, bins]."""
    bins, length, rate = (int(call.numbers(position)) for position in range(3))
    low, high = (2595 * np.log10(1 + float(call.numbers(position)) / 700) for position in (3, 4))
    mel = low + np.arange(bins + 2) * (high - low) / (bins + 2)
    corners = ((length + 1) * 700 * (10 ** (mel / 2595) - 1) // rate).astype(int)
    weights = np.zeros((length // 2 + 1, bins))
    for column, (first, middle, last) in enumerate(
        zip(corners, corners[1:], corners[2:], strict=False)
    ):
        rising = np.arange(first, middle + 1)
        weights[rising, column] = (rising - first) / (middle - first) if middle > first else 1
        falling = np.arange(middle, last)
        weights[falling, column] = (last - falling) / (last - middle) if last > middle else 0
    return known(weights, DTYPES[call.attr("output_datatype", 1)])


SIGNAL: dict[str, NodeHandler] = {
    "HannWindow": window(0.5, -0.5),
    "HammingWindow": window(25 / 46, -21 / 46),
    "BlackmanWindow": window(0.42, -0.5, 0.08),
    "DFT": dft,
    "STFT": stft,
    "MelWeightMatrix": mel_weight_matrix,
}
