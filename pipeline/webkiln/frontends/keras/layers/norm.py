"""Normalisation and activation layers."""

from typing import TYPE_CHECKING

from webkiln.frontends.keras.layer import Handler, Layer
from webkiln.frontends.keras.layers.activations import Activation, activate, options
from webkiln.ir.axis import OrderC
from webkiln.ops.builder import Tensor

if TYPE_CHECKING:
    from webkiln.frontends.keras.converter import KerasConverter


def batch_normalization(converter: "KerasConverter", layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    config = layer.config
    axis = config.get("axis", -1)
    axis = (axis[0] if isinstance(axis, list) else axis) % x.type.rank
    channels = x.shape[axis]

    def statistic(name: str, otherwise: float, option: str = "") -> Tensor:
        if option and not config.get(option, True):
            return converter.builder.op("Broadcast", [converter.builder.constant(otherwise, x.dtype)], {"shape": (channels,)}, OrderC)
        weight = layer.weight(name)
        if weight.shape != (channels,):
            raise layer.error(f"{name} is {list(weight.shape)}, axis {axis} of x has {channels} channels")
        return converter.convert_to_constant_variable(weight, OrderC)

    scale = statistic("gamma", 1.0, "scale")
    beta = statistic("beta", 0.0, "center")
    mean, variance = statistic("moving_mean", 0.0), statistic("moving_variance", 1.0)
    attrs = {"axis": axis, "epsilon": float(config.get("epsilon", 1e-3))}
    y = converter.builder.op("BatchNorm", [x, scale, beta, mean, variance], attrs)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def activation(converter: "KerasConverter", layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    converter.set_variable(converter.get_output_tensor(layer)[0], activate(converter.builder, layer, x))


def activation_layer(function: Activation) -> Handler:
    """ReLU, LeakyReLU, Softmax, ELU: the config holds the function's arguments."""

    def handler(converter: "KerasConverter", layer: Layer) -> None:
        refs = converter.get_input_tensor(layer)
        if len(refs) != 1:
            raise layer.unsupported("a mask", "Add the mask to the scores before this layer")
        y = function(converter.builder, converter.get_variable(refs[0]), **options(layer.config))
        converter.set_variable(converter.get_output_tensor(layer)[0], y)

    return handler


def identity(converter: "KerasConverter", layer: Layer) -> None:
    """Layers that only act while training."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    converter.set_variable(converter.get_output_tensor(layer)[0], x)
