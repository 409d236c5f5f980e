"""Convolutions."""

from collections.abc import Sequence
from typing import Any

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.activations import activate
from webkiln.frontends.keras.layers.linear import adapted, bias_of
from webkiln.ir.dim import greatest
from webkiln.ops.builder import Tensor


def conv(converter: Converter, layer: Layer) -> None:
    """Conv1D, Conv2D, Conv3D: kernel [*window, in / groups, out]."""
    weight = layer.weight("kernel")
    layer.check_config(filters=weight.shape[-1])
    x, kernel = _operands(converter, layer, "kernel")
    _finish(converter, layer, _convolve(converter, layer, x, kernel, layer.config.get("groups", 1), _window(layer, x, kernel)))


def depthwise_conv(converter: Converter, layer: Layer) -> None:
    """DepthwiseConv1D, DepthwiseConv2D: kernel [*window, in, multiplier]; output channel c * multiplier + m."""
    x, kernel, channels = _depthwise(converter, layer, "depthwise_kernel" if "depthwise_kernel" in layer.weights else "kernel")
    _finish(converter, layer, _convolve(converter, layer, x, kernel, channels, _window(layer, x, kernel)))


def separable_conv(converter: Converter, layer: Layer) -> None:
    """SeparableConv1D, SeparableConv2D: a depthwise convolution, then one of windows of 1 that mixes its channels."""
    x, kernel, channels = _depthwise(converter, layer, "depthwise_kernel")
    pointwise = layer.weight("pointwise_kernel")
    layer.check_config(filters=pointwise.shape[-1])
    y = _convolve(converter, layer, x, kernel, channels, _window(layer, x, kernel), biased=False)
    once = _plain(y.type.rank - 2)
    _finish(converter, layer, _convolve(converter, layer, y, converter.convert_to_constant_variable(pointwise), 1, once))


def conv_transpose(converter: Converter, layer: Layer) -> None:
    """Conv1DTranspose, Conv2DTranspose, Conv3DTranspose: kernel [*window, out, in]; the gradient of the convolution of these options."""
    weight = layer.weight("kernel")
    layer.check_config(filters=weight.shape[-2])
    x, kernel = _operands(converter, layer, "kernel")
    window = kernel.shape[:-2]
    rank, b = x.type.rank, converter.builder
    turned = {"starts": (*(size - 1 for size in window), 0, 0), "sizes": kernel.shape, "steps": (*(-1,) * len(window), 1, 1)}
    kernel = b.op("Transpose", [b.op("Slice", [kernel], turned)], {"perm": (*range(rank - 2), rank - 1, rank - 2)})
    strides = sizes(layer.config.get("strides", 1), len(window))
    dilation = sizes(layer.config.get("dilation_rate", 1), len(window))
    extra = layer.config.get("output_padding")
    extras = sizes(extra, len(window)) if extra is not None else (None,) * len(window)
    kind = layer.config.get("padding", "valid")
    if kind not in ("valid", "same"):
        raise layer.unsupported(f"padding {kind!r}", "There are valid and same")
    pads = []
    for axis, span, stride, more in zip(dims(layer, rank)[2:], _spans(window, dilation), strides, extras, strict=True):
        reach = (x.shape[axis] - 1) * stride
        if kind == "valid":
            out = reach + span + (max(stride - span, 0) if more is None else more)
        else:
            out = reach + stride if more is None else reach + span % 2 + more
        cut = max(reach + span - out, 0) // 2 if kind == "same" else 0
        pads.append((span - 1 - cut, out + cut - 1 - reach))
    attrs = _plain(len(window)) | {"dilation": dilation, "x_dilation": strides} | _pads(pads)
    _finish(converter, layer, _convolve(converter, layer, x, kernel, 1, attrs))


def convolved(converter: Converter, layer: Layer, x: Tensor) -> Tensor:
    """x convolved with a layer's kernel, plus its bias, by its strides, padding and dilation."""
    kernel = converter.convert_to_constant_variable(layer.weight("kernel"))
    return _convolve(converter, layer, x, kernel, 1, _window(layer, x, kernel))


def convolved_same(converter: Converter, layer: Layer, x: Tensor, kernel: Tensor) -> Tensor:
    """x convolved with a kernel, to images of the size that it has."""
    pads = [((size - 1) // 2, size // 2) for size in kernel.shape[:-2]]
    return _convolve(converter, layer, x, kernel, 1, _plain(len(pads)) | _pads(pads), biased=False)


def convolved_shape(layer: Layer, given: Sequence[int], features: int) -> tuple[int, ...]:
    """The shape of what `convolved` makes of images of a shape without the batch, with so many features."""
    weight = layer.weight("kernel")
    strides, dilation = (sizes(layer.config.get(name, 1), len(given) - 1) for name in ("strides", "dilation_rate"))
    spans = _spans(weight.shape[:-2], dilation)
    first = layer.config.get("data_format") == "channels_first"
    spatial = given[1:] if first else given[:-1]
    around = [0 if layer.config.get("padding", "valid") == "valid" else span - 1 for span in spans]
    made = [(size + more - span) // stride + 1 for size, span, stride, more in zip(spatial, spans, strides, around, strict=True)]
    return (features, *made) if first else (*made, features)


def _operands(converter: Converter, layer: Layer, name: str) -> tuple[Tensor, Tensor]:
    weight = layer.weight(name)
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    if x.type.rank != len(weight.shape):
        raise layer.error(f"the kernel is {list(weight.shape)} for {len(weight.shape) - 2} spatial axes, x is {list(x.shape)}")
    if isinstance(layer.config.get("kernel_size"), list):
        layer.check_config(kernel_size=weight.shape[:-2])
    return x, adapted(converter, layer, name)


def _depthwise(converter: Converter, layer: Layer, name: str) -> tuple[Tensor, Tensor, int]:
    """x, the kernel as that of a grouped convolution, and the groups."""
    weight = layer.weight(name)
    x, kernel = _operands(converter, layer, name)
    *window, channels, multiplier = weight.shape
    layer.check_config(depth_multiplier=multiplier)
    return x, converter.builder.op("Reshape", [kernel], {"shape": (*window, 1, channels * multiplier)}), channels


def _convolve(
    converter: Converter, layer: Layer, x: Tensor, kernel: Tensor, groups: int, attrs: dict[str, Any], *, biased: bool = True
) -> Tensor:  # fmt: skip
    """Convolve with a kernel [*window, in / groups, out]; add the layer's bias where it has one."""
    rank = x.type.rank
    batch, feature, *spatial = dims(layer, rank)
    per_group, features = kernel.shape[-2:]
    if x.shape[feature] != per_group * groups:
        fitting = f", groups={x.shape[feature] // per_group} would fit" if x.shape[feature] % per_group == 0 else ""
        raise layer.error(
            f"the kernel has {per_group} input channels, x has {x.shape[feature]}; "
            f"with groups={groups} x needs {per_group * groups}{fitting}"
        )
    places = (batch, feature, *spatial)
    order = {"x_dims": places, "w_dims": (rank - 1, rank - 2, *range(rank - 2)), "out_dims": places, "groups": groups}
    bias = [bias_of(converter, layer, features)] if biased and layer.config.get("use_bias", True) else []
    return converter.builder.op("Conv", [x, kernel, *bias], order | attrs)


def _finish(converter: Converter, layer: Layer, y: Tensor) -> None:
    converter.set_variable(converter.get_output_tensor(layer)[0], activate(converter.builder, layer, y))


def _window(layer: Layer, x: Tensor, kernel: Tensor) -> dict[str, Any]:
    """The layer's strides, dilation and padding over x."""
    spatial, window = dims(layer, x.type.rank)[2:], kernel.shape[:-2]
    strides = sizes(layer.config.get("strides", 1), len(spatial))
    dilation = sizes(layer.config.get("dilation_rate", 1), len(spatial))
    return window_of(layer, [x.shape[axis] for axis in spatial], window, strides, dilation)


def window_of(
    layer: Layer, size: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> dict[str, Any]:  # fmt: skip
    """The attributes of a convolution with the layer's padding."""
    return {"strides": tuple(strides), "dilation": tuple(dilation)} | _pads(padding(layer, size, window, strides, dilation))


def _plain(count: int) -> dict[str, Any]:
    return {"strides": (1,) * count, "dilation": (1,) * count} | _pads([(0, 0)] * count)


def _pads(pads: Sequence[tuple[int, int]]) -> dict[str, Any]:
    return {"pad_low": tuple(low for low, _ in pads), "pad_high": tuple(high for _, high in pads)}


def _spans(window: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """How far each axis of a dilated window reaches."""
    return [(size - 1) * gap + 1 for size, gap in zip(window, dilation, strict=True)]


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
    spans = _spans(window, dilation)
    if kind == "valid":
        return [(0, 0)] * len(size)
    if kind == "causal":
        return [(span - 1, 0) for span in spans]
    if kind != "same":
        raise layer.unsupported(f"padding {kind!r}", "There are valid, same and causal")
    totals = [greatest([(-(-n // s) - 1) * s + span - n, 0]) for n, s, span in zip(size, strides, spans, strict=True)]
    return [(total // 2, total - total // 2) for total in totals]
