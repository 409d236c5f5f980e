"""Layers with several inputs."""

from functools import reduce
from typing import TYPE_CHECKING

from webkiln.frontends.keras.layer import Handler, Layer
from webkiln.ops.builder import Tensor

if TYPE_CHECKING:
    from webkiln.frontends.keras.converter import KerasConverter


def merge(op: str, *, mean: bool = False) -> Handler:
    """Combine all inputs from the left with a binary operator; inputs of lower rank get axes of size 1 after the batch axis."""

    def handler(converter: "KerasConverter", layer: Layer) -> None:
        inputs = [converter.get_variable(ref) for ref in converter.get_input_tensor(layer)]
        rank = max(tensor.type.rank for tensor in inputs)
        b = converter.builder

        def widen(tensor: Tensor) -> Tensor:
            missing = rank - tensor.type.rank
            if not missing:
                return tensor
            return b.op("Reshape", [tensor], {"shape": (tensor.shape[0], *(1,) * missing, *tensor.shape[1:])})

        y = reduce(lambda x1, x2: b.op(op, [x1, x2]), [widen(tensor) for tensor in inputs])
        converter.set_variable(converter.get_output_tensor(layer)[0], y / len(inputs) if mean else y)

    return handler


def concatenate(converter: "KerasConverter", layer: Layer) -> None:
    inputs = [converter.get_variable(ref) for ref in converter.get_input_tensor(layer)]
    axis = layer.config.get("axis", -1) % inputs[0].type.rank
    y = converter.builder.op("Concat", inputs, {"axis": axis}, inputs[0].order)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)
