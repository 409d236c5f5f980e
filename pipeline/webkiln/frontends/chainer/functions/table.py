"""All functions of `chainer.functions`: supported ones, and unsupported ones with the reason."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from webkiln.errors import UnsupportedError
from webkiln.frontends.chainer.functions.activation import ACTIVATION
from webkiln.frontends.chainer.functions.connection import CONNECTION
from webkiln.frontends.chainer.functions.elementwise import ELEMENTWISE
from webkiln.frontends.chainer.functions.image import IMAGE
from webkiln.frontends.chainer.functions.indexing import INDEXING
from webkiln.frontends.chainer.functions.normalization import NORMALIZATION
from webkiln.frontends.chainer.functions.padding import PADDING
from webkiln.frontends.chainer.functions.recurrent import RECURRENT
from webkiln.frontends.chainer.functions.reduce import REDUCE
from webkiln.frontends.chainer.functions.shape import SHAPE
from webkiln.frontends.chainer.functions.window import WINDOW
from webkiln.frontends.chainer.recorder import ACTIVE

GROUPS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "Activations and cells": ACTIVATION,
    "Elementwise": ELEMENTWISE,
    "Shapes and indices": {**SHAPE, **PADDING, **INDEXING},
    "Sums, extremes, products": REDUCE,
    "Convolutions and pooling": WINDOW,
    "Normalisations": NORMALIZATION,
    "Linear maps, embeddings, noise": CONNECTION,
    "Images": IMAGE,
    "Sequences": RECURRENT,
}
RECORDED: Mapping[str, Callable[..., Any]] = {
    name: function for group in GROUPS.values() for name, function in group.items()
}

LIBRARIES = ("use_cudnn", "deterministic", "use_ideep")
LOSS = "it trains a model; return its operands"
RANDOM = "it draws random numbers; return its parameters, and draw on the page"
SPECIAL = "no backend has this function; compute it on the page"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "bernoulli_nll",
            "black_out",
            "connectionist_temporal_classification",
            "contrastive",
            "crf1d",
            "cross_covariance",
            "decov",
            "discriminative_margin_based_clustering_loss",
            "gaussian_kl_divergence",
            "gaussian_nll",
            "hinge",
            "huber_loss",
            "mean_absolute_error",
            "mean_squared_error",
            "negative_sampling",
            "sigmoid_cross_entropy",
            "softmax_cross_entropy",
            "triplet",
        ),
        LOSS,
    ),
    **dict.fromkeys(
        (
            "accuracy",
            "binary_accuracy",
            "classification_summary",
            "f1_score",
            "precision",
            "recall",
            "r2_score",
        ),
        "it evaluates a model; return its operands",
    ),
    **dict.fromkeys(("gaussian", "gumbel_softmax"), RANDOM),
    **dict.fromkeys(
        ("digamma", "erfcinv", "erfcx", "lgamma", "log_ndtr", "polygamma", "zeta"), SPECIAL
    ),
    "argmax_crf1d": (
        "it backtracks through the best labels; return the scores, and backtrack on the page"
    ),
    "as_strided": "it reads memory by strides; write it with F.reshape, F.transpose and slices",
    "batch_inv": "no backend inverts matrices of this kind; keep the inverse as a parameter",
    "inv": "no backend inverts matrices of this kind; keep the inverse as a parameter",
    "cholesky": "no backend factorises matrices of this kind; keep the factor as a parameter",
    "batch_renormalization": "it trains a model; its link uses the fixed form at inference",
    "decorrelated_batch_normalization": "it trains a model",
    "fixed_decorrelated_batch_normalization": "multiply by the projection with F.matmul",
    "fft": "it computes with two arrays of complex numbers; write it with F.matmul",
    "ifft": "it computes with two arrays of complex numbers; write it with F.matmul",
    "sparse_matmul": "its operand is sparse; use F.matmul with a dense matrix",
    "theano": "it runs Theano",
}


def labelled(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Nodes are named after their function. Arguments of older versions that select a library are
    ignored.
    """

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        with ACTIVE.current().inside(name, is_link=False) as finish:
            return finish(
                function(
                    *args, **{key: value for key, value in options.items() if key not in LIBRARIES}
                )
            )

    return call


def refusing(name: str, reason: str) -> Callable[..., Any]:
    def refuse(*args: Any, **options: Any) -> Any:
        raise UnsupportedError(
            f"F.{name}",
            [(f"chainer.functions.{name}", "is not converted", f"{reason[0].upper()}{reason[1:]}")],
        )

    return refuse


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: labelled(name, function) for name, function in RECORDED.items()},
    **{name: refusing(name, reason) for name, reason in REFUSED.items()},
}
