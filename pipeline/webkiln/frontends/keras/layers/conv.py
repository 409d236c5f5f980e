"""Convolutions."""

from collections.abc import Sequence
from typing import Any

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.activations import activate
from webkiln.frontends.keras.layers.linear import adapted, bias_of
from webkiln.ir.dim import Shape, Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.windows import (
    CAUSAL,
    PADDING,
    Pads,
    by_channel,
    convolved,
    dims_of,
    padding_of,
    pads,
    plain,
    sizes,
    spans,
    transposed,
    window_of,
)


def conv(converter: Converter, layer: Layer) -> None:
    """Conv1D, Conv2D, Conv3D: kernel [*window, in / groups, out]."""
    weight = layer.weight("kernel")
    layer.check_config(filters=weight.shape[-1])
    x, kernel = _operands(converter, layer, "kernel")
    _finish(
        converter,
        layer,
        _convolve(
            converter, layer, x, kernel, layer.config.get("groups", 1), _window(layer, x, kernel)
        ),
    )


def depthwise_conv(converter: Converter, layer: Layer) -> None:
    """DepthwiseConv1D, DepthwiseConv2D: kernel [*window, in, multiplier]; the output channel is c *
    multiplier + m.
    """
    x, kernel, channels = _depthwise(
        converter, layer, "depthwise_kernel" if "depthwise_kernel" in layer.weights else "kernel"
    )
    _finish(
        converter,
        layer,
        _convolve(converter, layer, x, kernel, channels, _window(layer, x, kernel)),
    )


def separable_conv(converter: Converter, layer: Layer) -> None:
    """SeparableConv1D, SeparableConv2D: a depthwise convolution, followed by a pointwise one."""
    x, kernel, channels = _depthwise(converter, layer, "depthwise_kernel")
    pointwise = layer.weight("pointwise_kernel")
    layer.check_config(filters=pointwise.shape[-1])
    y = _convolve(converter, layer, x, kernel, channels, _window(layer, x, kernel), biased=False)
    once = plain(y.type.rank - 2)
    _finish(
        converter,
        layer,
        _convolve(converter, layer, y, converter.convert_to_constant_variable(pointwise), 1, once),
    )


def conv_transpose(converter: Converter, layer: Layer) -> None:
    """Conv1DTranspose, Conv2DTranspose, Conv3DTranspose: kernel [*window, out, in]."""
    weight = layer.weight("kernel")
    layer.check_config(filters=weight.shape[-2])
    x, kernel = _operands(converter, layer, "kernel")
    count = kernel.type.rank - 2
    strides, dilation = (
        sizes(layer.config.get(name, 1), count) for name in ("strides", "dilation_rate")
    )
    kind, extra = _kind(layer, PADDING), layer.config.get("output_padding")
    kernel, attrs = transposed(
        converter.builder,
        x,
        kernel,
        layer.config.get("data_format"),
        kind,
        strides,
        dilation,
        extra,
    )
    y = _convolve(converter, layer, x, kernel, 1, attrs)
    declared = layer.config.get("output_shape")
    if declared is not None and list(declared)[1:] != list(y.shape[1:]):
        raise layer.unsupported(
            f"its output_shape is {list(declared)}, but its strides imply {list(y.shape)}",
            "Crop or pad its output",
        )
    _finish(converter, layer, y)


def convolution(converter: Converter, layer: Layer, x: Tensor) -> Tensor:
    """Convolve x with a layer's kernel, strides, padding and dilation, and add its bias."""
    kernel = converter.convert_to_constant_variable(layer.weight("kernel"))
    return _convolve(converter, layer, x, kernel, 1, _window(layer, x, kernel))


def convolution_same(converter: Converter, layer: Layer, x: Tensor, kernel: Tensor) -> Tensor:
    """Convolve x with a kernel; the output has the spatial size of x."""
    around = [((size - 1) // 2, size // 2) for size in kernel.shape[:-2]]
    return _convolve(
        converter, layer, x, kernel, 1, plain(len(around)) | pads(around), biased=False
    )


def convolution_shape(layer: Layer, image: Sequence[Size], features: int) -> Shape:
    """The shape of `convolution`'s output, without the batch, for an image shape and this number of
    features.
    """
    weight = layer.weight("kernel")
    strides, dilation = (
        sizes(layer.config.get(name, 1), len(image) - 1) for name in ("strides", "dilation_rate")
    )
    first = layer.config.get("data_format") == "channels_first"
    spatial = image[1:] if first else image[:-1]
    reaches = spans(weight.shape[:-2], dilation)
    around = [
        0 if layer.config.get("padding", "valid") == "valid" else span - 1 for span in reaches
    ]
    extents = [
        (size + more - span) // stride + 1
        for size, span, stride, more in zip(spatial, reaches, strides, around, strict=True)
    ]
    return (features, *extents) if first else (*extents, features)


def _operands(converter: Converter, layer: Layer, name: str) -> tuple[Tensor, Tensor]:
    weight = layer.weight(name)
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    if x.type.rank != len(weight.shape):
        raise layer.error(
            f"the kernel is {list(weight.shape)} for {len(weight.shape) - 2} spatial axes, x is"
            f" {list(x.shape)}"
        )
    if isinstance(layer.config.get("kernel_size"), list):
        layer.check_config(kernel_size=weight.shape[:-2])
    return x, adapted(converter, layer, name)


def _depthwise(converter: Converter, layer: Layer, name: str) -> tuple[Tensor, Tensor, int]:
    """x, the kernel as that of a grouped convolution, and the groups."""
    weight = layer.weight(name)
    x, kernel = _operands(converter, layer, name)
    layer.check_config(depth_multiplier=weight.shape[-1])
    return x, by_channel(converter.builder, kernel), weight.shape[-2]


def _convolve(
    converter: Converter,
    layer: Layer,
    x: Tensor,
    kernel: Tensor,
    groups: int,
    attrs: dict[str, Any],
    *,
    biased: bool = True,
) -> Tensor:
    """Convolve with a kernel [*window, in / groups, out], and add the layer's bias, if any."""
    feature = dims(layer, x.type.rank)[1]
    per_group, features = kernel.shape[-2:]
    if x.shape[feature] != per_group * groups:
        fitting = (
            f", groups={x.shape[feature] // per_group} would fit"
            if x.shape[feature] % per_group == 0
            else ""
        )
        raise layer.error(
            f"the kernel has {per_group} input channels, x has {x.shape[feature]}; "
            f"with groups={groups} x needs {per_group * groups}{fitting}"
        )
    bias = (
        [bias_of(converter, layer, features)]
        if biased and layer.config.get("use_bias", True)
        else []
    )
    return convolved(
        converter.builder, x, kernel, layer.config.get("data_format"), groups, attrs, bias
    )


def _finish(converter: Converter, layer: Layer, y: Tensor) -> None:
    converter.set_variable(
        converter.get_output_tensor(layer)[0], activate(converter.builder, layer, y)
    )


def _window(layer: Layer, x: Tensor, kernel: Tensor) -> dict[str, Any]:
    """The layer's strides, dilation and padding over x."""
    config = layer.config
    steps, gaps = config.get("strides", 1), config.get("dilation_rate", 1)
    return window_of(
        x, kernel.shape[:-2], config.get("data_format"), _kind(layer, CAUSAL), steps, gaps
    )


def dims(layer: Layer, rank: int) -> tuple[int, ...]:
    """(batch, feature, *spatial) of x in the layer's data format."""
    return dims_of(layer.config.get("data_format"), rank)


def padding(
    layer: Layer,
    size: Sequence[Size],
    window: Sequence[Size],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> Pads:
    """(low, high) for each spatial axis."""
    return padding_of(_kind(layer, CAUSAL), size, window, strides, dilation)


def _kind(layer: Layer, there_are: Sequence[str]) -> str:
    kind: str = layer.config.get("padding", "valid")
    if kind not in there_are:
        raise layer.unsupported(
            f"padding {kind!r}", f"There are {', '.join(there_are[:-1])} and {there_are[-1]}"
        )
    return kind
