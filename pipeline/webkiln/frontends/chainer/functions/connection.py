"""Products with weights, embeddings, and functions that are random in training."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions.shape import reshape
from webkiln.frontends.chainer.settings import CONFIG
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node


def linear(x: Any, W: Any, b: Any = None, n_batch_axes: int = 1) -> ChainVariable:
    """Flatten all axes after the first `n_batch_axes`."""
    x, W = as_variable(x), as_variable(W)
    lead = x.shape[:n_batch_axes]
    inner = W.shape[1]
    if x.ndim == 2:
        return node("Gemm", x, W, b, transB=1)
    y = node("Gemm", reshape(x, (-1, inner)), W, b, transB=1)
    return y if n_batch_axes == 1 else reshape(y, (*lead, W.shape[0]))


def embed_id(x: Any, W: Any, ignore_label: int | None = None) -> ChainVariable:
    x, W = as_variable(x), as_variable(W)
    if ignore_label is None:
        return node("Gather", W, x, axis=0)
    ignored = node("Equal", x, ignore_label)
    rows = node("Gather", W, node("Where", ignored, np.asarray(0, x.dtype), x), axis=0)
    return node("Where", reshape(ignored, (*x.shape, 1)), np.asarray(0, W.dtype), rows)


def bilinear(
    e1: Any, e2: Any, W: Any, V1: Any = None, V2: Any = None, b: Any = None
) -> ChainVariable:
    e1, e2 = (
        reshape(item, (item.shape[0], -1)) if item.ndim != 2 else item
        for item in map(as_variable, (e1, e2))
    )
    y = node("Einsum", e1, e2, as_variable(W), equation="ij,ik,jkl->il")
    if V1 is None:
        return y
    y = node(
        "Add",
        node("Add", y, node("MatMul", e1, as_variable(V1))),
        node("MatMul", e2, as_variable(V2)),
    )
    return node("Add", y, as_variable(b))


def dropout(x: Any, ratio: float = 0.5, *args: Any, **kwargs: Any) -> Any:
    """Identity at inference. In Chainer 1, the third argument is `train`."""
    train = args[0] if args else kwargs.get("train", CONFIG.train)
    if train and CONFIG.train:
        raise SourceError(
            "F.dropout: the code sets chainer.config.train, which"
            " drops random elements; record the model without it"
        )
    return (as_variable(x), None) if kwargs.get("return_mask") else as_variable(x)


def zoneout(h: Any, x: Any, ratio: float = 0.5, **kwargs: Any) -> ChainVariable:
    """At inference, the first operand is unused."""
    return as_variable(x)


def simplified_dropconnect(
    x: Any,
    W: Any,
    b: Any = None,
    ratio: float = 0.5,
    train: bool = True,
    mask: Any = None,
    *args: Any,
) -> ChainVariable:
    if train and CONFIG.train:
        raise SourceError(
            "F.simplified_dropconnect: drops random weights; call it with train=False"
        )
    return linear(x, W, b)


def forget(func: Any, *xs: Any) -> Any:
    return func(*xs)


CONNECTION: Mapping[str, Callable[..., Any]] = {
    "linear": linear,
    "embed_id": embed_id,
    "bilinear": bilinear,
    "dropout": dropout,
    "zoneout": zoneout,
    "simplified_dropconnect": simplified_dropconnect,
    "forget": forget,
}
