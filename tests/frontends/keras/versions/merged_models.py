"""Old models that merge, nest and share layers, with their outputs in numpy."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.frontends.keras.versions.chains import chain, layer, numbers
from tests.frontends.keras.versions.numpy_layers import Arrays, lstm, sigmoid


@dataclass(frozen=True)
class Old:
    """A model of an old version: its config, the weights of each layer by the suffix of their
    names, its inputs, and its outputs in numpy.
    """

    config: dict[str, Any]
    weights: dict[str, dict[str, np.ndarray]]
    inputs: Arrays
    outputs: Callable[..., np.ndarray]
    version: str = "1.2.2"
    backend: str = ""


W, U, B = numbers(4, 12), numbers(3, 12, seed=1), numbers(12, seed=2)
PAIR = [numbers(2, 4, seed=5), numbers(2, 4, seed=6)]
LEFT, RIGHT = numbers(4, 3, seed=7), numbers(4, 3, seed=8)


def merged_pair(mode: str, **config: Any) -> dict[str, Any]:
    """A chain that starts with a merge of two others."""
    branches = [
        chain(layer("Dense", name, 4, output_dim=3, activation="linear", bias=False))
        for name in ("left", "right")
    ]
    return chain(
        layer(
            "Merge",
            "merge_1",
            layers=branches,
            mode=mode,
            mode_type="raw",
            **{"concat_axis": -1, "dot_axes": -1, **config},
        )
    )


def merge_case(
    mode: str, expected: Callable[[np.ndarray, np.ndarray], np.ndarray], **config: Any
) -> Old:
    weights = {"left": {"W": LEFT}, "right": {"W": RIGHT}}
    return Old(
        merged_pair(mode, **config), weights, PAIR, lambda a, b: expected(a @ LEFT, b @ RIGHT)
    )


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)))[:, None, None]


def shared() -> Old:
    """Branches with a common layer; one of them starts with a merge itself."""
    common = layer("Dense", "common", 4, output_dim=4, activation="tanh", bias=True)
    inner = layer(
        "Merge",
        "inner",
        mode="mul",
        mode_type="raw",
        layers=[chain(common), chain(layer("Dense", "left", 4, output_dim=4, bias=False))],
    )
    outer = layer(
        "Merge",
        "outer",
        mode="sum",
        mode_type="raw",
        layers=[
            chain(inner),
            chain(copy.deepcopy(common), layer("Activation", "act", activation="relu")),
        ],
    )
    w, b, left = numbers(4, 4, seed=1), numbers(4, seed=2), numbers(4, 4, seed=3)

    def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.tanh(x @ w + b) * (y @ left) + np.maximum(np.tanh(x @ w + b), 0)

    return Old(chain(outer), {"common": {"W": w, "b": b}, "left": {"W": left}}, PAIR, expected)


def gates(name: str, *, both: bool = False) -> dict[str, np.ndarray]:
    """The weights of an LSTM gate by gate."""
    split = {
        kind: dict(zip("ifco", np.split(array, 4, -1), strict=True))
        for kind, array in zip("WUb", (W, U, B), strict=True)
    }
    return {f"{name}_{kind}_{gate}": split[kind][gate] for gate in "icfo" for kind in "WUb"}


def inside() -> Old:
    """A nested model with the weights of an LSTM stored by gate, and the statistics of
    normalizations at the end.
    """
    recurrent = layer(
        "LSTM",
        "recurrent",
        5,
        4,
        output_dim=3,
        inner_activation="sigmoid",
        activation="tanh",
        consume_less="mem",
    )
    norm = layer("BatchNormalization", "norm", mode=0, axis=-1, epsilon=0.01)
    last = layer("TimeDistributedDense", "last", output_dim=2, activation="linear", bias=True)
    recurrent["config"]["return_sequences"] = True
    gamma, beta, mean, variance = (np.abs(numbers(3, seed=n)) for n in range(4))
    w, b = numbers(3, 2), numbers(2)

    def expected(x: np.ndarray) -> np.ndarray:
        h = np.stack([lstm(x[:, : n + 1], W, U, B, sigmoid) for n in range(5)], 1)
        return ((h - mean) / np.sqrt(variance + 0.01) * gamma + beta) @ w + b

    weights = {
        **gates("recurrent"),
        "gamma": gamma,
        "beta": beta,
        "W": w,
        "b": b,
        "running_mean": mean,
        "running_std": variance,
    }
    return Old(
        chain(chain(recurrent, norm, last), layer("Activation", "end", activation="linear")),
        {"sequential_1": weights},
        [numbers(2, 5, 4)],
        expected,
    )


def unnamed() -> Old:
    """A chain of two unnamed models."""
    parts = [
        chain(layer("Dense", name, 4, output_dim=4, activation="linear", bias=False))
        for name in ("left", "right")
    ]
    left, right = numbers(4, 4, seed=3), numbers(4, 4, seed=4)
    weights = {"sequential_1": {"W": left}, "sequential_2": {"W": right}}
    return Old(chain(*parts), weights, PAIR[:1], lambda x: x @ left @ right)
