"""Activations by the names of Keras."""

from collections.abc import Mapping
from typing import Any

from webkiln.frontends.keras.layer import Layer
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.activations import (
    Activation,
    celu,
    elu,
    gelu,
    glu,
    hard_shrink,
    hard_sigmoid,
    hard_silu,
    leaky_relu,
    linear,
    log_sigmoid,
    log_softmax,
    mish,
    relu,
    relu6,
    soft_shrink,
    softmax,
    sparse_plus,
    sparse_sigmoid,
    sparsemax,
    squareplus,
    tanh_shrink,
    unary,
)

ACTIVATIONS: Mapping[str, Activation] = {
    "linear": linear,
    "relu": relu,
    "relu6": relu6,
    "sigmoid": unary("Sigmoid"),
    "tanh": unary("Tanh"),
    "softmax": softmax,
    "log_softmax": log_softmax,
    "elu": elu,
    "selu": unary("Selu"),
    "gelu": gelu,
    "softplus": unary("Softplus"),
    "softsign": unary("Softsign"),
    "exponential": unary("Exp"),
    "hard_sigmoid": unary("HardSigmoid"),
    "hard_sigmoid_2": hard_sigmoid,
    "silu": unary("Silu"),
    "swish": unary("Silu"),
    "leaky_relu": leaky_relu,
    "mish": mish,
    "hard_silu": hard_silu,
    "hard_swish": hard_silu,
    "hard_tanh": unary("Clip", min=-1.0, max=1.0),
    "log_sigmoid": log_sigmoid,
    "tanh_shrink": tanh_shrink,
    "celu": celu,
    "squareplus": squareplus,
    "glu": glu,
    "hard_shrink": hard_shrink,
    "soft_shrink": soft_shrink,
    "sparse_plus": sparse_plus,
    "sparse_sigmoid": sparse_sigmoid,
    "sparsemax": sparsemax,
    "ReLU": relu,
    "LeakyReLU": leaky_relu,
    "ELU": elu,
    "Softmax": softmax,
}


def activate(b: GraphBuilder, layer: Layer, x: Tensor, argument: str = "activation") -> Tensor:
    """Apply the activation in a layer's config, or its activation layer."""
    activation = layer.config.get(argument) or "linear"
    if not isinstance(activation, dict):
        return ACTIVATIONS[activation](b, x)
    return ACTIVATIONS[activation["class_name"]](b, x, **options(activation["config"]))


def options(config: Mapping[str, Any]) -> dict[str, Any]:
    """The activation function's arguments in an activation layer's config."""
    return {key: value for key, value in config.items() if key not in ("dtype", "activation")}
