"""Normalizations."""

from collections.abc import Callable, Mapping
from typing import Any

from webkiln.frontends.chainer.functions.shape import normalised_axes, reshape
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node


def _kept_axes(x: ChainVariable, gamma: ChainVariable, axis: Any) -> tuple[int, ...]:
    """The axes of the parameters: all but the first, or those that are not reduced."""
    if axis is None:
        return tuple(range(1, 1 + gamma.ndim))
    averaged = normalised_axes(x, *((axis,) if isinstance(axis, int) else axis))
    return tuple(d for d in range(x.ndim) if d not in averaged)


def fixed_batch_normalization(
    x: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float = 2e-5, axis: Any = None
) -> ChainVariable:
    x, *statistics = map(as_variable, (x, gamma, beta, mean, var))
    remaining_axes = _kept_axes(x, statistics[0], axis)
    if remaining_axes == (1,):
        return node("BatchNormalization", x, *statistics, epsilon=float(eps))
    shape = [size if d in remaining_axes else 1 for d, size in enumerate(x.shape)]
    scale, shift, centre, spread = (reshape(item, shape) for item in statistics)
    return _scaled(node("Sub", x, centre), spread, scale, shift, eps)


def _scaled(
    centred: ChainVariable,
    spread: ChainVariable,
    scale: ChainVariable,
    shift: ChainVariable,
    eps: float,
) -> ChainVariable:
    return node(
        "Add",
        node("Mul", node("Div", centred, node("Sqrt", node("Add", spread, float(eps)))), scale),
        shift,
    )


def batch_normalization(
    x: Any, gamma: Any, beta: Any, *old: Any, eps: float = 2e-5, axis: Any = None, **kwargs: Any
) -> ChainVariable:
    """Normalize with the statistics of the batch."""
    x, gamma, beta = map(as_variable, (x, gamma, beta))
    eps = old[0] if old else eps
    kept = _kept_axes(x, gamma, axis)
    axes = tuple(d for d in range(x.ndim) if d not in kept)
    shape = [size if d in kept else 1 for d, size in enumerate(x.shape)]
    centred = node("Sub", x, node("ReduceMean", x, axes=axes, keepdims=1))
    spread = node("ReduceMean", node("Mul", centred, centred), axes=axes, keepdims=1)
    return _scaled(centred, spread, reshape(gamma, shape), reshape(beta, shape), eps)


def layer_normalization(x: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> ChainVariable:
    return node("LayerNormalization", as_variable(x), gamma, beta, axis=-1, epsilon=float(eps))


def group_normalization(
    x: Any, groups: int, gamma: Any, beta: Any, eps: float = 1e-5
) -> ChainVariable:
    x, gamma, beta = map(as_variable, (x, gamma, beta))
    n, channels, *rest = x.shape
    grouped = reshape(x, (n, groups, -1))
    grouped = node("Sub", grouped, node("ReduceMean", grouped, axes=(2,), keepdims=1))
    spread = node("ReduceMean", node("Mul", grouped, grouped), axes=(2,), keepdims=1)
    normalised = reshape(
        node("Div", grouped, node("Sqrt", node("Add", spread, float(eps)))), x.shape
    )
    shape = (1, channels, *[1] * len(rest))
    return node("Add", node("Mul", normalised, reshape(gamma, shape)), reshape(beta, shape))


def local_response_normalization(
    x: Any, n: int = 5, k: float = 2, alpha: float = 1e-4, beta: float = 0.75
) -> ChainVariable:
    width = 2 * (n // 2) + 1
    return node(
        "LRN",
        as_variable(x),
        size=width,
        bias=float(k),
        alpha=float(alpha) * width,
        beta=float(beta),
    )


def normalize(x: Any, eps: float = 1e-5, axis: Any = 1) -> ChainVariable:
    x = as_variable(x)
    axes = normalised_axes(x, *((axis,) if isinstance(axis, int) else axis))
    norm = node("Sqrt", node("ReduceSum", node("Mul", x, x), axes=axes, keepdims=1))
    return node("Div", x, node("Add", norm, float(eps)))


NORMALIZATION: Mapping[str, Callable[..., Any]] = {
    "fixed_batch_normalization": fixed_batch_normalization,
    "fixed_batch_renormalization": fixed_batch_normalization,
    "batch_normalization": batch_normalization,
    "layer_normalization": layer_normalization,
    "group_normalization": group_normalization,
    "local_response_normalization": local_response_normalization,
    "normalize": normalize,
}
