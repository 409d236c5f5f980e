"""Layers with several inputs."""

from collections.abc import Sequence
from functools import reduce
from string import ascii_lowercase, ascii_uppercase

from webkiln.frontends.keras.layer import Converter, Layer, LayerHandler
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.normalization import to_length_1
from webkiln.ops.functional.operands import operands


def merge(op: str, *, mean: bool = False) -> LayerHandler:
    """Combine all inputs from left to right with a binary operator. Inputs of lower rank get axes
    of size 1 after the batch axis.
    """

    def handler(converter: Converter, layer: Layer) -> None:
        inputs = promoted(converter, layer)
        rank = max(tensor.type.rank for tensor in inputs)
        b = converter.builder

        def widen(tensor: Tensor) -> Tensor:
            missing = rank - tensor.type.rank
            if not missing:
                return tensor
            return b.op(
                "Reshape",
                [tensor],
                {"shape": (tensor.shape[0], *(1,) * missing, *tensor.shape[1:])},
            )

        y = reduce(lambda x1, x2: b.op(op, [x1, x2]), [widen(tensor) for tensor in inputs])
        if mean:
            y = (y if is_float(y.dtype) else converter.cast(y, "float32")) / len(inputs)
        converter.set_variable(converter.get_output_tensor(layer)[0], y)

    return handler


def promoted(converter: Converter, layer: Layer) -> list[Tensor]:
    """The inputs in the dtype that Keras promotes them to."""
    return operands(
        converter.builder, *map(converter.get_variable, converter.get_input_tensor(layer))
    )


def concatenate(converter: Converter, layer: Layer) -> None:
    inputs = promoted(converter, layer)
    axis = layer.config.get("axis", -1) % inputs[0].type.rank
    y = converter.builder.op("Concat", inputs, {"axis": axis}, inputs[0].order)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def dot(converter: Converter, layer: Layer) -> None:
    """The dot products of two inputs over an axis of each, per sample."""
    x, y = promoted(converter, layer)
    b, axes = converter.builder, layer.config["axes"]
    if layer.config.get("normalize"):
        first, second = _axes(layer, x, y, axes)
        x, y = to_length_1(b, x, (first,), 1e-7), to_length_1(b, y, (second,), 1e-7)
    converter.set_variable(
        converter.get_output_tensor(layer)[0], batch_product(layer, b, x, y, axes)
    )


def batch_product(
    layer: Layer, b: GraphBuilder, x: Tensor, y: Tensor, axes: int | Sequence[int]
) -> Tensor:
    """Sums of products over an axis of each, [N, 1] if no other axis remains."""
    first, second = _axes(layer, x, y, axes)
    left, right = ascii_lowercase[: x.type.rank], ascii_uppercase[: y.type.rank]
    right = "".join(
        "a" if axis == 0 else left[first] if axis == second else letter
        for axis, letter in enumerate(right)
    )
    result = left.replace(left[first], "") + right[1:].replace(left[first], "")
    z = b.op("Einsum", [x, y], {"equation": f"{left},{right}->{result}"})
    return b.op("Reshape", [z], {"shape": (*z.shape, 1)}) if z.type.rank == 1 else z


def _axes(layer: Layer, x: Tensor, y: Tensor, axes: int | Sequence[int]) -> tuple[int, int]:
    first, second = (
        axis % tensor.type.rank
        for axis, tensor in zip([axes] * 2 if isinstance(axes, int) else axes, (x, y), strict=True)
    )
    if 0 in (first, second) or x.shape[first] != y.shape[second]:
        raise layer.error(
            f"axis {first} of {list(x.shape)} and axis {second} of {list(y.shape)} must have the"
            " same size, and not be the batch"
        )
    return first, second
