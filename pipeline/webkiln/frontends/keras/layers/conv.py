"""Convolutions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from webkiln.frontends.keras.layer import Layer
from webkiln.frontends.keras.layers.activations import activate
from webkiln.frontends.keras.layers.linear import bias_of
from webkiln.ops.builder import Tensor

if TYPE_CHECKING:
    from webkiln.frontends.keras.converter import KerasConverter


def conv(converter: "KerasConverter", layer: Layer) -> None:
    """Conv1D, Conv2D, Conv3D: kernel [*window, in / groups, out]."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    weight = layer.weight("kernel")
    groups = layer.config.get("groups", 1)
    layer.check_config(filters=weight.shape[-1])
    kernel = converter.convert_to_constant_variable(weight)
    _convolve(converter, layer, x, kernel, groups)


def depthwise_conv(converter: "KerasConverter", layer: Layer) -> None:
    """DepthwiseConv1D, DepthwiseConv2D: kernel [*window, in, multiplier]; output channel c * multiplier + m."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    weight = layer.weight("depthwise_kernel" if "depthwise_kernel" in layer.weights else "kernel")
    *window, channels, multiplier = weight.shape
    layer.check_config(depth_multiplier=multiplier)
    kernel = converter.convert_to_constant_variable(weight)
    kernel = converter.builder.op("Reshape", [kernel], {"shape": (*window, 1, channels * multiplier)})
    _convolve(converter, layer, x, kernel, channels)


def _convolve(converter: "KerasConverter", layer: Layer, x: Tensor, kernel: Tensor, groups: int) -> None:
    rank = x.type.rank
    if rank != kernel.type.rank:
        raise layer.error(f"the kernel is {list(kernel.shape)} for {kernel.type.rank - 2} spatial axes, x is {list(x.shape)}")
    batch, feature, *spatial = dims(layer, rank)
    *window, per_group, features = kernel.shape
    if isinstance(layer.config.get("kernel_size"), list):
        layer.check_config(kernel_size=tuple(window))
    if x.shape[feature] != per_group * groups:
        fitting = f", groups={x.shape[feature] // per_group} would fit" if x.shape[feature] % per_group == 0 else ""
        raise layer.error(
            f"the kernel has {per_group} input channels, x has {x.shape[feature]}; "
            f"with groups={groups} x needs {per_group * groups}{fitting}"
        )
    strides = sizes(layer.config.get("strides", 1), len(spatial))
    dilation = sizes(layer.config.get("dilation_rate", 1), len(spatial))
    pads = padding(layer, [x.shape[axis] for axis in spatial], window, strides, dilation)
    attrs = {
        "x_dims": (batch, feature, *spatial),
        "w_dims": (rank - 1, rank - 2, *range(rank - 2)),
        "out_dims": (batch, feature, *spatial),
        "strides": strides,
        "dilation": dilation,
        "pad_low": tuple(low for low, _ in pads),
        "pad_high": tuple(high for _, high in pads),
        "groups": groups,
    }
    inputs = [x, kernel, bias_of(converter, layer, features)] if layer.config.get("use_bias", True) else [x, kernel]
    y = converter.builder.op("Conv", inputs, attrs)
    converter.set_variable(converter.get_output_tensor(layer)[0], activate(converter.builder, layer, y))


def dims(layer: Layer, rank: int) -> tuple[int, ...]:
    """(batch, feature, *spatial) of x in the layer's data format."""
    first = layer.config.get("data_format") == "channels_first"
    return (0, 1, *range(2, rank)) if first else (0, rank - 1, *range(1, rank - 1))


def sizes(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    return (value,) * count if isinstance(value, int) else tuple(value)


def padding(
    layer: Layer, size: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:  # fmt: skip
    """(low, high) of each spatial axis for `valid`, `same` (the odd one goes high) and `causal`."""
    kind: Any = layer.config.get("padding", "valid")
    spans = [(w - 1) * d + 1 for w, d in zip(window, dilation, strict=True)]
    if kind == "valid":
        return [(0, 0)] * len(size)
    if kind == "causal":
        return [(span - 1, 0) for span in spans]
    if kind != "same":
        raise layer.unsupported(f"padding {kind!r}", "There are valid, same and causal")
    totals = [max((-(-n // s) - 1) * s + span - n, 0) for n, s, span in zip(size, strides, spans, strict=True)]
    return [(total // 2, total - total // 2) for total in totals]
