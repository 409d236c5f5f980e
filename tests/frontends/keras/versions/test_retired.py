"""Layers and ways of Keras 1 and 2 that later versions cannot state, against numpy."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.frontends.keras.versions.chains import chain, layer, numbers
from tests.frontends.keras.versions.layouts import write_h5
from webkiln.backends.compare import relative_error
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.reader import parse_model
from webkiln.ops.evaluate import constant_values, run_graph
from webkiln.passes.pipeline import PASSES

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Old:
    """A model of an old version: its config, the weights of each layer with the ends of their
    names, what it takes and gives.
    """

    config: dict[str, Any]
    weights: dict[str, dict[str, np.ndarray]]
    given: Arrays
    wanted: Callable[..., np.ndarray]
    version: str = "1.2.2"
    backend: str = ""


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def hard_sigmoid(x: np.ndarray) -> np.ndarray:
    return np.clip(0.2 * x + 0.5, 0, 1)


def normalized(x: np.ndarray, axes: tuple[int, ...], beside: float = 0.0) -> np.ndarray:
    deviation = np.sqrt(x.var(axes, keepdims=True) + 0.01) + beside
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
    """With the reset gate behind the product, and biases [input, recurrent]."""
    h = np.zeros((len(x), u.shape[0]))
    for step in x.transpose(1, 0, 2):
        (xz, xr, xh), (hz, hr, hh) = (
            np.split(value, 3, -1) for value in (step @ w + b[0], h @ u + b[1])
        )
        z, r = sigmoid(xz + hz), sigmoid(xr + hr)
        h = z * h + (1 - z) * np.tanh(xh + r * hh)
    return h


def convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """The convolution of the textbooks, which Theano computes: x [N, C, H, W], kernel [F, C, h, w]."""
    _, _, h, w = kernel.shape
    places = [(i, j) for i in range(x.shape[2] - h + 1) for j in range(x.shape[3] - w + 1)]
    values = [
        sum(
            np.einsum("nc,fc->nf", x[:, :, i + a, j + b], kernel[:, :, h - 1 - a, w - 1 - b])
            for a in range(h)
            for b in range(w)
        )
        for i, j in places
    ]
    return np.stack(values, -1).reshape(len(x), kernel.shape[0], x.shape[2] - h + 1, -1)


def to_cudnn(w: np.ndarray, gates: int) -> np.ndarray:
    """An input kernel as cuDNN keeps it: the memory of each gate's matrix, transposed, in the shape
    that it had.
    """
    return np.hstack(
        [np.ascontiguousarray(part.T).reshape(part.shape) for part in np.split(w, gates, 1)]
    )


def transposed(u: np.ndarray, gates: int) -> np.ndarray:
    return np.hstack([part.T for part in np.split(u, gates, 1)])


W, U, B = numbers(4, 12), numbers(3, 12, seed=1), numbers(12, seed=2)
W3, U3, B3 = numbers(4, 9), numbers(3, 9, seed=1), numbers(2, 9, seed=2)
PAIR = [numbers(2, 4, seed=5), numbers(2, 4, seed=6)]
LEFT, RIGHT = numbers(4, 3, seed=7), numbers(4, 3, seed=8)


def halves(mode: str, **config: Any) -> dict[str, Any]:
    """A chain that begins with a merge of two others."""
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


def halved(mode: str, wanted: Callable[[np.ndarray, np.ndarray], np.ndarray], **config: Any) -> Old:
    weights = {"left": {"W": LEFT}, "right": {"W": RIGHT}}
    return Old(halves(mode, **config), weights, PAIR, lambda a, b: wanted(a @ LEFT, b @ RIGHT))


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)))[:, None, None]


def shared() -> Old:
    """Branches that have a layer in common, of which one begins with a merge itself."""
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

    def wanted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.tanh(x @ w + b) * (y @ left) + np.maximum(np.tanh(x @ w + b), 0)

    return Old(chain(outer), {"common": {"W": w, "b": b}, "left": {"W": left}}, PAIR, wanted)


def gates(name: str, *, both: bool = False) -> dict[str, np.ndarray]:
    """The weights of an LSTM gate by gate."""
    split = {
        kind: dict(zip("ifco", np.split(array, 4, -1), strict=True))
        for kind, array in zip("WUb", (W, U, B), strict=True)
    }
    return {f"{name}_{kind}_{gate}": split[kind][gate] for gate in "icfo" for kind in "WUb"}


def inside() -> Old:
    """A model in a model with layers whose weights lie gate by gate, and before the statistics of
    all.
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

    def wanted(x: np.ndarray) -> np.ndarray:
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
        wanted,
    )


def unnamed() -> Old:
    """Two models without names in a chain."""
    parts = [
        chain(layer("Dense", name, 4, output_dim=4, activation="linear", bias=False))
        for name in ("left", "right")
    ]
    left, right = numbers(4, 4, seed=3), numbers(4, 4, seed=4)
    weights = {"sequential_1": {"W": left}, "sequential_2": {"W": right}}
    return Old(chain(*parts), weights, PAIR[:1], lambda x: x @ left @ right)


S = {name: numbers(5, seed=n) for n, name in enumerate(("t_left", "a_left", "t_right", "a_right"))}


def s_relu(x: np.ndarray) -> np.ndarray:
    right = S["t_left"] + np.abs(S["t_right"])
    below = S["t_left"] + S["a_left"] * (x - S["t_left"])
    return np.where(
        x < S["t_left"], below, np.where(x > right, right + S["a_right"] * (x - right), x)
    )


VECTORS, STEPS, IMAGES = numbers(3, 5), numbers(2, 5, 4), numbers(2, 3, 6, 5)
BN = {
    "gamma": numbers(5, seed=1),
    "beta": numbers(5, seed=2),
    "running_mean": numbers(5, seed=3),
    "running_std": np.abs(numbers(5, seed=4)),
}
HIGH = {
    "W": numbers(5, 5),
    "W_carry": numbers(5, 5, seed=1),
    "b": numbers(5),
    "b_carry": numbers(5, seed=1),
}
MAXED = {"W": numbers(3, 5, 2), "b": numbers(3, 2)}
SOFT = {"alphas": numbers(5), "betas": numbers(5, seed=1)}
KERNEL = numbers(4, 3, 2, 3)
LONG = numbers(3, 4, 2, 1)

CASES: dict[str, Old] = {
    "Highway": Old(
        chain(layer("Highway", "high", 5, activation="relu", bias=True)),
        {"high": HIGH},
        [VECTORS],
        lambda x: (
            (g := sigmoid(x @ HIGH["W_carry"] + HIGH["b_carry"]))
            * np.maximum(x @ HIGH["W"] + HIGH["b"], 0)
            + (1 - g) * x
        ),
    ),
    "MaxoutDense": Old(
        chain(layer("MaxoutDense", "most", 5, output_dim=2, nb_feature=3, bias=True)),
        {"most": MAXED},
        [VECTORS],
        lambda x: (np.einsum("ni,fio->nfo", x, MAXED["W"]) + MAXED["b"]).max(1),
    ),
    "ParametricSoftplus": Old(
        chain(layer("ParametricSoftplus", "soft", 5, alpha_init=0.2, beta_init=5.0)),
        {"soft": SOFT},
        [VECTORS],
        lambda x: np.log1p(np.exp(SOFT["betas"] * x)) * SOFT["alphas"],
    ),
    "SReLU": Old(chain(layer("SReLU", "s", 5, t_left_init="zero")), {"s": S}, [VECTORS], s_relu),
    "LeakyReLU first": Old(
        chain(layer("LeakyReLU", "leaky", 5, alpha=0.3)),
        {},
        [VECTORS],
        lambda x: np.where(x > 0, x, 0.3 * x),
    ),
    "BatchNormalization by samples": Old(
        chain(layer("BatchNormalization", "norm", 5, mode=1, axis=-1, epsilon=0.01)),
        {"norm": BN},
        [VECTORS],
        lambda x: normalized(x, (1,), 0.01) * BN["gamma"] + BN["beta"],
    ),
    "BatchNormalization by batches": Old(
        chain(layer("BatchNormalization", "norm", 5, mode=2, axis=-1, epsilon=0.01)),
        {"norm": BN},
        [VECTORS],
        lambda x: normalized(x, (0,)) * BN["gamma"] + BN["beta"],
    ),
    "Merge, sum": halved("sum", lambda a, b: a + b),
    "Merge, mul": halved("mul", lambda a, b: a * b),
    "Merge, ave": halved("ave", lambda a, b: (a + b) / 2),
    "Merge, max": halved("max", np.maximum),
    "Merge, concat": halved("concat", lambda a, b: np.concatenate([a, b], 1), concat_axis=1),
    "Merge, dot": halved("dot", lambda a, b: (a * b).sum(1, keepdims=True), dot_axes=[1, 1]),
    "Merge, cos": halved("cos", cosine, dot_axes=[1, 1]),
    "Merge of merges, a layer shared": shared(),
    "models without names": unnamed(),
    "LSTM, gpu": Old(
        chain(
            layer(
                "LSTM",
                "r",
                5,
                4,
                output_dim=3,
                inner_activation="hard_sigmoid",
                activation="tanh",
                consume_less="gpu",
            )
        ),
        {"r": {"W": W, "U": U, "b": B}},
        [STEPS],
        lambda x: lstm(x, W, U, B, hard_sigmoid),
    ),
    "models inside models, gate by gate": inside(),
    "CuDNNLSTM": Old(
        chain(layer("CuDNNLSTM", "r", 5, 4, units=3)),
        {
            "r": {
                "kernel:0": to_cudnn(W, 4),
                "recurrent_kernel:0": transposed(U, 4),
                "bias:0": np.hstack([B, B / 2]),
            }
        },
        [STEPS],
        lambda x: lstm(x, W, U, B * 1.5, sigmoid),
        "2.2.4",
        "tensorflow",
    ),
    "CuDNNGRU": Old(
        chain(layer("CuDNNGRU", "r", 5, 4, units=3)),
        {
            "r": {
                "kernel:0": to_cudnn(W3, 3),
                "recurrent_kernel:0": transposed(U3, 3),
                "bias:0": B3.ravel(),
            }
        },
        [STEPS],
        lambda x: gru(x, W3, U3, B3),
        "2.2.4",
        "tensorflow",
    ),
    "Convolution2D of Theano": Old(
        chain(
            layer(
                "Convolution2D",
                "c",
                3,
                6,
                5,
                nb_filter=4,
                nb_row=2,
                nb_col=3,
                border_mode="valid",
                subsample=[1, 1],
                dim_ordering="th",
                bias=False,
            )
        ),
        {"c": {"W": KERNEL}},
        [IMAGES],
        lambda x: convolved(x, KERNEL),
    ),
    "Convolution1D of 1.0": Old(
        chain(
            layer(
                "Convolution1D",
                "c",
                5,
                4,
                nb_filter=3,
                filter_length=2,
                border_mode="valid",
                subsample_length=1,
                bias=False,
            )
        ),
        {"c": {"W": LONG}},
        [STEPS],
        lambda x: np.stack(
            [np.einsum("nkc,fck->nf", x[:, i : i + 2], LONG[..., 0]) for i in range(4)], 1
        ),
        "1.0.8",
    ),
    "ZeroPadding2D by sides": Old(
        chain(
            layer(
                "ZeroPadding2D",
                "pad",
                3,
                6,
                5,
                padding={"top_pad": 1, "left_pad": 2},
                dim_ordering="th",
            )
        ),
        {},
        [IMAGES],
        lambda x: np.pad(x, ((0, 0), (0, 0), (1, 0), (2, 0))),
    ),
    "GRU before reset_after": Old(
        chain(layer("GRU", "r", 5, 4, units=3, activation="tanh", recurrent_activation="sigmoid")),
        {"r": {"kernel:0": W3, "recurrent_kernel:0": U3, "bias:0": B3[0]}},
        [STEPS],
        lambda x: reduce(
            lambda h, step: gru_before(step, h), x.transpose(1, 0, 2), np.zeros((2, 3))
        ),
        "2.1.6",
        "tensorflow",
    ),
}


def gru_before(step: np.ndarray, h: np.ndarray) -> np.ndarray:
    xz, xr, xh = np.split(step @ W3 + B3[0], 3, -1)
    uz, ur, uh = np.split(U3, 3, -1)
    z, r = sigmoid(xz + h @ uz), sigmoid(xr + h @ ur)
    return z * h + (1 - z) * np.tanh(xh + (r * h) @ uh)


def written(old: Old, path: Any) -> Any:
    lists = {
        name: [
            (f"{name}_{end}" if old.version < "2" else f"{name}/{end}", array)
            for end, array in arrays.items()
        ]
        for name, arrays in old.weights.items()
    }
    write_h5(path, old.config, lists, old.version, old.backend)
    return path


def job(old: Old, path: Any) -> Job:
    graph = KerasConverter(batch_size=len(old.given[0])).convert(*parse_model(written(old, path)))
    optimised = reduce(
        lambda g, name: import_module(f"webkiln.passes.{name}").run(g), PASSES, graph
    )
    given = {
        name: value.astype(graph.type(name).dtype)
        for name, value in zip(graph.inputs, old.given, strict=True)
    }
    return Job(optimised, given, constant_values(optimised, graph.weights))


def check(old: Old, outputs: dict[str, np.ndarray]) -> None:
    (got,) = outputs.values()
    wanted = old.wanted(*old.given)
    assert got.shape == wanted.shape
    assert relative_error(got, wanted) < 2e-5


@pytest.mark.parametrize("name", CASES)
def test_old_layers_compute_what_they_did(name: str, tmp_path: Any) -> None:
    graph = KerasConverter(batch_size=len(CASES[name].given[0])).convert(
        *parse_model(written(CASES[name], tmp_path / "m.h5"))
    )
    check(CASES[name], run_graph(graph, dict(zip(graph.inputs, CASES[name].given, strict=True)))[0])


@pytest.mark.parametrize("backend", ["wasm", "js", "webgpu", "webgl"])
@pytest.mark.sample("js")
def test_backends_compute_what_they_did(backend: str, tmp_path: Any) -> None:
    jobs = [job(old, tmp_path / f"{number}.h5") for number, old in enumerate(CASES.values())]
    for old, outputs in zip(CASES.values(), run(jobs, backend, tmp_path), strict=True):
        check(old, outputs)
