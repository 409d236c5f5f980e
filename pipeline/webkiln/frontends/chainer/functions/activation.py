"""Activations, and recurrent cells that are composed of them."""

from collections.abc import Callable, Mapping
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions.elementwise import along, clip, unary
from webkiln.frontends.chainer.functions.indexing import get_item
from webkiln.frontends.chainer.functions.shape import concat, normalised_axes, reshape, split_axis
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node

relu, sigmoid, tanh = unary("Relu"), unary("Sigmoid"), unary("Tanh")


def clipped_relu(x: Any, z: float = 20.0) -> ChainVariable:
    return clip(x, 0.0, float(z))


def relu6(x: Any) -> ChainVariable:
    return clip(x, 0.0, 6.0)


def crelu(x: Any, axis: int = 1) -> ChainVariable:
    x = as_variable(x)
    return concat([relu(x), relu(node("Neg", x))], axis)


def elu(x: Any, alpha: float = 1.0) -> ChainVariable:
    return node("Elu", as_variable(x), alpha=float(alpha))


def hard_sigmoid(x: Any) -> ChainVariable:
    return node("HardSigmoid", as_variable(x), alpha=0.2, beta=0.5)


def leaky_relu(x: Any, slope: float = 0.2) -> ChainVariable:
    return node("LeakyRelu", as_variable(x), alpha=float(slope))


def rrelu(x: Any, l: float = 1.0 / 8, u: float = 1.0 / 3, **kwargs: Any) -> ChainVariable:  # noqa: E741 - its name in Chainer
    return leaky_relu(x, (l + u) / 2)


def selu(
    x: Any, alpha: float = 1.6732632423543772, scale: float = 1.0507009873554805
) -> ChainVariable:
    return node("Selu", as_variable(x), alpha=float(alpha), gamma=float(scale))


def softplus(x: Any, beta: float = 1.0) -> ChainVariable:
    x = as_variable(x)
    return (
        node("Softplus", x)
        if beta == 1
        else node("Mul", node("Softplus", node("Mul", x, float(beta))), 1 / float(beta))
    )


def swish(x: Any, beta: Any) -> ChainVariable:
    x = as_variable(x)
    return node(
        "Mul",
        x,
        sigmoid(along(x, beta, 1, "Mul") if as_variable(beta).ndim else node("Mul", x, beta)),
    )


def prelu(x: Any, W: Any) -> ChainVariable:
    x, W = as_variable(x), as_variable(W)
    slope = reshape(W, (*W.shape, *[1] * (x.ndim - 1 - W.ndim))) if W.ndim else W
    return node("PRelu", x, slope)


def maxout(x: Any, pool_size: int, axis: int = 1) -> ChainVariable:
    x = as_variable(x)
    dim = normalised_axes(x, axis)[0]
    grouped = reshape(
        x, (*x.shape[:dim], x.shape[dim] // pool_size, pool_size, *x.shape[dim + 1 :])
    )
    return node("ReduceMax", grouped, axes=(dim + 1,), keepdims=0)


def softmax(x: Any, axis: int = 1, **kwargs: Any) -> ChainVariable:
    return node("Softmax", as_variable(x), axis=axis)


def log_softmax(x: Any, axis: int = 1) -> ChainVariable:
    return node("LogSoftmax", as_variable(x), axis=axis)


def gates(x: Any, count: int = 4) -> list[ChainVariable]:
    """The gates of a cell, which are interleaved by unit."""
    x = as_variable(x)
    grouped = reshape(x, (x.shape[0], x.shape[1] // count, count, *x.shape[2:]))
    return [get_item(grouped, (slice(None), slice(None), number)) for number in range(count)]


def lstm(c_prev: Any, x: Any) -> tuple[ChainVariable, ChainVariable]:
    a, i, f, o = gates(x)
    c_prev = as_variable(c_prev)
    if _is_shorter(a, c_prev):
        batch = a.shape[0]
        current, rest = get_item(c_prev, slice(None, batch)), get_item(c_prev, slice(batch, None))
        c, h = lstm(current, x)
        return concat([c, rest], 0), h
    c = node("Add", node("Mul", tanh(a), sigmoid(i)), node("Mul", sigmoid(f), c_prev))
    return c, node("Mul", sigmoid(o), tanh(c))


def _is_shorter(a: ChainVariable, b: ChainVariable) -> bool:
    sizes = (a.shape[0], b.shape[0])
    return all(isinstance(size, int) for size in sizes) and sizes[0] < sizes[1]


def slstm(c_prev1: Any, c_prev2: Any, x1: Any, x2: Any) -> tuple[ChainVariable, ChainVariable]:
    (a1, i1, f1, o1), (a2, i2, f2, o2) = gates(x1), gates(x2)
    first = node(
        "Add", node("Mul", tanh(a1), sigmoid(i1)), node("Mul", sigmoid(f1), as_variable(c_prev1))
    )
    second = node(
        "Add", node("Mul", tanh(a2), sigmoid(i2)), node("Mul", sigmoid(f2), as_variable(c_prev2))
    )
    c = node("Add", first, second)
    return c, node("Mul", sigmoid(node("Add", o1, o2)), tanh(c))


def tree_lstm(*inputs: Any) -> tuple[ChainVariable, ChainVariable]:
    """The cells of the children, and a, i, o and one forget gate for each child, concatenated."""
    *cells, x = map(as_variable, inputs)
    if not cells:
        raise SourceError("F.tree_lstm: expects the cells of the children and their input")
    a, i, o, *forget = split_axis(x, 3 + len(cells), 1)
    c = node("Mul", tanh(a), sigmoid(i))
    for f, cell in zip(forget, cells, strict=True):
        c = node("Add", c, node("Mul", sigmoid(f), cell))
    return c, node("Mul", sigmoid(o), tanh(c))


ACTIVATION: Mapping[str, Callable[..., Any]] = {
    "relu": relu,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "clipped_relu": clipped_relu,
    "relu6": relu6,
    "crelu": crelu,
    "elu": elu,
    "hard_sigmoid": hard_sigmoid,
    "leaky_relu": leaky_relu,
    "rrelu": rrelu,
    "selu": selu,
    "softplus": softplus,
    "swish": swish,
    "prelu": prelu,
    "maxout": maxout,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "lstm": lstm,
    "slstm": slstm,
    "tree_lstm": tree_lstm,
}
