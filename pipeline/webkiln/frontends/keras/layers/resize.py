"""Layers that change the size of images."""

from collections.abc import Sequence

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.conv import dims
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.resize import resized_to
from webkiln.ops.functional.windows import sizes


def up_sampling(converter: Converter, layer: Layer) -> None:
    """UpSampling1D, 2D, 3D."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    spatial = dims(layer, x.type.rank)[2:]
    factors = sizes(layer.config["size"], len(spatial))
    interpolation = layer.config.get("interpolation", "nearest")
    if interpolation == "nearest":
        y = _repeated(converter.builder, x, spatial, factors)
    else:
        target = [x.shape[axis] * factor for axis, factor in zip(spatial, factors, strict=True)]
        y = resized_to(converter.builder, x, spatial, target, interpolation)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def resizing(converter: Converter, layer: Layer) -> None:
    x = images_of(converter, layer)
    config = layer.config
    options = {
        name: config[name]
        for name in ("antialias", "crop_to_aspect_ratio", "pad_to_aspect_ratio", "fill_value")
        if name in config
    }
    target = (config["height"], config["width"])
    y = resized_to(
        converter.builder, x, spatial_axes(layer, x), target, config["interpolation"], **options
    )
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def images_of(converter: Converter, layer: Layer) -> Tensor:
    """The argument of a layer that is called with images alone."""
    args, kwargs = layer.arguments.args, layer.arguments.kwargs
    if isinstance(args[0] if args else next(iter(kwargs.values())), dict):
        raise layer.unsupported(
            "a call on a dict of images, boxes and labels", "Call it on the images alone"
        )
    return converter.get_variable(converter.get_input_tensor(layer)[0])


def spatial_axes(layer: Layer, x: Tensor) -> tuple[int, int]:
    """The axes of height and width in [N, H, W, C] or [H, W, C], or with channels first."""
    last = x.type.rank - (1 if layer.config.get("data_format") == "channels_first" else 2)
    return last - 1, last


def _repeated(b: GraphBuilder, x: Tensor, axes: Sequence[int], factors: Sequence[int]) -> Tensor:
    times = dict(zip(axes, factors, strict=True))
    split = [
        part
        for axis, size in enumerate(x.shape)
        for part in ((size, 1) if axis in times else (size,))
    ]
    wide = [
        part
        for axis, size in enumerate(x.shape)
        for part in ((size, times[axis]) if axis in times else (size,))
    ]
    y = b.op("Broadcast", [b.op("Reshape", [x], {"shape": tuple(split)})], {"shape": tuple(wide)})
    return b.op(
        "Reshape",
        [y],
        {"shape": tuple(size * times.get(axis, 1) for axis, size in enumerate(x.shape))},
        x.order,
    )
