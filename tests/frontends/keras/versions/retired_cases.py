"""Models of layers and options that Keras has removed, with their outputs in numpy."""

from functools import reduce

import numpy as np

from tests.frontends.keras.versions.chains import chain, layer, numbers
from tests.frontends.keras.versions.merged_models import (
    B,
    Old,
    U,
    W,
    cosine,
    inside,
    merge_case,
    shared,
    unnamed,
)
from tests.frontends.keras.versions.numpy_layers import (
    convolved,
    gru,
    hard_sigmoid,
    lstm,
    normalized,
    sigmoid,
    to_cudnn,
    transposed,
)

W3, U3, B3 = numbers(4, 9), numbers(3, 9, seed=1), numbers(2, 9, seed=2)


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
    "Merge, sum": merge_case("sum", lambda a, b: a + b),
    "Merge, mul": merge_case("mul", lambda a, b: a * b),
    "Merge, ave": merge_case("ave", lambda a, b: (a + b) / 2),
    "Merge, max": merge_case("max", np.maximum),
    "Merge, concat": merge_case("concat", lambda a, b: np.concatenate([a, b], 1), concat_axis=1),
    "Merge, dot": merge_case("dot", lambda a, b: (a * b).sum(1, keepdims=True), dot_axes=[1, 1]),
    "Merge, cos": merge_case("cos", cosine, dot_axes=[1, 1]),
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
