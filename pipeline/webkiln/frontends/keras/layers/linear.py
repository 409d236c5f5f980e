"""Dense layers."""

from typing import TYPE_CHECKING

from webkiln.frontends.keras.layer import Layer
from webkiln.frontends.keras.layers.activations import activate
from webkiln.ir.axis import OrderC
from webkiln.ops.builder import Tensor

if TYPE_CHECKING:
    from webkiln.frontends.keras.converter import KerasConverter


def dense(converter: "KerasConverter", layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    weight = layer.weight("kernel")
    if len(weight.shape) != 2 or x.type.rank < 2 or x.shape[-1] != weight.shape[0]:
        raise layer.error(f"the kernel is {list(weight.shape)}, x is {list(x.shape)}; x needs {weight.shape[0]} features on its last axis")
    layer.check_config(units=weight.shape[1])
    b = converter.builder
    y = b.op("MatMul", [x, converter.convert_to_constant_variable(weight)], order=x.order)
    if layer.config.get("use_bias", True):
        y = b.op("Add", [y, bias_of(converter, layer, weight.shape[1])])
    converter.set_variable(converter.get_output_tensor(layer)[0], activate(b, layer, y))


def bias_of(converter: "KerasConverter", layer: Layer, features: int) -> Tensor:
    weight = layer.weight("bias")
    if weight.shape != (features,):
        raise layer.error(f"the bias is {list(weight.shape)}, the kernel gives {features} features")
    return converter.convert_to_constant_variable(weight, OrderC)
