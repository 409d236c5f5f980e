"""Normalization and activation layers."""

from collections.abc import Sequence

import numpy as np

from webkiln.frontends.keras.layer import Converter, Layer, LayerHandler
from webkiln.frontends.keras.layers.activations import activate, options
from webkiln.ir.axis import OrderC
from webkiln.ir.dim import Shape
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import activations
from webkiln.ops.functional.activations import Activation, softmax
from webkiln.ops.functional.normalization import by_root_mean_square, standardise, to_length_1


def batch_normalization(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    config = layer.config
    axis = config.get("axis", -1)
    axis = (axis[0] if isinstance(axis, list) else axis) % x.type.rank
    channels = x.shape[axis]

    def statistic(name: str, otherwise: float, option: str = "") -> Tensor:
        if option and not config.get(option, True):
            return converter.builder.op(
                "Broadcast",
                [converter.builder.constant(otherwise, x.dtype)],
                {"shape": (channels,)},
                OrderC,
            )
        weight = layer.weight(name)
        if weight.shape != (channels,):
            raise layer.error(
                f"{name} is {list(weight.shape)}, axis {axis} of x has {channels} channels"
            )
        return converter.convert_to_constant_variable(weight, OrderC)

    scale = statistic("gamma", 1.0, "scale")
    beta = statistic("beta", 0.0, "center")
    mean, variance = statistic("moving_mean", 0.0), statistic("moving_variance", 1.0)
    attrs = {"axis": axis, "epsilon": float(config.get("epsilon", 1e-3))}
    y = converter.builder.op("BatchNorm", [x, scale, beta, mean, variance], attrs)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def layer_normalization(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    axes = normal_axes(layer.config.get("axis", -1), x.type.rank)
    epsilon = float(layer.config.get("epsilon", 1e-3))
    rms_scaling = bool(layer.config.get("rms_scaling", False))
    y = standardise(converter.builder, x, axes, epsilon, centre=not rms_scaling)
    names = [
        name
        for name in ("gamma", "beta")
        if name in layer.weights and not (rms_scaling and name == "beta")
    ]
    shape = tuple(size if axis in axes else 1 for axis, size in enumerate(x.shape))
    converter.set_variable(
        converter.get_output_tensor(layer)[0],
        _affine(converter, layer, y, names, tuple(x.shape[axis] for axis in axes), shape),
    )


def group_normalization(converter: Converter, layer: Layer) -> None:
    """Normalize each group of channels over the group and all axes except the batch. `groups=-1`
    means one channel per group.
    """
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    b, axis = converter.builder, layer.config.get("axis", -1) % x.type.rank
    channels = x.shape[axis]
    groups = layer.config.get("groups", 32)
    groups = channels if groups == -1 else groups
    if channels % groups:
        raise layer.error(
            f"{channels} channels on axis {axis} of {list(x.shape)} are not divisible into {groups}"
            " groups"
        )
    split = b.op(
        "Reshape",
        [x],
        {"shape": (*x.shape[:axis], groups, channels // groups, *x.shape[axis + 1 :])},
    )
    axes = tuple(a for a in range(1, x.type.rank + 1) if a != axis)
    y = b.op(
        "Reshape",
        [standardise(b, split, axes, float(layer.config.get("epsilon", 1e-3)))],
        {"shape": x.shape},
        x.order,
    )
    names = [name for name in ("gamma", "beta") if name in layer.weights]
    shape = tuple(channels if a == axis else 1 for a in range(x.type.rank))
    converter.set_variable(
        converter.get_output_tensor(layer)[0],
        _affine(converter, layer, y, names, (channels,), shape),
    )


def rms_normalization(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    axes = normal_axes(layer.config.get("axis", -1), x.type.rank)
    y = by_root_mean_square(converter.builder, x, axes, float(layer.config.get("epsilon", 1e-6)))
    shape = tuple(x.shape[axis] for axis in axes)
    converter.set_variable(
        converter.get_output_tensor(layer)[0], _affine(converter, layer, y, ["scale"], shape, shape)
    )


def unit_normalization(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    converter.set_variable(
        converter.get_output_tensor(layer)[0],
        to_length_1(
            converter.builder, x, normal_axes(layer.config.get("axis", -1), x.type.rank), 1e-12
        ),
    )


def normalization(converter: Converter, layer: Layer) -> None:
    """Subtract a constant mean, and divide by the root of a constant variance (at least 1e-7); or
    the inverse.
    """
    x = _floating(converter, layer)
    config, b = layer.config, converter.builder
    axis = config.get("axis", -1)
    axes = () if axis is None else normal_axes(axis, x.type.rank)

    def statistic(name: str) -> Tensor:
        constant = config.get(name)
        value = converter.convert_to_constant_variable(
            layer.weight(name) if constant is None else np.asarray(constant, x.dtype)
        )
        sizes = dict(zip(reversed(axes), reversed(value.shape), strict=False))
        if value.type.rank > len(axes) or any(
            size not in (1, x.shape[a]) for a, size in sizes.items()
        ):
            raise layer.error(
                f"{name} is {list(value.shape)}, x needs {[x.shape[a] for a in axes]}"
            )
        return b.op(
            "Reshape", [value], {"shape": tuple(sizes.get(a, 1) for a in range(x.type.rank))}
        )

    mean = statistic("mean")
    deviation = b.binary("Max", b.op("Sqrt", [statistic("variance")]), 1e-7)
    y = (
        b.op("Add", [b.op("Mul", [x, deviation]), mean])
        if config.get("invert")
        else b.op("Div", [b.op("Sub", [x, mean]), deviation])
    )
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def rescaling(converter: Converter, layer: Layer) -> None:
    x = _floating(converter, layer)
    scale, offset = (
        converter.builder.constant(np.asarray(layer.config[name], x.dtype))
        for name in ("scale", "offset")
    )
    y = converter.builder.op("Add", [converter.builder.op("Mul", [x, scale]), offset])
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def _floating(converter: Converter, layer: Layer) -> Tensor:
    """The input, with integers cast to float32."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    return (
        x if is_float(x.dtype) else converter.builder.op("Cast", [x], {"dtype": "float32"}, x.order)
    )


def spectral_normalization(converter: Converter, layer: Layer) -> None:
    """Call the wrapped layer, whose stored kernel is already normalized."""
    (part,) = layer.spec.parts.values()
    (y,) = converter.apply(
        part, layer.path, [converter.get_variable(converter.get_input_tensor(layer)[0])]
    )
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def normal_axes(axis: int | Sequence[int], rank: int) -> tuple[int, ...]:
    return tuple(sorted(a % rank for a in ([axis] if isinstance(axis, int) else axis)))


def _affine(
    converter: Converter,
    layer: Layer,
    y: Tensor,
    names: Sequence[str],
    expected: Shape,
    shape: Shape,
) -> Tensor:
    """Multiply by the first named weight, and add the weight beta, both reshaped to `shape`."""
    for name in names:
        weight = layer.weight(name)
        if weight.shape != expected:
            raise layer.error(f"{name} is {list(weight.shape)}, x needs {list(expected)}")
        factor = converter.builder.op(
            "Reshape", [converter.convert_to_constant_variable(weight)], {"shape": shape}
        )
        y = converter.builder.op("Add" if name == "beta" else "Mul", [y, factor])
    return y


def activation(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    converter.set_variable(
        converter.get_output_tensor(layer)[0], activate(converter.builder, layer, x)
    )


def activation_layer(function: Activation) -> LayerHandler:
    """ReLU, LeakyReLU, ELU: the config has the function's arguments."""

    def handler(converter: Converter, layer: Layer) -> None:
        x = converter.get_variable(converter.get_input_tensor(layer)[0])
        converter.set_variable(
            converter.get_output_tensor(layer)[0],
            function(converter.builder, x, **options(layer.config)),
        )

    return handler


def softmax_layer(converter: Converter, layer: Layer) -> None:
    """Softmax. Where a mask is False (or at most 0.5), scores are -1e9 and results 0."""
    x, *masks = map(converter.get_variable, converter.get_input_tensor(layer))
    b = converter.builder
    shown = next(
        (mask if mask.dtype == "bool" else b.binary("Greater", mask, 0.5) for mask in masks), None
    )
    if shown is not None:
        x = b.op("Where", [shown, x, b.constant(-1e9, x.dtype)])
    y = softmax(b, x, **options(layer.config))
    if shown is not None:
        y = b.op("Where", [shown, y, b.constant(0.0, y.dtype)])
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def by_element(converter: Converter, layer: Layer, name: str, x: Tensor) -> Tensor:
    """A weight with an element for each element of x without its batch, or size 1 along shared
    axes.
    """
    weight = layer.weight(name)
    fits = len(weight.shape) == x.type.rank - 1
    if not fits or any(
        size not in (1, extent) for size, extent in zip(weight.shape, x.shape[1:], strict=True)
    ):
        what = f"{name} is {list(weight.shape)}, x is {list(x.shape)}"
        raise layer.error(f"{what}; each size of {name} is that of x without its batch, or 1")
    return converter.convert_to_constant_variable(weight)


def prelu(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    slope = by_element(converter, layer, "alpha", x)
    y = activations.prelu(converter.builder, x, slope)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def identity(converter: Converter, layer: Layer) -> None:
    """Layers that are the identity at inference."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    converter.set_variable(converter.get_output_tensor(layer)[0], x)
