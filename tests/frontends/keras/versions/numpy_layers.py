"""Layers of old versions of Keras in numpy."""

from collections.abc import Callable

import numpy as np

Arrays = list[np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def hard_sigmoid(x: np.ndarray) -> np.ndarray:
    return np.clip(0.2 * x + 0.5, 0, 1)


def normalized(x: np.ndarray, axes: tuple[int, ...], offset: float = 0.0) -> np.ndarray:
    deviation = np.sqrt(x.var(axes, keepdims=True) + 0.01) + offset
    return (x - x.mean(axes, keepdims=True)) / deviation


def lstm(
    x: np.ndarray,
    w: np.ndarray,
    u: np.ndarray,
    b: np.ndarray,
    gate: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    h = c = np.zeros((len(x), u.shape[0]))
    for step in x.transpose(1, 0, 2):
        i, f, g, o = np.split(step @ w + h @ u + b, 4, -1)
        c = gate(f) * c + gate(i) * np.tanh(g)
        h = gate(o) * np.tanh(c)
    return h


def gru(x: np.ndarray, w: np.ndarray, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A GRU with `reset_after`: the reset gate follows the product; biases [input, recurrent]."""
    h = np.zeros((len(x), u.shape[0]))
    for step in x.transpose(1, 0, 2):
        (xz, xr, xh), (hz, hr, hh) = (
            np.split(value, 3, -1) for value in (step @ w + b[0], h @ u + b[1])
        )
        z, r = sigmoid(xz + hz), sigmoid(xr + hr)
        h = z * h + (1 - z) * np.tanh(xh + r * hh)
    return h


def convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """The mathematical convolution, as in Theano: x [N, C, H, W], kernel [F, C, h, w]."""
    _, _, h, w = kernel.shape
    positions = [(i, j) for i in range(x.shape[2] - h + 1) for j in range(x.shape[3] - w + 1)]
    values = [
        sum(
            np.einsum("nc,fc->nf", x[:, :, i + a, j + b], kernel[:, :, h - 1 - a, w - 1 - b])
            for a in range(h)
            for b in range(w)
        )
        for i, j in positions
    ]
    return np.stack(values, -1).reshape(len(x), kernel.shape[0], x.shape[2] - h + 1, -1)


def to_cudnn(w: np.ndarray, gates: int) -> np.ndarray:
    """An input kernel in the layout of cuDNN: the matrix of each gate is transposed in memory but
    keeps its shape.
    """
    return np.hstack(
        [np.ascontiguousarray(part.T).reshape(part.shape) for part in np.split(w, gates, 1)]
    )


def transposed(u: np.ndarray, gates: int) -> np.ndarray:
    return np.hstack([part.T for part in np.split(u, gates, 1)])
