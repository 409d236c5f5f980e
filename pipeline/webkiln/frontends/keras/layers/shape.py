"""Layers that move data."""

from math import prod

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.conv import dims
from webkiln.ir.axis import OrderNC
from webkiln.ir.dim import is_at_least, is_nonzero


def flatten(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    b = converter.builder
    if layer.config.get("data_format") == "channels_first" and x.type.rank > 2:
        x = b.op("Transpose", [x], {"perm": (0, *range(2, x.type.rank), 1)})
    y = b.op("Reshape", [x], {"shape": (x.shape[0], prod(x.shape[1:]))}, OrderNC)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def reshape(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    target = list(layer.config["target_shape"])
    size, product = prod(x.shape[1:]), prod(n for n in target if n != -1)
    if (
        target.count(-1) > 1
        or product == 0
        or is_nonzero(size % product)
        or (-1 not in target and is_nonzero(size - product))
    ):
        raise layer.error(f"{size} elements do not fit shape {target}")
    shape = (x.shape[0], *(size // product if n == -1 else n for n in target))
    converter.set_variable(
        converter.get_output_tensor(layer)[0],
        converter.builder.op("Reshape", [x], {"shape": shape}, converter.order(len(shape))),
    )


def permute(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    y = converter.builder.op(
        "Transpose", [x], {"perm": (0, *layer.config["dims"])}, converter.order(x.type.rank)
    )
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def zero_padding(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    _, _, *spatial = dims(layer, x.type.rank)
    amounts = layer.config["padding"]
    pairs = [amounts] if len(spatial) == 1 else amounts
    low, high = [0] * x.type.rank, [0] * x.type.rank
    for axis, (before, after) in zip(spatial, pairs, strict=True):
        low[axis], high[axis] = before, after
    y = converter.builder.op("Pad", [x], {"low": tuple(low), "high": tuple(high), "value": 0.0})
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def cropping(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    _, _, *spatial = dims(layer, x.type.rank)
    amounts = layer.config["cropping"]
    starts, sizes = [0] * x.type.rank, list(x.shape)
    for axis, (before, after) in zip(
        spatial, [amounts] if len(spatial) == 1 else amounts, strict=True
    ):
        starts[axis], sizes[axis] = before, sizes[axis] - before - after
        if is_at_least(0, sizes[axis]):
            raise layer.error(
                f"cropping {before} and {after} of axis {axis} leaves nothing of its"
                f" {x.shape[axis]} elements"
            )
    attrs = {"starts": tuple(starts), "sizes": tuple(sizes), "steps": (1,) * x.type.rank}
    converter.set_variable(
        converter.get_output_tensor(layer)[0], converter.builder.op("Slice", [x], attrs)
    )


def repeat_vector(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    rows, b = x.shape[0], converter.builder
    y = b.op("Reshape", [x], {"shape": (rows, 1, *x.shape[1:])})
    y = b.op(
        "Broadcast",
        [y],
        {"shape": (rows, layer.config["n"], *x.shape[1:])},
        converter.order(x.type.rank + 1),
    )
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def masking(converter: Converter, layer: Layer) -> None:
    """Set steps to 0 whose features all have the mask's value."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    b = converter.builder
    differs = b.op(
        "Cast", [b.binary("NotEqual", x, float(layer.config["mask_value"]))], {"dtype": "int32"}
    )
    shown = b.op(
        "Cast",
        [b.op("ReduceMax", [differs], {"axes": (x.type.rank - 1,), "keepdims": True})],
        {"dtype": "bool"},
    )
    y = b.op("Where", [shown, x, b.constant(0.0, x.dtype)], order=x.order)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)
